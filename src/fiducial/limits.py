"""All limits of the diagnosis in one table, with the reason and the source of each.

A limit whose source says "convention" was not set by an experiment of ours.
"""

from .checks import Limit

_NONE = 0.0

FAILED_CHAINS = Limit(
    _NONE,
    severe=_NONE,
    reason="a chain that diverged may have met a fault that the others missed",
    source="convention",
)
UNSETTLED_CHAINS = Limit(
    _NONE,
    reason="a fit that ran out of steps may still move",
    source="convention",
)
EXACT_VALUES = Limit(
    0.01,
    severe=0.01,
    reason=(
        "exact values and equations must be met; the unit is the residual of random"
        " networks, so that the limit has none"
    ),
    source="converged fits of the ready problems reach 1e-5 to 1e-3 (benchmarks/gallery.py)",
)
BETWEEN_POINTS = Limit(
    0.03,
    severe=0.03,
    reason="an equation must hold between its collocation points as well",
    source=(
        "too few collocation points give 0.1 and more"
        " (tests/methods/test_pinn.py, test_too_few_collocation_points_are_noticed)"
    ),
)
MISFIT = Limit(
    0.999,
    severe=0.999,
    reason="errors of known size have a mean square that follows chi-square",
    source="exact for independent normal errors: one false alarm in a thousand",
)
NEIGHBOURS = Limit(
    3.0,
    reason="intervals assume independent errors unless a correlated noise model is given",
    source="three standard errors of a correlation of independent pairs, 1 / sqrt(pairs)",
)
FAILED_DRAWS = Limit(
    0.02,
    severe=0.02,
    reason="draws that have no solution lie in the tails, and are missing there",
    source="2 % of the draws are most of a 2.5 % tail",
)
INEXACT_DRAWS = Limit(
    0.02,
    reason="draws that stop short of their equations make intervals too narrow",
    source="2 % of the draws are most of a 2.5 % tail",
)
EFFECTIVE_DRAWS = Limit(
    400.0,
    severe=100.0,
    at_least=True,
    reason="with 400 independent draws a 95 % limit has a standard error of 3 % of the width",
    source="Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16",
)
R_HAT = Limit(
    1.02,
    severe=1.05,
    reason="chains that differ have not been everywhere",
    source=(
        "Vehtari et al. (2021) recommend 1.01 for many more draws; with 400 the sampling"
        " error of R-hat is about .01"
    ),
)
LOST_MOVES = Limit(
    0.05,
    severe=0.1,
    reason="a walk that often finds no solution may not have been everywhere",
    source="convention",
)
UNFOLLOWED_DIRECTIONS = Limit(
    0.5,
    severe=0.5,
    reason="the walk follows a fixed number of directions; more would stand still",
    source="half a direction, as the effective number of parameters is not whole",
)
EFFECTIVE_PARAMETERS = Limit(
    0.5,
    severe=0.5,
    at_least=True,
    reason="where the data decide nothing a band has no width",
    source="half a direction, as the effective number of parameters is not whole",
)
WIDTH_CHANGE = Limit(
    0.01,
    reason="widths must come from the data, not from the damping of the network",
    source="over-damping cut a width from .036 to .021 where this check saw 40 %",
)
LINEAR_DIFFERENCE = Limit(
    0.1,
    severe=0.1,
    reason="efi-linear is right only where the draws stay on the tangent",
    source="a tenth of a standard deviation moves 95 % coverage by half a per cent",
)
UNWEIGHTED_DIFFERENCE = Limit(
    0.1,
    reason="draws without weights are right only where the model is nearly linear",
    source="a tenth of a standard deviation moves 95 % coverage by half a per cent",
)
WEIGHTED_DIFFERENCE = Limit(
    0.5,
    reason="weights correct for curvature, but far from linear they rest on few draws",
    source="convention",
)
INFORMED_SD = Limit(
    0.1,
    severe=0.1,
    reason="the band is narrower or wider by as much as the informed errors are",
    source=(
        "collapsed chains showed .17 to .26, good ones .96 to 1.02; the limit is 0.1 and three"
        " standard errors, at most 0.2"
    ),
)
LAG = Limit(
    0.02,
    severe=0.1,
    reason="parameters that lag behind the errors make bands too narrow",
    source="a lag of rho narrows the band by the factor (1 + rho)^(-1/2)",
)
ENERGY = Limit(
    0.2,
    severe=1.0,
    reason="a chain at rest has the energy that equipartition gives",
    source="convention",
)
NORMALITY = Limit(
    0.001,
    at_least=True,
    reason="errors that are not normal point to outliers or to a wrong equation",
    source="one false alarm in a thousand",
)
DIVERGENT_MOVES = Limit(
    0.01,
    severe=0.1,
    reason="trajectories that diverge leave parts of the posterior out",
    source="convention; Betancourt (2017), arXiv:1701.02434",
)
ACCEPTANCE = Limit(
    0.3,
    severe=0.05,
    at_least=True,
    reason="a chain that rejects nearly all moves stands still",
    source="convention; optimal rates are .65 (HMC) and .8 (NUTS)",
)
TIGHTNESS = Limit(
    5.0,
    at_least=True,
    reason="errors given to an exact equation widen the band",
    source="at five times smaller than those of the best data, by a few per cent",
)
UNINFORMED_CONSTANTS = Limit(
    _NONE,
    severe=_NONE,
    reason="a constant that does not move has an empty interval",
    source="convention",
)
MISSING_DIRECTIONS = Limit(
    0.5,
    severe=0.5,
    reason="with fewer informed directions than constants, some combination of them cannot move",
    source="half a direction, as the effective number of parameters is not whole",
)
CONDITION = Limit(
    1e4,
    severe=1e5,
    reason="constants that cannot be told apart have intervals that depend on the sampler",
    source="correlations of .9998; above 1e5 (.99998) the draws lie on one line",
)
CORRELATION = Limit(
    0.99,
    reason="two poorly determined constants that move together are one constant",
    source="montroll's k and exponent: -.9999",
)
OTHER_SOLUTIONS = Limit(
    _NONE,
    severe=_NONE,
    reason="draws are taken around one solution",
    source="convention",
)
AGREEMENT = Limit(
    0.1,
    reason="two methods must agree to within their Monte-Carlo error",
    source="0.1 standard deviations and three standard errors of both",
)


def table() -> list[tuple[str, Limit]]:
    """Return all limits with their names, in the order of this file.

    Example:
        >>> dict(table())["EFFECTIVE_DRAWS"].value
        400.0
    """
    return [(name, value) for name, value in globals().items() if isinstance(value, Limit)]
