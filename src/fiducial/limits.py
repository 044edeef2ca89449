"""All limits of the diagnosis in one table, with the reason and the source of each.

A limit whose source is "convention" was not set by an experiment of ours. The page
docs/limits.md shows the table, and a test compares the two.
"""

from .checks import Limit

_NONE = 0.0

FAILED_CHAINS = Limit(
    _NONE,
    name="chains that failed",
    severe=_NONE,
    reason="a chain that diverged may have met a fault that the others missed",
    source="convention",
)
UNSETTLED_CHAINS = Limit(
    _NONE,
    name="chains that ran out of steps",
    reason="a fit that ran out of steps has not converged",
    source="convention",
)
EXACT_VALUES = Limit(
    0.01,
    name="residual of exact '{}'",
    severe=0.01,
    reason=(
        "exact values and equations must be met; residuals are relative to those of random networks"
    ),
    source="converged fits of the ready problems reach 1e-5 to 1e-3 (benchmarks/gallery.py)",
)
BETWEEN_POINTS = Limit(
    0.03,
    name="residual of '{}' at new points",
    severe=0.03,
    reason="an equation must hold between its collocation points as well",
    source=(
        "too few collocation points give 0.1 and more"
        " (tests/methods/test_pinn.py, test_too_few_collocation_points_are_noticed)"
    ),
)
MISFIT = Limit(
    0.999,
    name="misfit of '{}'",
    severe=0.999,
    reason=(
        "the mean square of errors of known size follows chi-square, and the limit is this"
        " quantile of it"
    ),
    source="exact for independent normal errors: one false alarm in a thousand",
)
NEIGHBOURS = Limit(
    3.0,
    name="correlation of the errors of '{}' along {}",
    reason=(
        "intervals assume independent errors unless a correlated noise model is given; the unit"
        " is the standard error of a correlation, 1 / sqrt(pairs)"
    ),
    source="about one false alarm in a thousand",
)
FAILED_DRAWS = Limit(
    0.02,
    name="share of draws that failed",
    severe=0.02,
    reason="draws that have no solution lie in the tails, and are missing there",
    source="2 % of the draws are most of a 2.5 % tail",
)
INEXACT_DRAWS = Limit(
    0.02,
    name="share of draws off their equations",
    reason="draws that stop short of their equations make intervals too narrow",
    source="2 % of the draws are most of a 2.5 % tail",
)
EFFECTIVE_DRAWS = Limit(
    400.0,
    name="effective draws",
    severe=100.0,
    at_least=True,
    reason="with 400 independent draws a 95 % limit has a standard error of 3 % of the width",
    source="Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16",
)
R_HAT = Limit(
    1.02,
    name="R-hat",
    severe=1.05,
    reason="chains that differ have not converged to one distribution",
    source=(
        "Vehtari et al. (2021) recommend 1.01 for many more draws; with 400 the sampling"
        " error of R-hat is about .01"
    ),
)
LOST_MOVES = Limit(
    0.05,
    name="share of moves without a solution",
    severe=0.1,
    reason="a walk that often finds no solution may have left out a part of them",
    source="convention",
)
UNFOLLOWED_DIRECTIONS = Limit(
    0.5,
    name="informed directions that are not followed",
    severe=0.5,
    reason="the walk follows a fixed number of directions, and does not move along others",
    source="half a direction, as the effective number of parameters is not whole",
)
EFFECTIVE_PARAMETERS = Limit(
    0.5,
    name="effective parameters",
    severe=0.5,
    at_least=True,
    reason="without a direction that the data inform, a band has no width",
    source="half a direction, as the effective number of parameters is not whole",
)
WIDTH_CHANGE = Limit(
    0.01,
    name="change of widths with the damping",
    reason="widths must come from the data, not from the damping of the network",
    source="with too much damping a width fell from .036 to .021, and this check showed 40 %",
)
LINEAR_DIFFERENCE = Limit(
    0.1,
    name="difference from the linearisation, in sd",
    severe=0.1,
    reason="efi-linear is accurate only if the model is linear over the range of the draws",
    source="a tenth of a standard deviation moves 95 % coverage by half a per cent",
)
UNWEIGHTED_DIFFERENCE = Limit(
    0.1,
    name="difference from the linearisation, in sd",
    reason="draws without weights are accurate only if the model is nearly linear",
    source="a tenth of a standard deviation moves 95 % coverage by half a per cent",
)
WEIGHTED_DIFFERENCE = Limit(
    0.5,
    name="difference from the linearisation, in sd",
    reason="weights correct for curvature, but those of a strongly nonlinear model are uneven",
    source="convention",
)
INFORMED_SD = Limit(
    0.1,
    name="sd of the informed errors, distance from 1",
    severe=0.1,
    reason="a band is too narrow or too wide by as much as the informed errors are",
    source=(
        "collapsed chains had .17 to .26, good ones .96 to 1.02; to the limit come three standard"
        " errors, at most another 0.1"
    ),
)
LAG = Limit(
    0.02,
    name="lag of the parameters behind the errors",
    severe=0.1,
    reason="parameters that lag behind the errors make bands too narrow",
    source="a lag of rho narrows the band by the factor (1 + rho)^(-1/2)",
)
ENERGY = Limit(
    0.2,
    name="energy of the data, distance from its expectation",
    severe=1.0,
    reason="a chain in its stationary distribution has the energy that equipartition gives",
    source="convention",
)
NORMALITY = Limit(
    0.001,
    name="normality of the imputed errors, p-value",
    at_least=True,
    reason="errors that are not normal point to outliers or to a wrong equation",
    source="one false alarm in a thousand",
)
DIVERGENT_MOVES = Limit(
    0.01,
    name="share of divergent moves",
    severe=0.1,
    reason="trajectories that diverge leave parts of the posterior out",
    source="convention; Betancourt (2017), arXiv:1701.02434",
)
ACCEPTANCE = Limit(
    0.3,
    name="acceptance rate",
    severe=0.05,
    at_least=True,
    reason="a chain that rejects nearly all moves hardly moves",
    source="convention; optimal rates are .65 (HMC) and .8 (NUTS)",
)
TIGHTNESS = Limit(
    5.0,
    name="tightness of the equation",
    at_least=True,
    reason="errors given to an exact equation widen the band",
    source="errors a fifth of those of the most precise data widen it by a few per cent",
)
UNINFORMED_CONSTANTS = Limit(
    _NONE,
    name="unknowns that the data do not inform",
    severe=_NONE,
    reason="a constant that does not move has an empty interval",
    source="convention",
)
MISSING_DIRECTIONS = Limit(
    0.5,
    name="unknowns beyond the directions that the data inform",
    severe=0.5,
    reason="with fewer informed directions than constants, some combination of them cannot move",
    source="half a direction, as the effective number of parameters is not whole",
)
CONDITION = Limit(
    1e4,
    name="condition of the unknowns' correlation",
    severe=1e5,
    reason="intervals of constants that cannot be told apart depend on the sampler",
    source="for two constants a correlation of .9998; above 1e5 (.99998) the draws lie on a line",
)
CORRELATION = Limit(
    0.99,
    name="correlation of poorly determined unknowns",
    reason="two poorly determined constants that move together are one constant",
    source="problem montroll, whose rate and exponent have a correlation of -.9999",
)
OTHER_SOLUTIONS = Limit(
    _NONE,
    name="other solutions, of {} fits from other guesses",
    severe=_NONE,
    reason="draws are taken around one solution, and intervals cover no other",
    source="convention",
)
AGREEMENT = Limit(
    0.1,
    name="difference from {}, in standard deviations",
    reason="two methods must agree to within their Monte-Carlo error",
    source="as for the linearisation; to the limit come three standard errors of both",
)


def table() -> list[tuple[str, Limit]]:
    """Return all limits under the names of their constants, in the order of this file.

    Example:
        >>> dict(table())["EFFECTIVE_DRAWS"].value
        400.0
    """
    return [(name, value) for name, value in globals().items() if isinstance(value, Limit)]


def to_markdown() -> str:
    """Return the table in Markdown, as docs/limits.md shows it."""
    rows = ["| check | limit | do not trust | reason | source |", "|---|---|---|---|---|"]
    for _, limit in table():
        side = "at least " if limit.at_least else "at most "
        beyond = "below " if limit.at_least else "above "
        columns = [
            limit.name.format(*["..."] * limit.name.count("{}")),
            f"{side}{limit.value:g}",
            "" if limit.severe is None else f"{beyond}{limit.severe:g}",
            limit.reason,
            limit.source,
        ]
        rows.append(f"| {' | '.join(columns)} |")
    return "\n".join(rows) + "\n"
