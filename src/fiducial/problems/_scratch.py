"""What the scratch-assay problems share: the data, the unknown start, and the equation's frame."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..collocation import grid
from ..coordinates import Box
from ..data import scratch_assay
from ..networks import MLP
from ..noise.correlated import Correlated
from ..noise.gaussian import Gaussian
from ..noise_model import AbstractNoise
from ..observed import Observed
from ..operators import derivative
from ..problem import Output, Problem
from ..unknowns import AbstractUnknown, Positive, Real
from ._paper import PAPER_EFI_REAL_DATA
from ._spline import Spline

CAPACITY = 1700.0
"""Cells per square millimetre, as in the paper."""
_COLUMN = 0.05 * 1.43
"""Area in which cells were counted, in square millimetres."""
_LAST = 2.0
DENSITIES = (10_000, 12_000, 14_000, 16_000, 18_000, 20_000)

Flux = Callable[[Any, Any, Any], Any]


def measured(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions in mm, times in days, and densities in the three wells, one column each; the first position is left out, as in the paper."""
    table = scratch_assay()
    kept = (table["initial_cells"] == cells) & (table["position_um"] > table["position_um"].min())
    wells = np.stack([table[f"count{i}"][kept] for i in (1, 2, 3)], axis=1) / _COLUMN
    return table["position_um"][kept] / 1000, table["time_h"][kept] / 24, wells


def scratch_problem(
    name: str,
    flux: Flux,
    transport: dict[str, AbstractUnknown],
    *,
    cells: int,
    noise: str,
    wells: str,
    knots: int,
    n_x: int,
    n_t: int,
) -> Problem:
    """u_t = flux_x + r u (1 - u / K), nothing flowing out at the ends, with the profile at t = 0 a spline of unknown values.

    Arguments:
        name: name of the problem.
        flux: ``(u, at, p) -> number``, what flows to the left at a point.
        transport: the unknowns of the flux.
        cells: number of cells put into each well.
        noise: ``"independent"`` or ``"correlated"``.
        wells: ``"mean"`` or ``"replicates"``.
        knots: number of values of the profile at t = 0.
        n_x: points in space where the equation must hold.
        n_t: times at which it must.
    """
    if cells not in DENSITIES:
        raise ValueError(f"{name}(cells={cells!r}): there are assays with {', '.join(map(str, DENSITIES))} cells")
    if noise not in ("independent", "correlated") or wells not in ("mean", "replicates"):
        raise ValueError(f"{name}(noise={noise!r}, wells={wells!r}): give 'independent' or 'correlated', and 'mean' or 'replicates'")
    x, t, density = measured(cells)
    box = Box(x=(float(x.min()), float(x.max())), t=(0, _LAST))
    spline = Spline(box.lower[0], box.upper[0], knots)
    first = t == 0
    guess = np.interp(spline.knots, x[first], density[first].mean(axis=1))

    def equation(u: Any, at: Any, p: Any) -> Any:
        growth = p["r"] * u(at) * (1 - u(at) / CAPACITY)
        return derivative(u, at, "t") - derivative(lambda at: flux(u, at, p), at, "x") - growth

    def ends(u: Any, at: Any, p: Any) -> Any:
        return derivative(u, at, "x")

    model: AbstractNoise = Gaussian() if noise == "independent" else Correlated(over=("x", "t"))
    side = np.linspace(0, _LAST, n_t)
    return Problem(
        name=name,
        equation=equation,
        domain=box,
        unknowns={**transport, "r": Positive(0.5), "start": Real(guess, scale=100.0)},
        outputs={"u": Output(scale=CAPACITY / 4)},
        network=MLP((30, 30, 30)),
        collocation=grid(x=n_x, t=n_t),
        constraint=lambda u, at, p: spline(at.x, p["start"]) + at.t / _LAST * u,
        observations=[
            Observed("u", x={"x": x, "t": t}, y=density.mean(axis=1) if wells == "mean" else density, noise=model),
            Observed(ends, x={"x": np.repeat(box.lower[0], n_t), "t": side}, name="left_end"),
            Observed(ends, x={"x": np.repeat(box.upper[0], n_t), "t": side}, name="right_end"),
        ],
        units={"x": "mm", "t": "days", "u": "cells/mm^2", "D": "mm^2/day", "r": "1/day", "start": "cells/mm^2"},
        paper={"efi": PAPER_EFI_REAL_DATA},
        options={"cells": cells, "noise": noise, "wells": wells, "knots": knots, "n_x": n_x, "n_t": n_t},
    )
