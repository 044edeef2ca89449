"""Reading saved results."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic_files import DamagedFileError, read_perhaps_sealed
from ..catalogue import problem as problem_by_name
from ..catalogue import problems
from ..model.layout import Layout
from ..posing.problem import Problem
from .result import FORMAT, UNSEALED_FORMAT, Result
from .storage import expand

if TYPE_CHECKING:
    import xarray as xr


def load(path: str | Path, *, problem: Problem | None = None) -> Result:
    """Read a saved result.

    Arguments:
        path: the file, or the folder of a run that holds ``result.nc``.
        problem: the problem that was fitted; only needed when it is not from the
            catalogue.

    Raises:
        FileNotFoundError: if there is no such file.
        DamagedFileError: if the file is damaged, or is not a result.
        ValueError: if the problem is needed, or is not the one that was fitted.

    Example:
        ``result = fiducial.load("run.nc", problem=my_problem)``
    """
    path = Path(path)
    if path.is_dir():
        path = path / "result.nc"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    tree = _read(path)
    if problem is None:
        name, options = tree.attrs["problem"], json.loads(tree.attrs["options"])
        if options is None or name not in problems():
            raise ValueError(
                f"{path} was made with a problem of your own, '{name}'; give it: load(path,"
                " problem=...)"
            )
        problem = problem_by_name(name, **options)
    _check_same(tree, problem, path)
    return Result(tree, problem)


def _read(path: Path) -> "xr.DataTree":
    """Return the tree in a file, after its checksum has been verified."""
    import xarray as xr

    try:
        content, sealed = read_perhaps_sealed(path, FORMAT)
    except DamagedFileError as error:
        raise DamagedFileError(f"{error}; take a copy of the file, or fit again") from None
    try:
        with xr.open_datatree(io.BytesIO(content), engine="h5netcdf") as stored:
            tree = stored.load()
    except Exception as error:  # without a seal this can be any file, or half of one
        raise DamagedFileError(
            f"{path} is not a result of fiducial, or was cut off ({error}); give the file that"
            " Result.save wrote"
        ) from error
    if not sealed and tree.attrs.get("format") == FORMAT:
        raise DamagedFileError(
            f"{path} was damaged or changed after it was written: the checksum at its end is"
            " missing; take a copy of the file, or fit again"
        )
    if not sealed and tree.attrs.get("format") != UNSEALED_FORMAT:
        raise DamagedFileError(
            f"{path} is not a result of fiducial; give the file that Result.save wrote"
        )
    return expand(tree)


def _check_same(tree: Any, problem: Problem, path: Path) -> None:
    """Raise a ``ValueError`` if a tree does not hold the observations of a problem, or not
    as many parameters as its network has.
    """
    stored = tree["observed"].children
    if set(stored) != {g.name for g in problem.groups}:
        raise ValueError(
            f"{path} holds observations of {', '.join(stored)}; the problem has"
            f" {', '.join(g.name for g in problem.groups)}"
        )
    for g in problem.groups:
        given = {"value": g.y, **g.points.coordinates()}
        if not all(
            name in stored[g.name] and np.array_equal(stored[g.name][name].values, v)
            for name, v in given.items()
        ):
            raise ValueError(
                f"{path}: the observations of '{g.name}' are not those of the problem given"
            )
    size = Layout.of(problem).size
    if tree["estimate"]["theta"].shape != (size,):
        raise ValueError(
            f"{path} holds {tree['estimate']['theta'].size} parameters, the problem's network has"
            f" {size}; give the same network"
        )
