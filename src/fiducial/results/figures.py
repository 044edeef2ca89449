"""Figures of a result: the solution, the constants, the errors and the course of the run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..posing.collocation import grid
from ..posing.coordinates import Points
from .drawn_constants import ConstantDraws, constant_draws, correlated_pairs
from .panels import BLUE, draw_data, draw_legend, draw_line, label, lines
from .slices import Cuts, cuts, draw_slices

if TYPE_CHECKING:
    from .diagnosis import Diagnosis
    from .result import Result

_MOST_CONSTANTS = 6
"""Largest number of constants in one figure, which has a row of panels for each."""
_SHOWN_DRAWS = 20
"""Number of draws whose errors are shown one by one."""


def plot(
    result: "Result",
    level: float = 0.95,
    slices: Mapping[str, Sequence[float]] | None = None,
    *,
    diagnosis: "Diagnosis | None" = None,
) -> Any:
    """Return a figure of the solution with its intervals and the data: lines over one
    coordinate, maps and slices over two or more.

    Arguments:
        result: the result to draw.
        level: level of the intervals.
        slices: where to cut, as for ``Result.plot``.
        diagnosis: the diagnosis whose verdict stands in the title; by default
            ``result.diagnose()``.
    """
    title = _title(result, diagnosis)
    if len(result.problem.domain.names) > 1:
        return _maps(result, level, cuts(result.problem, slices), title)
    if slices is not None:
        cuts(result.problem, slices)
    return _lines(result, level, title)


def _new_figure(rows: float, columns: float) -> Any:
    # A figure of its own, not pyplot's: nothing is left open, and no display is needed.
    from matplotlib.figure import Figure

    return Figure(figsize=(1.2 + 4.8 * columns, 0.4 + 3.1 * rows), layout="constrained")


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    figure = _new_figure(rows, columns)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _title(result: "Result", diagnosis: "Diagnosis | None" = None) -> str:
    verdict = (diagnosis or result.diagnose()).verdict
    return f"{result.problem.name}: {result.method}, {verdict}"


def _lines(result: "Result", level: float, title: str) -> Any:
    """Return a figure of each output over the coordinate, and beside it of the intervals
    as deviations from the mean.
    """
    points = result.grid(401)
    x, (coordinate,) = points.array[:, 0], result.problem.domain.names
    found = lines(result, points, level)
    wide = any(line.interval for line in found.values())
    figure, axes = _figure(len(found), 1 + wide)
    for row, (name, line) in zip(axes, found.items(), strict=True):
        draw_line(row[0], x, line, level)
        if wide:
            draw_line(row[1], x, line, level, base=line.mean, new=line.band is None)
            row[1].set_title("deviation from the mean", fontsize=9)
        for axis in row:
            axis.set(xlabel=label(result, coordinate), ylabel=label(result, name))
        for g in result.problem.groups:
            if g.output == name:
                draw_data(row[0], g, g.points.array[:, 0], g.y)
    draw_legend(axes[:, 0], "lower")  # the title is above
    figure.suptitle(title, fontsize=10)
    return figure


def _maps(result: "Result", level: float, where: Cuts, title: str) -> Any:
    """Return a figure of each output as a map over the first two coordinates, with the
    others at the middle of their range, and of slices below.
    """
    domain = result.problem.domain
    n = 81
    plane = {c: n if i < 2 else 1 for i, c in enumerate(domain.names)}
    array = grid(**plane)(domain)
    array[:, 2:] = (domain.lower[2:] + domain.upper[2:]) / 2
    found = lines(result, Points(domain.names, array), level, new=result.draws is None)
    a, b = array[:, 0].reshape(n, n), array[:, 1].reshape(n, n)
    wide = any(line.interval for line in found.values())
    rows, columns = 1 + wide, len(where[1])
    figure = _new_figure(len(found) * (1 + 0.8 * rows), max(2, 0.6 * columns))
    parts = figure.subfigures(
        2 * len(found), 1, height_ratios=[1, 0.8 * rows] * len(found), squeeze=False
    )[:, 0]
    below: dict[str, Any] = {}
    for k, (name, line) in enumerate(found.items()):
        shown = [(line.mean, name, "viridis")]
        if line.interval:
            lower, upper = line.interval
            kind = "band" if line.band else "interval of new measurements"
            caption = f"width of the {100 * level:g} % {kind} of {name}"
            shown.append((upper - lower, caption, "magma"))
        panels = parts[2 * k].subplots(1, 1 + wide, squeeze=False)[0]
        for axis in panels[len(shown) :]:
            axis.set_axis_off()
        for axis, (value, title, colours) in zip(panels, shown, strict=False):
            _map(result, axis, name, a, b, value.reshape(n, n), colours)
            axis.set_title(title, fontsize=10)
        below[name] = parts[2 * k + 1].subplots(rows, columns, squeeze=False, sharex=True)
    draw_slices(result, below, where, level)
    held = ", ".join(f"{c} = {array[0, i + 2]:g}" for i, c in enumerate(domain.names[2:]))
    figure.suptitle(title + (f" (maps at {held})" if held else ""), fontsize=10)
    return figure


def _map(
    result: "Result",
    axis: Any,
    name: str,
    a: np.ndarray,
    b: np.ndarray,
    value: np.ndarray,
    colours: str,
) -> None:
    image = axis.pcolormesh(a, b, value, cmap=colours, shading="gouraud", rasterized=True)
    axis.figure.colorbar(image, ax=axis)
    for g in result.problem.groups:
        if g.output == name:
            x, y = g.sites.array[:, :2].T
            style = {"ls": "none", "ms": 2.5, "color": "white", "mec": "black", "mew": 0.4}
            axis.plot(x, y, marker="s" if g.exact else "o", **style)
    first, second = result.problem.domain.names[:2]
    axis.set(xlabel=label(result, first), ylabel=label(result, second))


def plot_constants(result: "Result", *, diagnosis: "Diagnosis | None" = None) -> Any:
    """Return a figure of the draws of the unknown constants against each other, with a
    histogram of each.

    The scale is logarithmic where a positive constant spans a factor of ten. Of more
    than six constants the most strongly correlated ones are shown.
    """
    found = constant_draws(result)
    every = correlated_pairs(found) if found is not None else []
    if found is None or not every:
        raise ValueError(
            "plot_constants: the result has no draws of two unknown constants or more; use plot"
        )
    shown = sorted(
        list(dict.fromkeys(i for p in every for i in (p.first, p.second)))[:_MOST_CONSTANTS]
    )
    correlation = {(p.first, p.second): p.correlation for p in every}
    scales = _scales(found)
    truth = result.parameters()["truth"]
    n = len(shown)
    figure = _new_figure(0.8 * n, 0.5 * n)
    axes = figure.subplots(n, n, squeeze=False)
    for a, i in enumerate(shown):
        for b, j in enumerate(shown):
            axis, y, x = axes[a, b], found.labels[i], found.labels[j]
            if b > a:
                axis.set_axis_off()
                continue
            axis.set_xscale(scales[j])
            if a == b:
                _histogram(axis, found.values[:, i], scales[i])
            else:
                axis.set_yscale(scales[i])
                dots = {"ls": "none", "marker": ".", "ms": 3, "color": BLUE, "alpha": 0.4}
                axis.plot(found.values[:, j], found.values[:, i], **dots)
                axis.set_title(f"correlation {correlation[j, i]:.3f}", fontsize=8)
                if np.isfinite(truth[y]) and np.isfinite(truth[x]):
                    axis.plot(truth[x], truth[y], ls="none", marker="x", ms=8, color="black")
            axis.set(
                xlabel=label(result, x) if a == n - 1 else "",
                ylabel=label(result, y) if b == 0 and a else "",
            )
    figure.suptitle(_title(result, diagnosis), fontsize=10)
    return figure


def _scales(found: ConstantDraws) -> list[str]:
    """Return ``log`` for each positive constant that spans a factor of ten, else ``linear``."""
    ends = np.quantile(found.values, [0.025, 0.975], axis=0)
    wide = found.positive & (ends[1] > 10 * ends[0])
    return ["log" if one else "linear" for one in wide]


def _histogram(axis: Any, values: np.ndarray, scale: str) -> None:
    edges = np.geomspace if scale == "log" else np.linspace
    axis.hist(values, bins=edges(values.min(), values.max(), 31), color=BLUE, alpha=0.6)
    axis.set_yticks([])


def plot_errors(result: "Result", *, diagnosis: "Diagnosis | None" = None) -> Any:
    """Return a figure of the imputed errors of each noisy group, against the true ones
    where these are known and in order otherwise, and of their quantiles.

    The bars are standard deviations over the draws.
    """
    from statistics import NormalDist

    groups = [g for g in result.problem.groups if g.name in result.tree["errors"].data_vars]
    figure, axes = _figure(len(groups), 2)
    for row, g in zip(axes, groups, strict=True):
        z = np.asarray(result.tree["errors"][g.name])
        z = z.reshape(-1, z.shape[-1])
        true = _true_errors(result, g)
        places = np.arange(1, z.shape[1] + 1) if true is None else true
        row[0].errorbar(places, z.mean(axis=0), z.std(axis=0), fmt="o", ms=3, lw=0.8, color=BLUE)
        row[0].set(
            xlabel="observation" if true is None else "true error",
            ylabel=f"imputed error of {g.name}",
        )
        normal = np.array([NormalDist().inv_cdf((i + 0.5) / z.shape[1]) for i in range(z.shape[1])])
        ends = 1.1 * np.array([normal.min(), normal.max()])
        if true is not None:
            row[0].plot(ends, ends, color="black", lw=0.8, ls=(0, (4, 3)))
        for draw in z[:: max(1, len(z) // _SHOWN_DRAWS)]:
            row[1].plot(normal, np.sort(draw), color=BLUE, lw=0.6, alpha=0.4)
        row[1].plot(ends, ends, color="black", lw=0.8, ls=(0, (4, 3)))
        row[1].set(
            xlabel="normal quantile", ylabel=f"quantiles of {g.name}'s errors, {_SHOWN_DRAWS} draws"
        )
    figure.suptitle(_title(result, diagnosis), fontsize=10)
    return figure


def _true_errors(result: "Result", group: Any) -> np.ndarray | None:
    """Return the true errors of simulated data; None where the truth is not known."""
    truth = result.problem.truth
    parameters = None if truth is None else truth.noise.get(group.name, {})
    if truth is None or group.output is None or set(group.noise_unknowns()) - set(parameters or {}):
        return None
    with jax.enable_x64(True):
        return np.asarray(
            group.noise.pull(
                truth.at(group.points)[group.output], group.y, group.points, parameters
            )
        )


def plot_trace(result: "Result") -> Any:
    """Return a figure of the numbers that each phase recorded, on logarithmic axes."""
    phases = list(result.tree["trace"].children.items())
    figure, axes = _figure(1, len(phases))
    for axis, (name, node) in zip(axes[0], phases, strict=True):
        for variable in node.data_vars:
            values = node[variable].values
            for i, chain in enumerate(values):
                kept = np.flatnonzero(np.isfinite(chain) & (chain > 0))
                if kept.size:
                    axis.plot(
                        kept,
                        chain[kept],
                        lw=1,
                        color=f"C{list(node.data_vars).index(variable) % 10}",
                        label=str(variable) if i == 0 else None,
                    )
        axis.set_yscale("log")
        axis.set(title=name, xlabel="record")
        if axis.lines:
            axis.legend(frameon=False, fontsize=8)
    return figure
