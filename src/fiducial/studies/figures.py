"""Figures of a study: coverage and width at every point, and at every level."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .cell import Cell
    from .result import Study


def all_figures(study: "Study") -> dict[str, Any]:
    """Return all figures by file name; none without intervals."""
    cells = [
        cell
        for cell in study.cells
        if any(name.endswith(".pit") for name in cell.arrays) and cell.usable.any()
    ]
    if not cells:
        return {}
    return {
        "coverage": _along(cells, study.level, "coverage"),
        "width": _along(cells, study.level, "width"),
        "pit": _pit(cells),
        "calibration": _calibration(cells),
    }


def _axes(cells: "list[Cell]", height: float = 3.0) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, height * len(cells) + 0.3), layout="constrained")
    axes = figure.subplots(len(cells), 1, squeeze=False)[:, 0]
    for axis, cell in zip(axes, cells, strict=True):
        axis.set_title(cell.label, fontsize=9)
    return figure, axes


def _kept(cell: "Cell", name: str) -> np.ndarray:
    return cell.arrays[name][cell.usable]


def _along(cells: "list[Cell]", level: float, what: str) -> Any:
    """Draw coverage or width of each output at every point, over the first coordinate."""
    figure, axes = _axes(cells)
    for axis, cell in zip(axes, cells, strict=True):
        x = cell.points.array[:, 0]
        line = "-" if cell.points.array.shape[1] == 1 else "."
        for i, name in enumerate(cell.problem.outputs):
            lower, upper = _kept(cell, f"{name}.lower"), _kept(cell, f"{name}.upper")
            if what == "width":
                axis.plot(x, (upper - lower).mean(axis=0), line, color=f"C{i}", label=name)
                if f"{name}.exact_lower" in cell.arrays:
                    exact = _kept(cell, f"{name}.exact_upper") - _kept(cell, f"{name}.exact_lower")
                    axis.plot(
                        x,
                        exact.mean(axis=0),
                        "k--" if line == "-" else "k.",
                        lw=1,
                        ms=2,
                        label=f"{name}, exact",
                    )
            else:
                truth = cell.truth[name]
                axis.plot(
                    x,
                    ((lower <= truth) & (truth <= upper)).mean(axis=0),
                    line,
                    color=f"C{i}",
                    label=name,
                )
        if what == "coverage":
            half = 1.96 * np.sqrt(level * (1 - level) / max(1, int(cell.usable.sum())))
            axis.axhspan(
                level - half,
                min(1.0, level + half),
                color="0.85",
                lw=0,
                label="calibrated: binomial 95 % band",
            )
            axis.axhline(level, color="0.4", lw=0.8)
        else:
            axis.set_ylim(bottom=0)
        axis.set(xlabel=cell.points.names[0], ylabel=f"{what} of {100 * level:g} % intervals")
        axis.legend(frameon=False, fontsize=8)
    return figure


def _pits(cell: "Cell") -> dict[str, np.ndarray]:
    """Return ranks of the truth by quantity, (data set, point)."""
    return {
        name.removesuffix(".pit"): _kept(cell, name).reshape(int(cell.usable.sum()), -1)
        for name in cell.arrays
        if name.endswith(".pit")
    }


def _pit(cells: "list[Cell]") -> Any:
    """Draw the distribution function of the rank of the truth less the uniform one.

    The band contains the curve of a single point with 95 % probability (Kolmogorov's
    bound); the curve of a field is averaged over its points, so that it lies well inside
    when intervals are calibrated."""
    figure, axes = _axes(cells)
    u = np.linspace(0, 1, 201)
    for axis, cell in zip(axes, cells, strict=True):
        for name, pit in _pits(cell).items():
            axis.plot(
                u,
                np.searchsorted(np.sort(pit.ravel()), u, side="right") / pit.size - u,
                lw=1.2,
                label=name,
            )
        half = 1.358 / np.sqrt(max(1, int(cell.usable.sum())))
        axis.axhspan(-half, half, color="0.85", lw=0, label="calibrated: 95 % band of one curve")
        axis.axhline(0, color="0.4", lw=0.8)
        axis.set(
            xlabel="rank of the truth among the draws", ylabel="share of data sets below, minus u"
        )
        axis.legend(frameon=False, fontsize=8)
    return figure


def _calibration(cells: "list[Cell]") -> Any:
    """Draw the coverage of central intervals at every level."""
    figure, axes = _axes(cells, 4.0)
    levels = np.linspace(0.02, 0.98, 49)
    for axis, cell in zip(axes, cells, strict=True):
        n = max(1, int(cell.usable.sum()))
        half = 1.96 * np.sqrt(levels * (1 - levels) / n)
        axis.fill_between(
            levels,
            levels - half,
            levels + half,
            color="0.85",
            lw=0,
            label="calibrated: binomial 95 % band",
        )
        axis.plot([0, 1], [0, 1], color="0.4", lw=0.8)
        for name, pit in _pits(cell).items():
            axis.plot(levels, coverage_at(pit, levels), lw=1.2, label=name)
        axis.set(xlabel="level", ylabel="coverage")
        axis.legend(frameon=False, fontsize=8)
    return figure


def coverage_at(pit: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the coverage of central intervals of any levels, from ranks of the truth."""
    return np.mean(np.abs(pit.reshape(-1, 1) - 0.5) <= np.asarray(levels) / 2, axis=0)
