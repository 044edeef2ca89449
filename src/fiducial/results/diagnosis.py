"""The verdict on a result, from checks that need no knowledge of the truth."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import limits
from ..checks import Check, statement
from .constant_checks import identifiability_checks, multistart_checks
from .data_checks import chain_checks, group_checks

if TYPE_CHECKING:
    from .result import Result


@dataclass(frozen=True)
class Diagnosis:
    """All checks of a result, and the verdict that follows from them.

    Example:
        ``result.diagnose().verdict`` is ``"trust"``, ``"caution"`` or ``"do not trust"``.
    """

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """``trust``, ``caution`` or ``do not trust``."""
        failed = [c for c in self.checks if not c.ok]
        if any(c.severe for c in failed):
            return "do not trust"
        return "caution" if failed else "trust"

    @property
    def reasons(self) -> list[str]:
        """For each failed check, what it means and what to do."""
        return [c.reason for c in self.checks if not c.ok]

    def __str__(self) -> str:
        reasons = [f"  - {reason}" for reason in self.reasons]
        return "\n".join(
            [f"verdict: {self.verdict}", *reasons, *(f"  {check}" for check in self.checks)]
        )

    def __repr__(self) -> str:
        return str(self)


def diagnose(result: "Result", against: Sequence["Result"] = ()) -> Diagnosis:
    """Run every check that applies to a result, and compare it with other results of the
    same problem.
    """
    own = [Check(**stored) for stored in json.loads(result.tree.attrs.get("checks", "[]"))]
    checks = [*chain_checks(result), *group_checks(result), *own]
    checks += [*identifiability_checks(result), *multistart_checks(result), _has_interval(result)]
    return Diagnosis((*checks, *(_agreement(result, other) for other in against)))


def _has_interval(result: "Result") -> Check:
    reason = result.no_interval
    return statement("has intervals", ok=reason is None, severe=False, meaning=reason or "")


def _agreement(result: "Result", other: "Result") -> Check:
    """Compare means and standard deviations of outputs and constants with those of another
    result, in standard deviations, as far as the number of draws allows.
    """
    if result.draws is None or other.draws is None:
        raise ValueError(
            f"diagnose: {result.method} and {other.method} cannot be compared, because one of them"
            " has no draws"
        )
    (mean, sd, _), (other_mean, other_sd, least) = _moments(result), _moments(other)
    if sd.shape != other_sd.shape:
        raise ValueError(
            f"diagnose: the results of {result.method} and {other.method} are not of the same"
            " problem"
        )
    known = other_sd > least
    unit = np.where(known, other_sd, 1.0)
    difference = np.maximum(np.abs(mean - other_mean) / unit, np.abs(sd / unit - 1))
    finite = all(np.isfinite(v).all() for v in (mean, sd, other_mean, other_sd))
    error = math.sqrt(sum(1 / max(1.0, _effective(one)) for one in (result, other)))
    return limits.AGREEMENT.check(
        float(np.max(np.where(known, difference, 0.0))) if finite else math.inf,
        f"{result.method} and {other.method} differ by more than their Monte-Carlo errors, so at"
        " least one of them is off",
        "trust the narrower interval of neither; see the checks of both",
        of=(other.method,),
        limit=limits.AGREEMENT.value + 3 * error,
    )


def _moments(result: "Result") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means and standard deviations, over a coarse grid and of the constants, and
    the standard deviations below which they are not compared.
    """
    band, constants = result.band(result.grid(11)), result.parameters()
    mean, sd = (
        np.concatenate([band[what].values.ravel(), constants[what].to_numpy()])
        for what in ("mean", "sd")
    )
    # next to an exact value the standard deviation is mostly numerical error
    least = np.broadcast_to(0.01 * band["sd"].max("point"), band["sd"].T.shape).T.ravel()
    return mean, sd, np.concatenate([least, np.zeros(len(constants))])


def _effective(result: "Result") -> float:
    """Return the effective sample size, or the number of draws where it is not known."""
    draws = result.draws
    assert draws is not None
    return result.facts.get("effective_draws", draws.sizes["chain"] * draws.sizes["draw"])
