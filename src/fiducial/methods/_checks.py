"""Checks that several methods share, each of one fact."""

from .. import limits
from ..checks import Check


def failed_draws(share: float) -> Check:
    """Check the share of draws that have no solution."""
    return limits.FAILED_DRAWS.check(
        "share of draws that failed",
        share,
        "too many draws have no solution, so the tails are cut: the model cannot explain what"
        " the errors ask for, or a constant would have to leave its range (a positive one pass"
        " zero)",
        "fix a constant, or give more data",
    )


def effective_draws(count: float) -> Check:
    """Check that the draws are worth enough independent ones."""
    return limits.EFFECTIVE_DRAWS.check(
        "effective draws",
        count,
        f"the draws are worth {count:.0f} independent ones, too few for 95 % limits",
        "give more draws",
    )


def r_hat(value: float) -> Check:
    """Check that the chains agree with each other."""
    return limits.R_HAT.check(
        "R-hat", value, "the chains do not agree with each other", "give more draws or moves"
    )


def effective_parameters(count: float) -> Check:
    """Check that the data decide anything at all."""
    return limits.EFFECTIVE_PARAMETERS.check(
        "effective parameters",
        count,
        "the equation and the exact values leave nothing for the data to decide, so bands have no"
        " width",
        "is an edge meant to be free?",
    )


def width_change(change: float) -> Check:
    """Check that widths do not depend on the damping."""
    return limits.WIDTH_CHANGE.check(
        "change of widths with the damping",
        change,
        "the widths depend on how firmly the network is held, not on the data alone",
        "measure where the solution is free",
    )


def tightness(value: float) -> Check:
    """Check that the errors given to an exact equation are small beside those of the data."""
    return limits.TIGHTNESS.check(
        "tightness of the equation",
        value,
        "the equation was given errors that are not small beside those of the data, and the band"
        " is wider for it",
        "give a smaller sigma_f",
    )


def dropout_rate(rate: float) -> Check:
    """Say that the width of a band follows from the dropout rate."""
    return Check(
        name="dropout rate",
        value=rate,
        limit=None,
        ok=False,
        severe=False,
        meaning="the width of the band follows from the rate, which the data do not determine",
        advice="compare with efi-direct",
    )
