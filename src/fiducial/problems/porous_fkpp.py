"""Scratch assays and the porous variant of the FKPP equation."""

from typing import Any

import jax.numpy as jnp

from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown, Positive, Real
from ._scratch import CAPACITY, scratch_problem


def porous_fkpp(
    *,
    cells: int = 16_000,
    noise: str = "independent",
    wells: str = "mean",
    knots: int = 8,
    floor: float = 0.05,
    n_x: int = 50,
    n_t: int = 20,
) -> Problem:
    """Cells that close a scratch, with a diffusivity that depends on density: real data.

    - Equation: u_t = D ((u / 1700)^m u_x)_x + r u (1 - u / 1700).
    - Unknown: D, m, r, and the profile u(x, 0), by its values at ``knots`` positions.
    - The data, what is known exactly, and the exact limits are those of ``fkpp``.

    Arguments:
        cells: cells put into each well: 10,000, 12,000, ... or 20,000.
        noise: ``"independent"`` errors, as in the paper, or ``"correlated"`` ones.
        wells: ``"mean"`` of the three wells, as in the paper; all three as
            ``"replicates"``; or ``"experiments"``, with a profile and errors of their
            own and common constants.
        knots: number of values that give the profile at t = 0, with a smooth curve
            through them.
        floor: smooth lower bound of u / 1700 within the power, which a negative density
            would make undefined.
        n_x: number of positions where the equation must hold.
        n_t: number of times at which the equation must hold (the paper has a grid of
            50 x 10).

    Example:
        >>> list(porous_fkpp().unknowns)
        ['D', 'm', 'r', 'start']
    """
    if not floor > 0:
        raise ValueError(
            f"porous-fkpp(floor={floor!r}): give a small positive number, such as 0.05"
        )

    transport: dict[str, AbstractUnknown] = {"D": Positive(0.05), "m": Real(0.5)}
    return scratch_problem(
        "porous-fkpp",
        _diffusivity(floor),
        transport,
        cells=cells,
        noise=noise,
        wells=wells,
        knots=knots,
        n_x=n_x,
        n_t=n_t,
    )


def _diffusivity(floor: float) -> Any:
    def diffusivity(u: Any, p: Any) -> Any:
        share = u / CAPACITY
        bounded = (share + jnp.sqrt(share**2 + 4 * floor**2)) / 2  # floor where u is zero
        return p["D"] * bounded ** p["m"]

    return diffusivity
