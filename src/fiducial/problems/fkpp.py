"""Scratch assays and the equation of Fisher, Kolmogorov, Petrovsky and Piskunov:
real data of the paper.
"""

from ..posing.problem import Problem
from ..posing.unknowns import Positive
from ._scratch import scratch_problem


def fkpp(
    *,
    cells: int = 20_000,
    noise: str = "independent",
    wells: str = "mean",
    knots: int = 8,
    n_x: int = 50,
    n_t: int = 20,
) -> Problem:
    """u_t = D u_xx + r u (1 - u / 1700) for the density of cells that close a scratch;
    D, r and the profile at t = 0 are unknown.

    Arguments:
        cells: cells put into each well: 10,000, 12,000, ... or 20,000.
        noise: ``"independent"`` errors of unknown size, as in the paper, or
            ``"correlated"`` ones.
        wells: ``"mean"`` of the three wells, as in the paper, all three as
            ``"replicates"``, or as three ``"experiments"`` with a start and errors of
            their own, and the same constants.
        knots: number of values that give the profile at t = 0, with a smooth curve
            through them.
        n_x: points in space where the equation must hold.
        n_t: times at which it must (the paper has a grid of 50 x 10).

    Example:
        >>> list(fkpp().unknowns)
        ['D', 'r', 'start']
    """
    return scratch_problem(
        "fkpp",
        lambda u, p: p["D"],
        {"D": Positive(0.03)},
        cells=cells,
        noise=noise,
        wells=wells,
        knots=knots,
        n_x=n_x,
        n_t=n_t,
    )
