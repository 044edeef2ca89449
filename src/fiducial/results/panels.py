"""Panels of a figure: an output along a line, with its intervals, the data and the truth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..posing.coordinates import Points

if TYPE_CHECKING:
    from ..posing.groups import Group
    from .result import Result

BLUE = "#2a6f97"
"""Colour of the solution and its band."""
GREY = "#8d99ae"
"""Colour of the data and of intervals of new measurements."""
RED = "#c1121f"
"""Colour of exact values."""
_DASHED = (0, (4, 3))

Limits = tuple[np.ndarray, np.ndarray]
"""Lower and upper limits along a line."""


class Line(NamedTuple):
    """An output along a line, with what is known about it.

    Attributes:
        mean: the solution.
        band: limits of the solution, or None.
        prediction: limits of a new measurement, or None.
        truth: the true values, or None.
    """

    mean: np.ndarray
    band: Limits | None
    prediction: Limits | None
    truth: np.ndarray | None

    @property
    def interval(self) -> Limits | None:
        """Limits of the solution, or of a new measurement for a method that gives no
        others.
        """
        return self.band or self.prediction


def lines(result: "Result", points: Points, level: float, *, new: bool = True) -> dict[str, Line]:
    """Return each output at some points; ``new=False`` leaves out new measurements."""
    band, truth = result.band(points, level), result.problem.truth
    true = {} if truth is None else truth.at(points)
    prediction = _prediction(result, points, level) if new else None
    found = {}
    for name in result.problem.outputs:
        own = band.sel(output=name)
        ahead = (
            None
            if prediction is None or name not in prediction.output
            else _limits(prediction.sel(output=name))
        )
        found[name] = Line(own["mean"].values, _limits(own), ahead, true.get(name))
    return found


def _prediction(result: "Result", points: Points, level: float) -> Any:
    try:
        return result.predict(points, level)
    except ValueError:
        # no output has noise, its size is known at the measurements only, or there are
        # too few of them for the level
        return None


def _limits(own: Any) -> Limits | None:
    return (own.lower.values, own.upper.values) if np.isfinite(own.lower.values).all() else None


def draw_line(
    axis: Any,
    x: np.ndarray,
    line: Line,
    level: float,
    *,
    base: np.ndarray | float = 0.0,
    new: bool = True,
) -> None:
    """Draw solution, intervals and truth as deviations from ``base``; ``new=False``
    leaves out new measurements, beside which a band would be too thin to see.
    """
    if line.prediction is not None and new:
        lower, upper = line.prediction
        style = {"color": GREY, "alpha": 0.2, "lw": 0}
        name = f"{100 * level:g} % of new measurements"
        axis.fill_between(x, lower - base, upper - base, label=name, **style)
    if line.band is not None:
        lower, upper = line.band
        style = {"color": BLUE, "alpha": 0.3, "lw": 0}
        axis.fill_between(x, lower - base, upper - base, label=f"{100 * level:g} % band", **style)
    axis.plot(x, line.mean - base, color=BLUE, lw=1.6, label="solution")
    if line.truth is not None:
        axis.plot(x, line.truth - base, color="black", lw=1, ls=_DASHED, label="truth")


def draw_data(axis: Any, group: "Group", x: np.ndarray, y: np.ndarray) -> None:
    """Draw the values of a group of observations."""
    style = (
        {"marker": "s", "color": RED, "label": "exact"}
        if group.exact
        else {"marker": "o", "color": GREY, "label": "data"}
    )
    axis.plot(x, y, ls="none", ms=4, alpha=0.8, zorder=3, **style)


def draw_legend(axes: Sequence[Any], side: str) -> None:
    """Draw one legend for several panels, above or below them all (``side="upper"`` or
    ``"lower"``), where it covers nothing.
    """
    shown = {
        text: handle
        for axis in axes
        for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    axes[0].figure.legend(
        shown.values(),
        shown.keys(),
        loc=f"outside {side} center",
        ncols=len(shown),
        frameon=False,
        fontsize=8,
    )


def label(result: "Result", name: str) -> str:
    """Return a name with its unit."""
    unit = result.problem.units.get(name)
    return f"{name} ({unit})" if unit else name
