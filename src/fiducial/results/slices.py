"""Slices through a solution over two or more coordinates: lines with bands at a few
values of one coordinate.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..posing.coordinates import TIME_NAMES, Points
from ..posing.problem import Problem
from .panels import draw_data, draw_legend, draw_line, label, lines

if TYPE_CHECKING:
    from .result import Result

Cuts = tuple[str, list[float]]
"""A coordinate, and the values at which it is held."""
_MOST_SLICES = 5
"""Largest number of slices by default."""
_LEAST_PLACES = 3
"""Smallest number of places of data with one value of the coordinate that get a slice."""
_POINTS = 201
"""Number of points along a slice."""


def cuts(problem: Problem, given: Mapping[str, Sequence[float]] | None = None) -> Cuts:
    """Return where to cut: as given, or by default at some values of time (without a
    time, of the second coordinate).

    By default there is a slice wherever data lie in a row, and as long as these are few,
    one at each end of the range and in its middle.
    """
    domain = problem.domain
    if given is not None:
        return _checked(problem, given)
    name = next((n for n in domain.names if n in TIME_NAMES), domain.names[1])
    i = domain.names.index(name)
    sites = [g.sites.array for g in problem.groups if g.output and not g.exact]
    values, counts = (
        np.unique(np.concatenate(sites)[:, i], return_counts=True)
        if sites
        else (np.zeros(0), np.zeros(0))
    )
    rows = values[counts >= _LEAST_PLACES]
    every = np.union1d(rows, np.linspace(domain.lower[i], domain.upper[i], 3))
    if len(every) > _MOST_SLICES:
        every = rows[np.unique(np.linspace(0, len(rows) - 1, _MOST_SLICES).round().astype(int))]
    return name, every.tolist()


def _checked(problem: Problem, given: Mapping[str, Sequence[float]]) -> Cuts:
    """Return the cuts that a user asked for, or raise a ``ValueError`` with an example."""
    names = problem.domain.names
    example = (
        f"slices={{'{names[-1]}': [{problem.domain.lower[-1]:g}, {problem.domain.upper[-1]:g}]}}"
    )
    if len(names) == 1:
        raise ValueError(
            f"slices={given!r}: the problem has one coordinate, {names[0]}, so there is nothing to"
            " cut; leave slices out"
        )
    if len(given) != 1 or next(iter(given)) not in names:
        raise ValueError(
            f"slices={given!r}: give one of the coordinates {', '.join(names)} with the values to"
            f" cut at, such as {example}"
        )
    ((name, wanted),) = given.items()
    values = np.atleast_1d(np.asarray(wanted, float)).ravel()
    i = names.index(name)
    if not values.size or not np.all(
        (values >= problem.domain.lower[i]) & (values <= problem.domain.upper[i])
    ):
        raise ValueError(
            f"slices={given!r}: the values of {name} must lie in {problem.domain!r}, such as"
            f" {example}"
        )
    return name, values.tolist()


def draw_slices(result: "Result", axes: Mapping[str, Any], where: Cuts, level: float) -> None:
    """Draw each output over the first other coordinate, in a column of panels for each
    value.

    Further coordinates are held near the middle of their range, where there are data.

    Arguments:
        result: the result to draw.
        axes: the panels of each output, (row, value); a second row shows the intervals
            as deviations from the mean.
        where: the coordinate to cut, and its values.
        level: level of the intervals.
    """
    domain, (name, values) = result.problem.domain, where
    cut, across = domain.names.index(name), next(i for i, n in enumerate(domain.names) if n != name)
    others = [i for i in range(len(domain.names)) if i != across]
    near = 1e-9 * (domain.upper - domain.lower)[others]
    held = _middle(result.problem)
    for k, value in enumerate(values):
        array = np.tile(held, (_POINTS, 1))
        array[:, cut] = value
        x = array[:, across] = np.linspace(domain.lower[across], domain.upper[across], _POINTS)
        for output, line in lines(result, Points(domain.names, array), level).items():
            top, *below = axes[output][:, k]
            draw_line(top, x, line, level)
            for g in result.problem.groups:
                here = np.all(np.abs(g.points.array - array[0])[:, others] <= near, axis=1)
                if g.output == output and here.any():
                    draw_data(top, g, g.points.array[here, across], g.y[here])
            top.set_title(
                ", ".join(f"{domain.names[i]} = {array[0, i]:.4g}" for i in others), fontsize=10
            )
            for axis in below:
                draw_line(axis, x, line, level, base=line.mean, new=line.band is None)
            axes[output][-1, k].set_xlabel(label(result, domain.names[across]))
    for output, own in axes.items():
        own[0, 0].set_ylabel(label(result, output))
        if len(own) > 1:
            own[1, 0].set_ylabel("deviation from the mean")
            # one scale, so that panels can be compared and rounding errors stay invisible
            for axis in own[1, 1:]:
                axis.sharey(own[1, 0])
            own[1, 0].relim()
            own[1, 0].autoscale()
        draw_legend(own[0], "upper")


def _middle(problem: Problem) -> np.ndarray:
    """Return the middle of the domain, with each coordinate moved to the nearest one at
    which there are data.
    """
    middle = (problem.domain.lower + problem.domain.upper) / 2
    sites = [g.sites.array for g in problem.groups if g.output and not g.exact]
    if not sites:
        return middle
    places = np.concatenate(sites)
    nearest = np.abs(places - middle).argmin(axis=0)
    return np.take_along_axis(places, nearest[None], axis=0)[0]
