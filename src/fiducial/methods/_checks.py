"""Checks that several methods share, each of one fact."""

from .. import limits
from ..checks import Check, Limit


def failed_draws(share: float) -> Check:
    """Check that few draws are without a solution."""
    return limits.FAILED_DRAWS.check(
        share,
        "too many draws have no solution, so the tails are cut off: the model cannot explain data"
        " with such errors, or a constant would have to leave its range (a positive one would have"
        " to pass zero)",
        "fix a constant, or give more data",
    )


def effective_draws(count: float) -> Check:
    """Check that the effective sample size is large enough for 95 % limits."""
    return limits.EFFECTIVE_DRAWS.check(
        count,
        f"the draws are worth {count:.0f} independent ones, too few for 95 % limits",
        "give more draws (--set method.draws=...)",
    )


def r_hat(value: float) -> Check:
    """Check that the chains have converged to one distribution."""
    return limits.R_HAT.check(
        value,
        "the chains do not agree with each other, so they have not converged",
        "give more draws or moves",
    )


def effective_parameters(count: float) -> Check:
    """Check that the data inform at least one direction."""
    return limits.EFFECTIVE_PARAMETERS.check(
        count,
        "the equation and the exact values leave nothing for the data to decide, so bands have no"
        " width",
        "declare a constant unknown, or leave out an exact value that is not known exactly",
    )


def width_change(change: float) -> Check:
    """Check that widths do not depend on the damping of the fit."""
    return limits.WIDTH_CHANGE.check(
        change,
        "the widths depend on the damping of the network, not on the data alone",
        "measure where the band is widest",
    )


def linear_difference(limit: Limit, value: float, meaning: str, advice: str) -> Check:
    """Check that draws are not far from those of the linear model; methods differ in how
    far they may be.
    """
    return limit.check(value, meaning, advice)


def tightness(value: float) -> Check:
    """Check that the errors given to an exact equation are small beside those of the data."""
    return limits.TIGHTNESS.check(
        value,
        "the errors given to the exact equation are not small beside those of the data, which"
        " widens the band",
        "give a smaller sigma_f (--set method.sigma_f=...)",
    )


def dropout_rate(rate: float) -> Check:
    """Warn that the width of the band follows from the dropout rate."""
    return Check(
        name="dropout rate",
        value=rate,
        limit=None,
        ok=False,
        severe=False,
        meaning="the width of the band follows from the rate, which the data do not determine",
        advice="compare with efi-direct (--against efi-direct)",
    )
