"""What the scratch-assay problems share: the data, the unknown start, the equation's
frame, and a reference without networks.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..datasets import scratch_assay
from ..noise.base import AbstractNoise
from ..noise.correlated import Correlated
from ..noise.gaussian import Gaussian
from ..posing.collocation import grid
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.unknowns import AbstractUnknown, Positive, Real
from ._curve import ExactCurve
from ._lines import Lines
from ._paper import PAPER_EFI_REAL_DATA
from ._profile import Profile
from ._waves import MLPWithWaves

CAPACITY = 1700.0
"""Cells per square millimetre, as in the paper."""
_COLUMN = 0.05 * 1.43
"""Area in which cells were counted, in square millimetres."""
_LAST = 2.0
DENSITIES = (10_000, 12_000, 14_000, 16_000, 18_000, 20_000)

_VOLUMES = 2
"""Finite volumes of the reference between two positions of the data; twice as many
move its estimates by a thousandth or less.
"""
_SAMPLES = 4000
"""Size of the reference's importance sample."""

Diffusivity = Callable[[Any, Any], Any]


def measured(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions in mm, times in days, and densities in the three wells, one column
    each; the first position is left out, as in the paper.
    """
    table = scratch_assay()
    kept = (table["initial_cells"] == cells) & (table["position_um"] > table["position_um"].min())
    wells = np.stack([table[f"count{i}"][kept] for i in (1, 2, 3)], axis=1) / _COLUMN
    return table["position_um"][kept] / 1000, table["time_h"][kept] / 24, wells


def scratch_problem(
    name: str,
    diffusivity: Diffusivity,
    transport: dict[str, AbstractUnknown],
    *,
    cells: int,
    noise: str,
    wells: str,
    knots: int,
    n_x: int,
    n_t: int,
    **more: Any,
) -> Problem:
    """u_t = (d(u) u_x)_x + r u (1 - u / K), nothing flowing out at the ends, with the
    profile at t = 0 given by unknown values.

    Arguments:
        name: name of the problem.
        diffusivity: ``(u, p) -> d``.
        transport: the unknowns of the diffusivity, the positive ones first.
        cells: number of cells put into each well.
        noise: ``"independent"`` or ``"correlated"``.
        wells: ``"mean"``, ``"replicates"`` or ``"experiments"``.
        knots: number of values of the profile at t = 0.
        n_x: points in space where the equation must hold.
        n_t: times at which it must.
        more: options of the problem that are in its diffusivity.
    """
    if cells not in DENSITIES:
        raise ValueError(
            f"{name}(cells={cells!r}): there are assays with {', '.join(map(str, DENSITIES))} cells"
        )
    if noise not in ("independent", "correlated") or wells not in (
        "mean",
        "replicates",
        "experiments",
    ):
        raise ValueError(
            f"{name}(noise={noise!r}, wells={wells!r}): give 'independent' or 'correlated', and"
            " 'mean', 'replicates' or 'experiments'"
        )
    if knots < 2:
        raise ValueError(
            f"{name}(knots={knots!r}): the profile at t = 0 needs 2 values or more; 8 is the"
            " default"
        )
    x, t, density = measured(cells)
    box = Box(x=(float(x.min()), float(x.max())), t=(0, _LAST))
    profile = Profile(box.lower[0], box.upper[0], knots)
    # outputs with the values observed of them, and what their starts are called
    if wells == "experiments":
        seen, starts = (
            {f"u{i}": density[:, i - 1] for i in (1, 2, 3)},
            {f"u{i}": f"start{i}" for i in (1, 2, 3)},
        )
    else:
        seen, starts = {"u": density.mean(axis=1) if wells == "mean" else density}, {"u": "start"}
    first = t == 0
    guesses = {
        u: np.interp(profile.knots, x[first], y[first] if y.ndim == 1 else y[first].mean(axis=1))
        for u, y in seen.items()
    }

    def equation(f: Any, at: Any, p: Any) -> tuple[Any, ...]:
        return tuple(_residual(f[u], at, p, diffusivity) for u in seen)

    def start_exactly(u: Any, at: Any, p: Any) -> Any:
        made = {
            n: profile(at.x, p[starts[n]]) + at.t / _LAST * (u if len(seen) == 1 else u[n])
            for n in seen
        }
        return made if len(seen) > 1 else made["u"]

    def closed(u: str) -> Callable[[Any, Any, Any], Any]:
        return lambda f, at, p: derivative(f[u], at, "x")

    model: AbstractNoise = Gaussian() if noise == "independent" else Correlated(over=("x", "t"))
    side = np.linspace(0, _LAST, n_t)
    sides = {
        "left_end": {"x": np.repeat(box.lower[0], n_t), "t": side},
        "right_end": {"x": np.repeat(box.upper[0], n_t), "t": side},
    }
    compared = noise == "independent" and wells != "experiments"
    return Problem(
        name=name,
        equation=equation,
        domain=box,
        unknowns={
            **transport,
            "r": Positive(0.5),
            **{starts[u]: Real(guess, scale=100.0) for u, guess in guesses.items()},
        },
        outputs={u: Output(scale=CAPACITY / 4) for u in seen},
        network=MLPWithWaves((20, 20) if len(seen) == 1 else (30, 30), waves=3),
        collocation=grid(x=n_x, t=n_t),
        constraint=start_exactly,
        observations=[
            *(Observed(u, x={"x": x, "t": t}, y=y, noise=model) for u, y in seen.items()),
            *(
                Observed(closed(u), x=at, name=end if len(seen) == 1 else f"{end}_{u}")
                for u in seen
                for end, at in sides.items()
            ),
        ],
        units={
            "x": "mm",
            "t": "days",
            "D": "mm^2/day",
            "r": "1/day",
            **dict.fromkeys([*seen, *starts.values()], "cells/mm^2"),
        },
        exact=(
            _reference(
                diffusivity, transport, profile, np.stack([x, t], axis=1), guesses["u"], seen["u"]
            )
            if compared
            else None
        ),
        paper={"efi": PAPER_EFI_REAL_DATA},
        options={
            "cells": cells,
            "noise": noise,
            "wells": wells,
            "knots": knots,
            "n_x": n_x,
            "n_t": n_t,
            **more,
        },
    )


def _residual(u: Any, at: Any, p: Any, diffusivity: Diffusivity) -> Any:
    def flux(at: Any) -> Any:
        return diffusivity(u(at), p) * derivative(u, at, "x")

    return derivative(u, at, "t") - derivative(flux, at, "x") - _growth(u(at), p["r"])


def _growth(u: Any, r: Any) -> Any:
    return r * u * (1 - u / CAPACITY)


def _reference(
    diffusivity: Diffusivity,
    transport: dict[str, AbstractUnknown],
    profile: Profile,
    points: np.ndarray,
    guess: np.ndarray,
    y: np.ndarray,
) -> ExactCurve:
    """Least squares and the fiducial density of the same problem, its equation
    solved by finite volumes.
    """
    names, count = (*transport, "r"), len(np.unique(points[:, 0]))
    lines = Lines(
        lambda u, p: diffusivity(u, dict(zip(names, p, strict=False))),
        lambda u, p: _growth(u, p[len(transport)]),
        lambda x, p: profile(x, p[len(names) :]),
        np.linspace(profile.knots[0], profile.knots[-1], _VOLUMES * (count - 1) + 1),
        CAPACITY,
    )

    def curve(points: Any, p: Any) -> Any:
        table = np.concatenate(p, axis=1) if np.ndim(p[0]) else np.asarray(p)[None]
        found = lines(points, table)
        return found if np.ndim(p[0]) else found[0]

    start = [
        *(float(u.guess) for u in transport.values()),
        0.5,
        *np.maximum(guess, 0.05 * CAPACITY),
    ]
    positive = [name for name, u in transport.items() if u.kind == "positive"]
    every = np.repeat(points, y.size // len(y), axis=0)
    return ExactCurve(curve, every, start, names, "u", positive=(*positive, "r"), samples=_SAMPLES)
