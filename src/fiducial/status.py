"""How a run ended: one value per chain and data set, with a message for people."""

import enum


class Status(enum.IntEnum):
    """How the run of one chain on one data set stands or ended.

    Compiled programs use the integer, people read the ``message``. A chain that diverged
    keeps its last finite state, and does not affect the others.

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
        """What happened, in words."""
        return _MESSAGES[self]

    @property
    def usable(self) -> bool:
        """Whether the last state can be read as an answer."""
        return self is not Status.RUNNING and self is not Status.DIVERGED


_MESSAGES = {
    Status.RUNNING: "the run has not finished",
    Status.CONVERGED: "the stop rule was met",
    Status.FINISHED: "all steps were done",
    Status.UNSETTLED: "the steps ran out before the stop rule was met",
    Status.DIVERGED: "a value stopped being finite; the last finite state was kept",
}
