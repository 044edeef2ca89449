"""Progress of a run, and the line that shows it in a terminal or a notebook."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..phases.base import AbstractPhase
from ..status import Status

_PER_SECOND = 4
"""How often a second the line is drawn again."""
_BAR = 20
"""Width of the bar in characters."""
_NARROW = 60
"""Number of columns below which a terminal gets no bar."""


class Progress(NamedTuple):
    """How far a phase has come, reported after every chunk of steps.

    Attributes:
        phase: name of the phase.
        activity: what the phase does, in plain words.
        step: number of steps done.
        steps: largest number of steps.
        may_end_early: whether the phase can end before all steps are done.
        info: numbers that the phase reports, medians over all chains.
        diverged: number of chains that diverged.
        lanes: number of chains, those of all data sets counted.
    """

    phase: str
    activity: str
    step: int
    steps: int
    may_end_early: bool
    info: dict[str, float]
    diverged: int
    lanes: int


def progress_of(
    phase: AbstractPhase, step: int, info: dict[str, np.ndarray], status: np.ndarray
) -> Progress:
    """Return the progress of a phase after a chunk of steps.

    Arguments:
        phase: the phase.
        step: number of steps done.
        info: what the chunk recorded for people, the record on the last axis.
        status: the status of every lane.
    """
    last = {name: values[..., -1] for name, values in info.items()}
    return Progress(
        phase=phase.name,
        activity=phase.activity or phase.name,
        step=step,
        steps=phase.steps,
        may_end_early=phase.may_end_early,
        info={
            name: float(np.nanmedian(v)) if np.isfinite(v).any() else float("nan")
            for name, v in last.items()
        },
        diverged=int((status == Status.DIVERGED).sum()),
        lanes=status.size,
    )


class ProgressLine:
    """A line that says what is being done, which share of it is done, and how long it
    takes.

    Example:
        >>> line = ProgressLine()
        >>> line.begin("compiling")
        >>> line.words()
        ('compiling', '0 s so far')
        >>> line.begin("fitting", share=0.0)
        >>> line.advance("fitting", 0.5)
        >>> line.words()
        ('fitting', ' 50 %, 0 s left')
    """

    def __init__(self) -> None:
        self.begin("preparing")

    def begin(self, activity: str, share: float | None = None) -> None:
        """Begin a stage.

        Arguments:
            activity: what the stage does.
            share: the share of it that is done already; None where its length is not
                known.
        """
        self._activity = activity
        self.share = share
        self._ends_early = False
        self._begun = self._latest = time.monotonic()
        self._share_at_begin = share or 0.0

    def report(self, progress: Progress) -> None:
        """Note that a chunk of a phase is done."""
        lost = f" ({progress.diverged} of {progress.lanes} diverged)" if progress.diverged else ""
        self.advance(
            progress.activity + lost,
            progress.step / progress.steps,
            may_end_early=progress.may_end_early,
        )

    def advance(self, activity: str, share: float, *, may_end_early: bool = False) -> None:
        """Note that a share between 0 and 1 of the stage is done."""
        self._activity = activity
        self.share = share
        self._ends_early = may_end_early
        self._latest = time.monotonic()

    def words(self) -> tuple[str, str]:
        """Return what is being done, and how far it has come."""
        now = time.monotonic()
        so_far = f"{_duration(now - self._begun)} so far"
        if self.share is None:
            return self._activity, so_far
        done = f"{100 * self.share:3.0f} %"
        gained = self.share - self._share_at_begin
        if gained <= 0:
            return self._activity, f"{done}, {so_far}"
        left = (self._latest - self._begun) / gained * (1 - self.share) - (now - self._latest)
        at_most = "at most " if self._ends_early else ""
        return self._activity, f"{done}, {at_most}{_duration(max(0.0, left))} left"


@contextmanager
def progress_line(show: bool | None) -> Iterator[ProgressLine]:
    """Give a line to report to, which is shown while the context lasts.

    Arguments:
        show: whether to show it; None shows it when the error stream is a terminal, and
            in a notebook.
    """
    line = ProgressLine()
    with _display(line, show):
        yield line


def _display(line: ProgressLine, show: bool | None) -> AbstractContextManager[Any]:
    if show is False:
        return nullcontext()
    notebook = _in_notebook()
    if show is None and not (notebook or sys.stderr.isatty()):
        return nullcontext()
    return _notebook(line) if notebook else _terminal(line)


def _terminal(line: ProgressLine) -> AbstractContextManager[Any]:
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    console = Console(stderr=True)

    def draw() -> Table:
        activity, how_far = line.words()
        share = line.share
        bar = ProgressBar(
            total=1.0,
            completed=share or 0.0,
            pulse=share is None,
            width=_BAR,
            animation_time=time.monotonic(),
        )
        row = Table.grid(padding=(0, 1))
        row.add_row(activity, *([bar] if console.width >= _NARROW else []), how_far)
        return row

    return Live(
        get_renderable=draw, console=console, refresh_per_second=_PER_SECOND, transient=True
    )


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _notebook(line: ProgressLine) -> Iterator[None]:
    from IPython.display import display

    def text() -> dict[str, str]:
        return {"text/plain": ", ".join(line.words())}

    ended = threading.Event()
    handle = display(text(), raw=True, display_id=True)

    def refresh() -> None:
        while not ended.wait(1.0):
            handle.update(text(), raw=True)

    thread = threading.Thread(target=refresh, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        handle.update({"text/plain": ""}, raw=True)


def _duration(seconds: float) -> str:
    """Return seconds as people say them.

    Example:
        >>> _duration(3.2), _duration(75), _duration(4000)
        ('3 s', '1 min 15 s', '1 h 7 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{round(whole / 60) // 60} h {round(whole / 60) % 60} min"
