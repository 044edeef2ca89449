"""What a study will do: checked arguments, the problem at every grid point, and the
settings that identify the study.
"""

import hashlib
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .. import catalogue
from ..fitting import fit
from ..methods.base import AbstractMethod
from ..posing.collocation import grid as regular_grid
from ..posing.coordinates import Points
from ..posing.problem import Problem
from .simulation import truth_from

MakeProblem = Callable[..., Problem]


@dataclass(frozen=True)
class GridPoint:
    """A problem, and the options that make it.

    Attributes:
        number: number of the grid point.
        options: the options that vary over the grid.
        problem: the problem.
    """

    number: int
    options: dict[str, Any]
    problem: Problem

    def seed(self, seed: int) -> int:
        """Return the seed of data and methods at this grid point.

        Grid points have errors of their own, so that the rows of a table are independent;
        the first grid point keeps the seed of the study.
        """
        if self.number == 0:
            return seed
        return int(np.random.SeedSequence([seed, self.number]).generate_state(1)[0])


@dataclass(frozen=True)
class Plan:
    """The arguments of a study, checked.

    Attributes:
        grid: the problem at every grid point.
        methods: the methods.
        replicates: number of data sets.
        seed: seed of data and methods.
        level: level of the intervals.
        points: where the field is judged, or None for the default.
        shard: data sets fitted at once, or None for the default.
    """

    grid: list[GridPoint]
    methods: Sequence[AbstractMethod]
    replicates: int
    seed: int
    level: float
    points: Any
    shard: int | None

    def __post_init__(self) -> None:
        shard = 1 if self.shard is None else self.shard
        _check_count("replicates", self.replicates, 1)
        _check_count("seed", self.seed, 0)
        _check_count("shard", shard, 1)
        if not 0 < self.level < 1:
            raise ValueError(f"level={self.level!r}: give a number between 0 and 1, such as 0.95")

    def settings(self) -> dict[str, Any]:
        """Return what must agree between a study and its resumption, as JSON can hold it."""
        judged = None
        if self.points is not None:
            judged = _digest(self.grid[0].problem.domain.points(self.points).array.tobytes())
        return {
            "problems": [[point.options, _describe(point.problem)] for point in self.grid],
            "methods": [[m.name, m.settings()] for m in self.methods],
            "replicates": self.replicates,
            "seed": self.seed,
            "level": self.level,
            "points": judged,
            "shard": self.shard,
            "jax": jax.__version__,
            "device": jax.devices()[0].device_kind,
        }

    def judged_points(self, problem: Problem) -> Points:
        """Return where the field of a problem is judged: by default at 100 points on a line,
        21 along each of two coordinates, 7 along each of more.
        """
        if self.points is not None:
            return problem.domain.points(self.points, label="points")
        default = {1: 100, 2: 21}.get(len(problem.domain.names), 7)
        return Points(problem.domain.names, regular_grid(default)(problem.domain))


def check_methods(methods: Any) -> None:
    """Raise an error that says what to give if these are not methods of different names."""
    wrong = isinstance(methods, AbstractMethod) or not methods
    if wrong or not all(isinstance(m, AbstractMethod) for m in methods):
        raise TypeError(f"methods={methods!r}: give a list of methods, such as [PINN()]")
    names = [m.name for m in methods]
    if len(set(names)) < len(names):
        raise ValueError(f"methods: {', '.join(names)}: give each method once")


def grid_points(
    problem: str | Problem | MakeProblem, grid: Mapping[str, Sequence[Any]] | None
) -> list[GridPoint]:
    """Return the problem at every grid point.

    Arguments:
        problem: a problem, the name of a ready one, or a function that makes one.
        grid: for each option its values, of which all combinations are taken.
    """
    if isinstance(problem, Problem):
        if grid:
            raise ValueError(
                "grid: a finished problem has no options to vary; give the name of a ready problem,"
                " or a function that makes one"
            )
        return [GridPoint(0, {}, problem)]
    grid = grid or {}
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(
                f"grid: give a list of values for '{name}', such as {{'{name}': [0.01, 0.05]}}"
            )

    def make(options: dict[str, Any]) -> Problem:
        return (
            catalogue.problem(problem, **options)
            if isinstance(problem, str)
            else problem(**options)
        )

    combinations = itertools.product(*grid.values())
    every = [dict(zip(grid, values, strict=True)) for values in combinations]
    return [GridPoint(i, options, make(options)) for i, options in enumerate(every)]


def with_truth(problem: Problem, method: AbstractMethod, seed: int) -> Problem:
    """Return a problem that data can be simulated from: where it has no truth, a fit stands
    for it.
    """
    if problem.truth is not None:
        return problem
    print(
        f"fiducial: problem '{problem.name}' has no truth; data are simulated from a fit of it by"
        f" '{method.name}'",
        file=sys.stderr,
    )
    return problem.replace(truth=truth_from(fit(problem, method, seed=seed)))


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number of at least {least}")


def _describe(problem: Problem) -> dict[str, Any]:
    """Return what identifies a problem in the settings of a study."""
    data = [g.y.tobytes() + g.points.array.tobytes() for g in problem.groups]
    return {
        "name": problem.name,
        "data": _digest(b"".join(data)),
        "options": None if problem.options is None else dict(problem.options),
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
