"""The progress bar."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .driver import Progress


@contextmanager
def progress_bar(show: bool | None) -> Iterator[object]:
    """A reporter for the driver that draws a bar with time left, loss terms and status.

    Arguments:
        show: draw it or not; None draws it when the error stream is a terminal.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description:>8}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[info]}"),
        console=Console(stderr=True),
    )
    tasks: dict[str, object] = {}
    begun = time.perf_counter()
    with bars:
        waiting = bars.add_task("compile", total=None, info="")

        def report(now: Progress) -> None:
            if not tasks:
                bars.update(waiting, total=1, completed=1, description=f"ready {time.perf_counter() - begun:.0f} s")
            if now.phase not in tasks:
                tasks[now.phase] = bars.add_task(now.phase, total=now.steps, info="")
            info = "  ".join(f"{k} {v:.2e}" for k, v in now.info.items())
            if now.diverged:
                info += f"  [red]{now.diverged} of {now.lanes} diverged[/red]"
            bars.update(tasks[now.phase], completed=now.step, info=info)  # type: ignore[arg-type]

        yield report
