"""Reading saved results."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..catalogue import problem as problem_by_name
from ..catalogue import problems
from ..model.layout import Layout
from ..posing.problem import Problem
from .result import FORMAT, Result


def load(path: str | Path, *, problem: Problem | None = None) -> Result:
    """Read a saved result.

    Arguments:
        path: the file, or the folder of a run that holds ``result.nc``.
        problem: the problem that was fitted; only needed when it is not from the
            catalogue.

    Example:
        ``result = fiducial.load("run.nc", problem=my_problem)``
    """
    import xarray as xr

    path = Path(path)
    if path.is_dir():
        path = path / "result.nc"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as stored:
            tree = stored.load()
        found = tree.attrs.get("format")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is not a result of fiducial: {error}") from error
    if found != FORMAT:
        raise ValueError(f"{path} is not a result of fiducial ({FORMAT}); its format is {found!r}")
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


def _check_same(tree: Any, problem: Problem, path: Path) -> None:
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
