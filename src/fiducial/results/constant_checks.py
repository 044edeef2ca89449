"""Checks of the unknown constants: do the data inform each, and is there one solution
only?
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import limits
from ..checks import Check
from ..posing.unknowns import Interval, Positive
from .drawn_constants import (
    ConstantDraws,
    constant_draws,
    correlated_pairs,
    describe_pair,
    doubtful_pairs,
    move_together,
)
from .multistart import EXCESS, OTHER

if TYPE_CHECKING:
    from .result import Result

_STUCK = 0.01
"""Standard deviation of the logarithm below which a positive constant at its limit is
stuck there; ten times as much where draws fail, as they would have to pass zero."""
_AT_LIMIT = 1e-3
"""Largest distance from the end of a range, relative to the range or the guess, at
which a constant is at its limit.
"""


def identifiability_checks(result: "Result") -> list[Check]:
    """Check that the data inform every constant and tell the constants apart."""
    found = constant_draws(result)
    if found is None:
        return []
    stuck = _stuck(result, found)
    if stuck.any():
        return [_uninformed(result, found, stuck)]
    if not correlated_pairs(found):
        return []
    checks = []
    if "effective_parameters" in result.facts:
        checks.append(_missing_directions(result.facts["effective_parameters"], len(found.names)))
    return [*checks, _condition(found), _poorly_determined_together(found)]


def _stuck(result: "Result", found: ConstantDraws) -> np.ndarray:
    """Return which components are fixed, or hardly move at the limit of their range."""
    failed = result.facts.get("failed_draws", 0.0)
    little = _STUCK if failed <= limits.FAILED_DRAWS.value else 10 * _STUCK
    hardly = found.positive & (found.scaled.std(axis=0) < little)
    at_limit = np.array([_limit_reached(result, name) is not None for name in found.names])
    return found.fixed | (hardly & at_limit)


def _uninformed(result: "Result", found: ConstantDraws, stuck: np.ndarray) -> Check:
    names = list(dict.fromkeys(n for n, s in zip(found.names, stuck, strict=True) if s))
    meaning = f"the data do not inform {', '.join(names)}, whose interval is empty"
    advice = "fix its value, or measure something that depends on it"
    reached = {n: at for n in names if (at := _limit_reached(result, n)) is not None}
    if reached:
        meaning = "; ".join(
            f"{n} went to its limit {at:g} and stuck there: the data ask for a value beyond it"
            for n, at in reached.items()
        )
        advice = (
            "widen its range (Real in place of Positive), or give another guess if the fit is a"
            " local minimum"
        )
    return limits.UNINFORMED_CONSTANTS.check(float(stuck.sum()), meaning, advice)


def _missing_directions(informed: float, count: int) -> Check:
    missing = max(0.0, count - informed) if math.isfinite(informed) else math.inf
    return limits.MISSING_DIRECTIONS.check(
        missing,
        f"of {count} unknowns the data inform {_combinations(informed)} only; the rest depends on"
        " the start or on what the network can represent, and its intervals are too narrow",
        "fix an unknown, measure what depends on it, or give a wider network and more collocation"
        " points",
    )


def _combinations(number: float) -> str:
    return "one combination" if round(number) == 1 else f"{number:.0f} combinations"


def _condition(found: ConstantDraws) -> Check:
    values, vectors = np.linalg.eigh(np.corrcoef(found.scaled.T))
    combination = ", ".join(
        f"{v:+.2f} {label}"
        for label, v in zip(found.names, vectors[:, 0], strict=True)
        if abs(v) > 0.1
    )
    return limits.CONDITION.check(
        float(values[-1] / max(values[0], 1e-300)),
        f"the data hardly tell the unknowns apart: they poorly determine the combination"
        f" ({combination})",
        "fix one of them, or measure where they differ",
    )


def _poorly_determined_together(found: ConstantDraws) -> Check:
    doubtful = doubtful_pairs(found)
    tied = "; ".join(describe_pair(found, p) for p in doubtful if move_together(p))
    return limits.CORRELATION.check(
        abs(doubtful[0].correlation) if doubtful else 0.0,
        f"{tied}: the data determine each given the other, but hardly either by itself",
        "fix one of them, or measure something that depends on only one of them",
    )


def multistart_checks(result: "Result") -> list[Check]:
    """Check that fits from other guesses found the same constants, or fit worse."""
    if "multistart" not in result.tree.children:
        return []
    found = result.tree["multistart"].to_dataset()
    others = found.isel(start=np.flatnonzero(found[OTHER]))
    meaning = ""
    if others.sizes["start"]:
        best = others.isel(start=int(np.argmin(others[EXCESS].values)))
        there = ", ".join(
            f"{name} = {np.array2string(best[name].values, precision=4)}"
            for name in result.problem.unknowns
        )
        excess = float(best[EXCESS])
        kind = "better (give it as the guesses)" if excess < -1 else "as well"
        meaning = (
            f"at {there} another solution fits the data {kind} (-2 log likelihood {excess:+.2g}),"
            " and the intervals cover one solution only"
        )
    return [
        limits.OTHER_SOLUTIONS.check(
            float(others.sizes["start"]),
            meaning,
            "exclude the others by the ranges of the unknowns, Interval(low, high), or measure"
            " something that tells them apart",
            of=(found.sizes["start"],),
        )
    ]


def _limit_reached(result: "Result", name: str) -> float | None:
    """Return the end of an unknown's range that its estimate has come up to, if any."""
    unknown, value = result.problem.unknowns[name], np.asarray(result.tree["estimate"][name])
    if isinstance(unknown, Interval):
        reach = _AT_LIMIT * (unknown.upper - unknown.lower)
        ends = (unknown.lower, unknown.upper)
        return next((at for at in ends if (np.abs(value - at) < reach).any()), None)
    near = isinstance(unknown, Positive) and (value < _AT_LIMIT * unknown.guess).any()
    return 0.0 if near else None
