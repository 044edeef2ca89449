"""What became of a run: one value per chain and data set, whose text is the message."""

import enum


class Status(enum.IntEnum):
    """The state of one chain on one data set.

    The integer lives inside compiled programs, the ``message`` is for people.
    A diverged chain keeps its last finite state and leaves the others alone.

    Example:
        >>> Status.DIVERGED.usable
        False
    """

    RUNNING = 0
    CONVERGED = 1
    FINISHED = 2
    UNSETTLED = 3
    DIVERGED = 4

    @property
    def message(self) -> str:
        """One sentence that says what happened."""
        return _MESSAGES[self]

    @property
    def usable(self) -> bool:
        """Whether the last state may be read as an answer."""
        return self is not Status.RUNNING and self is not Status.DIVERGED


_MESSAGES = {
    Status.RUNNING: "the run has not finished",
    Status.CONVERGED: "the stop rule was met",
    Status.FINISHED: "all steps were done",
    Status.UNSETTLED: "the steps ran out before the stop rule was met",
    Status.DIVERGED: "a value stopped being finite; the last finite state was kept",
}
