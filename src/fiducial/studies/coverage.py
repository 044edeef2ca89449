"""Coverage studies: fit many simulated data sets and count how often intervals hold
the truth.
"""

import hashlib
import io
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .. import catalogue
from ..atomic_files import DAMAGE, read_arrays, write_arrays, write_text, write_with
from ..fitting import fit
from ..methods.base import AbstractMethod
from ..posing.collocation import grid as regular_grid
from ..posing.coordinates import Points
from ..posing.problem import Problem
from ..running.driver import Begin, Interrupted
from ..running.lanes import one_lane_per_core
from ..running.progress import ProgressLine, progress_line
from ..status import Status
from .shards import Bench
from .simulation import truth_from
from .table import off_level, row, to_csv, to_markdown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True)
class Cell:
    """All data sets of one method at one grid point."""

    method: str
    options: dict[str, Any]
    problem: Problem
    points: Points
    truth: dict[str, np.ndarray]
    arrays: dict[str, np.ndarray]

    @property
    def usable(self) -> np.ndarray:
        """Which data sets have an answer."""
        return np.isin(self.arrays["status"], [s.value for s in Status if s.usable])

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of compiling, of the method's own programs, and of all else."""
        return dict(zip(("compile", "run", "rest"), self.arrays["seconds"].tolist(), strict=True))

    @property
    def label(self) -> str:
        """What to call the cell in figures and files."""
        return "-".join([self.method, *(f"{k}={v}" for k, v in self.options.items())])


@dataclass(frozen=True)
class Study:
    """What a study found.

    Attributes:
        cells: the results by method and grid point.
        rows: the table, a dictionary per row.
        level: level of the intervals.
        seed: seed of data and methods.

    Example:
        ``study("poisson", [PINN()], replicates=100).table``
    """

    cells: list[Cell]
    level: float
    seed: int
    rows: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        rows = []
        for cell in self.cells:
            found = row(
                cell.method, cell.arrays, cell.truth, list(cell.problem.outputs), cell.usable
            )
            rows.append(found | {f"option_{name}": value for name, value in cell.options.items()})
        object.__setattr__(self, "rows", rows)

    @property
    def table(self) -> "pd.DataFrame":
        """The table as a data frame, with the columns of ``table.csv``."""
        import pandas as pd

        return pd.read_csv(io.StringIO(to_csv(self.rows)))

    @property
    def warnings(self) -> list[str]:
        """A line for every coverage more than two standard errors off its level."""
        return off_level(self.rows, self.level)

    @property
    def tree(self) -> "xr.DataTree":
        """Measures, limits on the points and imputed errors of every data set, a
        node per cell.
        """
        import xarray as xr

        nodes: dict[str, xr.Dataset] = {
            "/": xr.Dataset(
                attrs={"format": "fiducial-study-1", "level": self.level, "seed": self.seed}
            )
        }
        for cell in self.cells:
            variables: dict[str, Any] = {}
            for name, values in cell.arrays.items():
                if name == "seconds":
                    continue
                quantity, _, what = name.partition(".")
                inner = (
                    ["point"]
                    if quantity in cell.problem.outputs
                    else [
                        f"{what if quantity == 'errors' else quantity}_{i}"
                        for i in range(values.ndim - 1)
                    ]
                )
                variables[name.replace(".", "_")] = (["dataset", *inner][: values.ndim], values)
            coordinates = {c: ("point", v) for c, v in cell.points.coordinates().items()}
            nodes["/" + cell.label] = xr.Dataset(
                variables,
                coords=coordinates,
                attrs={"options": json.dumps(cell.options), "seconds": json.dumps(cell.seconds)},
            )
        return xr.DataTree.from_dict(nodes)

    def __str__(self) -> str:
        return to_markdown(self.rows) + "\n".join(self.warnings)

    def __repr__(self) -> str:
        return str(self)

    def save(self, folder: str | Path) -> Path:
        """Write table.csv, table.md, study.nc and the figures into a folder."""
        from .figures import all_figures

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_with(folder / "study.nc", lambda path: self.tree.to_netcdf(path, engine="h5netcdf"))
        for name, figure in all_figures(self).items():
            write_with(folder / f"{name}.png", partial(figure.savefig, dpi=130, format="png"))
        write_text(folder / "table.md", "\n".join([to_markdown(self.rows), *self.warnings]))
        write_text(folder / "table.csv", to_csv(self.rows))
        return folder


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
        points: where the field is judged; by default 100 points on a line, or a regular
            grid.
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
    _check(replicates, seed, level, shard, methods)
    problems = _cells(problem, grid)
    store = None if folder is None else _Store(Path(folder))
    if store is None and resume:
        raise ValueError("resume=True needs the folder of the study that was stopped")
    settings = {
        "problems": [[options, _describe(posed)] for options, posed in problems],
        "methods": [[m.name, m.settings()] for m in methods],
        "replicates": replicates,
        "seed": seed,
        "level": level,
        "points": (
            None
            if points is None
            else hashlib.sha256(problems[0][1].domain.points(points).array.tobytes()).hexdigest()[
                :16
            ]
        ),
        "shard": shard,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
    }
    if store is not None:
        store.open(settings, resume)
    cells = []
    with progress_line(progress) as line:
        advance = _Advance(line, len(problems) * len(methods) * replicates)
        for number, (options, plain) in enumerate(problems):
            posed = (
                plain if plain.truth is not None else _with_fitted_truth(plain, methods[0], seed)
            )
            where = _points(posed, points)
            for method in methods:
                method.check(posed)
                bench = Bench(
                    posed, method, points=where, level=level, seed=_cell_seed(seed, number)
                )
                arrays = _run(
                    bench, f"{number:02d}-{method.name}", replicates, shard, store, advance
                )
                truth = {name: np.asarray(v) for name, v in bench.truth.items()}
                cells.append(Cell(method.name, options, posed, where, truth, arrays))
    found = Study(cells, level, seed)
    if store is not None:
        found.save(store.folder)
    return found


def _run(
    bench: Bench,
    cell: str,
    replicates: int,
    shard: int | None,
    store: "_Store | None",
    advance: "_Advance",
) -> dict[str, np.ndarray]:
    """All shards of one cell, those that are stored already read and the others
    computed.
    """
    size = shard or (store.shard_size(cell) if store else None) or bench.lanes(replicates)
    if store is not None:
        store.keep(cell, "size", str(size))
        store.must_be(cell, bench.identity())
    parts = []
    for k, first in enumerate(range(0, replicates, size)):
        count = min(size, replicates - first)
        part = None if store is None else store.read(cell, k)
        if part is None:
            try:
                # a batch is compiled for its size
                part = bench.shard(
                    first, count, count if one_lane_per_core() else size, begin=advance.begin(cell)
                )
            except Interrupted:
                hint = (
                    f"; go on with study(..., folder='{store.folder}', resume=True)"
                    if store
                    else ""
                )
                raise Interrupted(
                    f"stopped by Ctrl-C; finished shards are kept{hint}"
                    if store
                    else "stopped by Ctrl-C"
                ) from None
            if store is not None:
                store.write(cell, k, part)
        advance.done(count)
        parts.append(part)
    seconds = np.sum([p.pop("seconds") for p in parts], axis=0)
    return {
        **{name: np.concatenate([p[name] for p in parts]) for name in parts[0]},
        "seconds": seconds,
    }


class _Store:
    """The folder of a study: its settings, and a file for each finished shard."""

    def __init__(self, folder: Path):
        self.folder = folder

    def open(self, settings: dict[str, Any], resume: bool) -> None:
        path = self.folder / "study.json"
        plain = json.loads(json.dumps(settings, default=str))
        if resume:
            if not path.is_file():
                raise ValueError(
                    f"{self.folder} holds no study to go on with; leave out resume to begin one"
                )
            stored = json.loads(path.read_text())
            changed = [key for key in plain if stored.get(key) != plain[key]]
            if changed:
                details = ", ".join(
                    f"{key} ({stored.get(key)} then, {plain[key]} now)" for key in changed
                )
                raise ValueError(
                    f"cannot go on with {self.folder}: different {details}; use the same settings,"
                    " or another folder"
                )
            return
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ValueError(
                f"{self.folder} is not empty; give a new folder, or resume to go on with the study"
                " in it"
            )
        (self.folder / "shards").mkdir(parents=True)
        write_text(path, json.dumps(plain, indent=1))

    def _file(self, cell: str, k: int) -> Path:
        return self.folder / "shards" / f"{cell}-{k:05d}.npz"

    def read(self, cell: str, k: int) -> dict[str, np.ndarray] | None:
        path = self._file(cell, k)
        if not path.exists():
            return None
        try:
            return read_arrays(path)
        except DAMAGE as error:
            warnings.warn(f"shard {path} is damaged ({error}); computing it again", stacklevel=2)
            return None

    def write(self, cell: str, k: int, arrays: dict[str, np.ndarray]) -> None:
        write_arrays(self._file(cell, k), arrays)

    def shard_size(self, cell: str) -> int | None:
        stored = self._stored(cell, "size")
        return None if stored is None else int(stored)

    def must_be(self, cell: str, identity: str) -> None:
        """Refuse to go on with a cell whose problem was another one."""
        if self._stored(cell, "identity") not in (None, identity):
            raise ValueError(
                f"cannot go on with {self.folder}: different problem, truth or points in '{cell}';"
                " use the same, or another folder"
            )
        self.keep(cell, "identity", identity)

    def keep(self, cell: str, what: str, text: str) -> None:
        write_text(self.folder / "shards" / f"{cell}.{what}", text)

    def _stored(self, cell: str, what: str) -> str | None:
        path = self.folder / "shards" / f"{cell}.{what}"
        return path.read_text() if path.exists() else None


def _check(
    replicates: int, seed: int, level: float, shard: int | None, methods: Sequence[AbstractMethod]
) -> None:
    for name, value, least in (
        ("replicates", replicates, 1),
        ("seed", seed, 0),
        ("shard", 1 if shard is None else shard, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name}={value!r}: give a whole number of at least {least}")
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}: give a number between 0 and 1, such as 0.95")
    if (
        isinstance(methods, AbstractMethod)
        or not methods
        or not all(isinstance(m, AbstractMethod) for m in methods)
    ):
        raise TypeError(f"methods={methods!r}: give a list of methods, such as [PINN()]")
    names = [m.name for m in methods]
    if len(set(names)) < len(names):
        raise ValueError(f"methods: {', '.join(names)}: each method can be named once")


def _cells(
    problem: str | Problem | Callable[..., Problem], grid: Mapping[str, Sequence[Any]] | None
) -> list[tuple[dict[str, Any], Problem]]:
    """The problem at every grid point, with the options that make it."""
    if isinstance(problem, Problem):
        if grid:
            raise ValueError(
                "grid: a finished problem has no options to vary; give the name of a ready problem,"
                " or a function that makes one"
            )
        return [({}, problem)]
    make: Any = (
        (lambda **options: catalogue.problem(problem, **options))
        if isinstance(problem, str)
        else problem
    )
    grid = grid or {}
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(
                f"grid: give a list of values for '{name}', such as {{'{name}': [0.01, 0.05]}}"
            )
    return [
        (options, make(**options))
        for options in (dict(zip(grid, v, strict=True)) for v in itertools.product(*grid.values()))
    ]


def _cell_seed(seed: int, number: int) -> int:
    """Grid points see errors of their own, so that the rows of a table are
    independent; the first keeps the seed.
    """
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _describe(problem: Problem) -> dict[str, Any]:
    data = hashlib.sha256(
        b"".join(g.y.tobytes() + g.points.array.tobytes() for g in problem.groups)
    ).hexdigest()[:16]
    return {
        "name": problem.name,
        "data": data,
        "options": None if problem.options is None else dict(problem.options),
    }


def _with_fitted_truth(problem: Problem, method: AbstractMethod, seed: int) -> Problem:
    print(
        f"fiducial: problem '{problem.name}' has no truth; data are simulated from a fit of it by"
        f" '{method.name}'",
        file=sys.stderr,
    )
    return problem.replace(truth=truth_from(fit(problem, method, seed=seed)))


def _points(problem: Problem, points: Any) -> Points:
    if points is not None:
        return problem.domain.points(points, label="points")
    d = len(problem.domain.names)
    return Points(
        problem.domain.names, regular_grid(100 if d == 1 else 21 if d == 2 else 7)(problem.domain)
    )


class _Advance:
    """Tells a progress line how many data sets are done, of all cells.

    Arguments:
        line: the line.
        total: number of data sets in all.
    """

    def __init__(self, line: ProgressLine, total: int):
        self._line, self._total, self._done = line, total, 0
        self._compiled: set[str] = set()

    def begin(self, cell: str) -> Begin:
        """What to tell the driver for the shards of a cell: the first of them is
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

    def done(self, count: int) -> None:
        """So many more data sets are done."""
        self._done += count
        self._line.advance(self._words(), self._done / self._total)

    def _words(self) -> str:
        return f"{self._done} of {self._total} data sets"
