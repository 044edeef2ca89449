"""Coverage studies: fit many simulated data sets, and count how often intervals contain
the truth.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..methods.base import AbstractMethod
from ..posing.problem import Problem
from ..running.driver import Begin, Interrupted
from ..running.lanes import one_lane_per_core
from ..running.progress import ProgressLine, progress_line
from .cell import Cell
from .plan import Plan, check_methods, grid_points, with_truth
from .result import Study
from .shards import Bench
from .store import Store


def study(
    problem: str | Problem | Callable[..., Problem],
    methods: Sequence[AbstractMethod],
    *,
    replicates: int = 100,
    seed: int = 0,
    level: float = 0.95,
    grid: Mapping[str, Sequence[Any]] | None = None,
    points: Any = None,
    shard: int | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Study:
    """Fit many simulated data sets with each method, and judge the answers by the
    truth.

    Data set i depends on the problem, the seed, the grid point and i alone; every
    method sees the same data sets. A problem without a truth is fitted first, and data
    are simulated from that fit.

    Arguments:
        problem: a problem, the name of a ready one, or a function that makes one from
            options.
        methods: the methods.
        replicates: number of data sets.
        seed: seed of data and methods.
        level: level of the intervals.
        grid: options of the problem to vary, ``{"sd": [0.01, 0.05]}``; all combinations
            are run.
        points: where the field is judged; by default on a regular grid.
        shard: data sets fitted at once; by default as many as pay, and fit in the
            memory of the device.
        folder: where finished shards are kept and the tables and figures go; must be
            new or empty.
        resume: go on with the study in ``folder``.
        progress: show a line of progress; by default only in a terminal and in a
            notebook.

    Returns:
        The study; with a folder its files are written too.

    Raises:
        Interrupted: after Ctrl-C; finished shards are kept.

    Example:
        ``study("poisson", [PINN()], replicates=100, folder="study").table``
    """
    check_methods(methods)
    plan = Plan(
        grid=grid_points(problem, grid),
        methods=methods,
        replicates=replicates,
        seed=seed,
        level=level,
        points=points,
        shard=shard,
    )
    return _carry_out(plan, folder, resume, progress)


def _carry_out(plan: Plan, folder: str | Path | None, resume: bool, progress: bool | None) -> Study:
    """Run a planned study, and write its files where a folder is given."""
    if folder is None and resume:
        raise ValueError("resume=True needs the folder of the study that was stopped")
    store = None if folder is None else Store(Path(folder))
    if store is not None:
        store.open(plan.settings(), resume)
    with progress_line(progress) as line:
        found = Study(_run(plan, store, line), plan.level, plan.seed)
    if store is not None:
        found.save(store.folder)
    return found


def _run(plan: Plan, store: Store | None, line: ProgressLine) -> list[Cell]:
    """Return the cells of a study: each method at each grid point."""
    counter = _Counter(line, len(plan.grid) * len(plan.methods) * plan.replicates)
    cells = []
    for point in plan.grid:
        posed = with_truth(point.problem, plan.methods[0], plan.seed)
        judged_at = plan.judged_points(posed)
        for method in plan.methods:
            method.check(posed)
            seed = point.seed(plan.seed)
            bench = Bench(posed, method, points=judged_at, level=plan.level, seed=seed)
            arrays = _run_cell(bench, f"{point.number:02d}-{method.name}", plan, store, counter)
            cells.append(
                Cell(
                    method=method.name,
                    options=point.options,
                    problem=posed,
                    points=judged_at,
                    truth={name: np.asarray(v) for name, v in bench.truth.items()},
                    arrays=arrays,
                )
            )
    return cells


def _run_cell(
    bench: Bench, cell: str, plan: Plan, store: Store | None, counter: "_Counter"
) -> dict[str, np.ndarray]:
    """Return the results of all data sets of a cell: finished shards are read, the others
    computed.
    """
    identity = bench.identity() if store is not None else ""
    stored_size = store.size_of_shards(cell, identity) if store is not None else None
    size = plan.shard or stored_size or bench.lanes(plan.replicates)
    shards = []
    for number, first in enumerate(range(0, plan.replicates, size)):
        count = min(size, plan.replicates - first)
        found = None if store is None else store.read(cell, number)
        if found is None:
            # a program for a batch is compiled for its size
            padded = count if one_lane_per_core() else size
            try:
                found = bench.shard(first, count, padded, begin=counter.begin(cell))
            except Interrupted:
                raise Interrupted(_how_to_go_on(store)) from None
            if store is not None:
                store.write(cell, number, found, identity=identity, size=size)
        counter.add(count)
        shards.append(found)
    seconds = np.sum([part.pop("seconds") for part in shards], axis=0)
    joined = {name: np.concatenate([part[name] for part in shards]) for name in shards[0]}
    return {**joined, "seconds": seconds}


def _how_to_go_on(store: Store | None) -> str:
    """Return what to tell after Ctrl-C."""
    if store is None:
        return "stopped by Ctrl-C"
    return (
        "stopped by Ctrl-C; finished shards are kept; go on with"
        f" study(..., folder='{store.folder}', resume=True)"
    )


class _Counter:
    """Counts the data sets that are done, of all cells, and shows the count on a line of
    progress.

    Arguments:
        line: the line.
        total: number of data sets in all.
    """

    def __init__(self, line: ProgressLine, total: int):
        self._line = line
        self._total = total
        self._done = 0
        self._compiled: set[str] = set()

    def begin(self, cell: str) -> Begin:
        """Return what to tell the driver for the shards of a cell: the first of them is
        compiled before it is fitted.
        """

        def stage(activity: str, share: float | None) -> None:
            if cell in self._compiled:
                return
            if share is None:
                self._line.begin(activity)
            else:
                self._compiled.add(cell)
                self._line.begin(self._words(), self._done / self._total)

        return stage

    def add(self, count: int) -> None:
        """Note that ``count`` more data sets are done."""
        self._done += count
        self._line.advance(self._words(), self._done / self._total)

    def _words(self) -> str:
        return f"{self._done} of {self._total} data sets"
