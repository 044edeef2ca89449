"""Scratch assays and the equation of Fisher, Kolmogorov, Petrovsky and Piskunov."""

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
    """Cells that close a scratch, u_t = D u_xx + r u (1 - u / 1700): real data.

    - Unknown: D, r, and the profile u(x, 0), by its values at ``knots`` positions.
    - Known exactly: no flux through both ends, and the capacity of 1700 cells/mm^2.
    - Observed: the density at 37 positions and 5 times over two days, with normal
      errors of unknown standard deviation.
    - Exact limits: with independent errors, and wells that are not experiments of their
      own, from the fiducial density of a solution by finite volumes.

    Arguments:
        cells: cells put into each well: 10,000, 12,000, ... or 20,000.
        noise: ``"independent"`` errors, as in the paper, or ``"correlated"`` ones.
        wells: ``"mean"`` of the three wells, as in the paper; all three as
            ``"replicates"``; or ``"experiments"``, with a profile and errors of their
            own and common constants.
        knots: number of values that give the profile at t = 0, with a smooth curve
            through them.
        n_x: number of positions where the equation must hold.
        n_t: number of times at which the equation must hold (the paper has a grid of
            50 x 10).

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
