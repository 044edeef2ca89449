"""Scratch assays and the porous variant of the FKPP equation: real data of the
paper.
"""

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
    """u_t = D ((u / 1700)^m u_x)_x + r u (1 - u / 1700) for the density of cells that
    close a scratch; D, m, r and the profile at t = 0 are unknown.

    Arguments:
        cells: cells put into each well: 10,000, 12,000, ... or 20,000.
        noise: ``"independent"`` errors of unknown size, as in the paper, or
            ``"correlated"`` ones.
        wells: ``"mean"`` of the three wells, as in the paper, all three as
            ``"replicates"``, or as three ``"experiments"`` with a start and errors of
            their own, and the same constants.
        knots: number of values that give the profile at t = 0, with a smooth curve
            through them.
        floor: what u / 1700 is smoothly kept above within the power; a power of a
            negative number is none.
        n_x: points in space where the equation must hold.
        n_t: times at which it must (the paper has a grid of 50 x 10).

    Example:
        >>> list(porous_fkpp().unknowns)
        ['D', 'm', 'r', 'start']
    """
    if not floor > 0:
        raise ValueError(
            f"porous-fkpp(floor={floor!r}): give a small positive number, such as 0.05"
        )

    def diffusivity(u: Any, p: Any) -> Any:
        share = u / CAPACITY
        filled = (share + jnp.sqrt(share**2 + 4 * floor**2)) / 2  # floor where u is zero
        return p["D"] * filled ** p["m"]

    transport: dict[str, AbstractUnknown] = {"D": Positive(0.05), "m": Real(0.5)}
    return scratch_problem(
        "porous-fkpp",
        diffusivity,
        transport,
        cells=cells,
        noise=noise,
        wells=wells,
        knots=knots,
        n_x=n_x,
        n_t=n_t,
        floor=floor,
    )
