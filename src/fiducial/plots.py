"""Figures of a result, the same for every problem."""

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .collocation import grid
from .coordinates import Points

if TYPE_CHECKING:
    from .result import Result

_BLUE, _GREY, _RED = "#2a6f97", "#8d99ae", "#c1121f"


def plot(result: "Result", level: float = 0.95) -> Any:
    """The solution with its band and the data: lines over one coordinate, maps over two or more."""
    return _lines(result, level) if len(result.problem.domain.names) == 1 else _maps(result, level)


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    # A figure of its own, not pyplot's: nothing is left open, and no display is needed.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + 4.8 * columns, 0.4 + 3.1 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _label(result: "Result", name: str) -> str:
    unit = result.problem.units.get(name)
    return f"{name} ({unit})" if unit else name


def _title(result: "Result") -> str:
    return f"{result.problem.name}: {result.method}, {result.diagnose().verdict}"


def _lines(result: "Result", level: float) -> Any:
    """Each output over the coordinate; beside it what the band leaves open, as a deviation from the mean."""
    points = result.grid(401)
    band, x = result.band(points, level), points.array[:, 0]
    outputs = list(result.problem.outputs)
    wide = bool(np.isfinite(band.lower.values).all())
    figure, axes = _figure(len(outputs), 1 + wide)
    for row, name in zip(axes, outputs, strict=True):
        own = band.sel(output=name)
        truth = result.problem.truth
        true = None if truth is None else np.broadcast_to(np.asarray(points.map(truth.outputs[name])), x.shape)
        mean = own["mean"].values
        for axis, base in zip(row, (np.zeros_like(mean), mean), strict=False):
            if wide:
                axis.fill_between(x, own.lower - base, own.upper - base, color=_BLUE, alpha=0.25, lw=0, label=f"{100 * level:g} % band")
            axis.plot(x, mean - base, color=_BLUE, lw=1.6, label="solution")
            if true is not None:
                axis.plot(x, true - base, color="black", lw=1, ls=(0, (4, 3)), label="truth")
            axis.set_xlabel(_label(result, result.problem.domain.names[0]))
            axis.set_ylabel(_label(result, name))
        for g in result.problem.groups:
            if g.output == name:
                style = {"marker": "s", "color": _RED, "label": "exact"} if g.exact else {"marker": "o", "color": _GREY, "label": "data"}
                row[0].plot(g.points.array[:, 0], g.y, ls="none", ms=4, alpha=0.8, zorder=3, **style)
        row[0].legend(frameon=False, fontsize=8)
        if wide:
            row[1].set_title("the same, less the mean", fontsize=9)
    figure.suptitle(_title(result), fontsize=10)
    return figure


def _maps(result: "Result", level: float) -> Any:
    """Maps over the first two coordinates; further ones are held at the middle of their range."""
    domain = result.problem.domain
    first, second = domain.names[:2]
    n = 81
    plane = {c: n if i < 2 else 1 for i, c in enumerate(domain.names)}
    array = grid(**plane)(domain)
    array[:, 2:] = (domain.lower[2:] + domain.upper[2:]) / 2
    band = result.band(Points(domain.names, array), level)
    outputs = list(result.problem.outputs)
    wide = bool(np.isfinite(band.lower.values).all())
    figure, axes = _figure(len(outputs), 1 + wide)
    a, b = array[:, 0].reshape(n, n), array[:, 1].reshape(n, n)
    for row, name in zip(axes, outputs, strict=True):
        own = band.sel(output=name)
        shown = [(own["mean"].values, name, "viridis")]
        if wide:
            shown.append(((own.upper - own.lower).values, f"width of the {100 * level:g} % band of {name}", "magma"))
        for axis, (value, title, colours) in zip(row, shown, strict=True):
            image = axis.pcolormesh(a, b, value.reshape(n, n), cmap=colours, shading="gouraud", rasterized=True)
            figure.colorbar(image, ax=axis)
            for g in result.problem.groups:
                if g.output == name:
                    axis.plot(
                        g.sites.array[:, 0],
                        g.sites.array[:, 1],
                        ls="none",
                        marker="s" if g.exact else "o",
                        ms=2.5,
                        color="white",
                        mec="black",
                        mew=0.4,
                    )
            axis.set(xlabel=_label(result, first), ylabel=_label(result, second), title=title)
    held = ", ".join(f"{c} = {array[0, i + 2]:g}" for i, c in enumerate(domain.names[2:]))
    figure.suptitle(_title(result) + (f" (at {held})" if held else ""), fontsize=10)
    return figure


def plot_errors(result: "Result") -> Any:
    """The imputed errors of each noisy group: against the true ones where these are known, else in order; and their quantiles.

    Errors that the data inform well differ from draw to draw; the bars are a standard deviation of the draws.
    """
    from statistics import NormalDist

    groups = [g for g in result.problem.groups if g.name in result.tree["errors"].data_vars]
    figure, axes = _figure(len(groups), 2)
    for row, g in zip(axes, groups, strict=True):
        z = np.asarray(result.tree["errors"][g.name])
        z = z.reshape(-1, z.shape[-1])
        true = _true_errors(result, g)
        places = np.arange(1, z.shape[1] + 1) if true is None else true
        row[0].errorbar(places, z.mean(axis=0), z.std(axis=0), fmt="o", ms=3, lw=0.8, color=_BLUE)
        row[0].set(xlabel="observation" if true is None else "true error", ylabel=f"imputed error of {g.name}")
        normal = np.array([NormalDist().inv_cdf((i + 0.5) / z.shape[1]) for i in range(z.shape[1])])
        ends = 1.1 * np.array([normal.min(), normal.max()])
        if true is not None:
            row[0].plot(ends, ends, color="black", lw=0.8, ls=(0, (4, 3)))
        for draw in z[:: max(1, len(z) // 20)]:
            row[1].plot(normal, np.sort(draw), color=_BLUE, lw=0.6, alpha=0.4)
        row[1].plot(ends, ends, color="black", lw=0.8, ls=(0, (4, 3)))
        row[1].set(xlabel="normal quantile", ylabel=f"quantiles of {g.name}'s errors, 20 draws")
    figure.suptitle(_title(result), fontsize=10)
    return figure


def _true_errors(result: "Result", group: Any) -> np.ndarray | None:
    """The errors that the data really have, where a simulated problem tells."""
    truth = result.problem.truth
    parameters = None if truth is None else truth.noise.get(group.name, {})
    if truth is None or group.output is None or set(group.noise_unknowns()) - set(parameters or {}):
        return None
    with jax.enable_x64(True):
        mean = np.broadcast_to(np.asarray(group.points.map(truth.outputs[group.output])), group.y.shape)
        return np.asarray(group.noise.pull(mean, group.y, group.points, parameters))


def plot_trace(result: "Result") -> Any:
    """What each phase recorded, on logarithmic axes."""
    phases = list(result.tree["trace"].children.items())
    figure, axes = _figure(1, len(phases))
    for axis, (name, node) in zip(axes[0], phases, strict=True):
        for variable in node.data_vars:
            values = node[variable].values
            for i, chain in enumerate(values):
                kept = np.flatnonzero(np.isfinite(chain) & (chain > 0))
                if kept.size:
                    axis.plot(kept, chain[kept], lw=1, color=f"C{list(node.data_vars).index(variable) % 10}", label=str(variable) if i == 0 else None)
        axis.set_yscale("log")
        axis.set(title=name, xlabel="record")
        if axis.lines:
            axis.legend(frameon=False, fontsize=8)
    return figure
