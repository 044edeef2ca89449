"""Checks of a result that need no knowledge of the truth, and a verdict."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .coordinates import Points
from .group import Group

if TYPE_CHECKING:
    from .result import Result

_HELD_OUT = 256


@dataclass(frozen=True)
class Check:
    """One number against its limit.

    Attributes:
        name: what was checked.
        value: what was found, or None when it is not a number.
        limit: the largest value that passes, or None.
        ok: whether it passed.
        severe: whether a failure means that the answer must not be trusted.
        advice: what to do about a failure.
    """

    name: str
    value: float | None
    limit: float | None
    ok: bool
    severe: bool
    advice: str


@dataclass(frozen=True)
class Diagnosis:
    """All checks and what follows from them.

    Example:
        ``result.diagnose().verdict`` is ``"trust"``, ``"caution"`` or ``"do not trust"``.
    """

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """``trust``, ``caution`` or ``do not trust``."""
        failed = [c for c in self.checks if not c.ok]
        return "do not trust" if any(c.severe for c in failed) else "caution" if failed else "trust"

    @property
    def reasons(self) -> list[str]:
        """Why, and what to change."""
        return [f"{c.name}: {c.advice}" for c in self.checks if not c.ok]

    def __str__(self) -> str:
        lines = [f"verdict: {self.verdict}", *(f"  - {reason}" for reason in self.reasons)]
        for c in self.checks:
            value = "" if c.value is None else f" {c.value:.3g}"
            limit = "" if c.limit is None else f" (limit {c.limit:.3g})"
            lines.append(f"  [{'ok' if c.ok else '!!'}] {c.name}{value}{limit}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def diagnose(result: "Result") -> Diagnosis:
    """Run every check that applies to a result."""
    checks = [_status(result)]
    with jax.enable_x64(True):
        theta = result.tree["estimate"]["theta"].values
        checks += [_physics(result, theta, g) for g in result.problem.groups if g.exact]
        checks += [c for g in result.problem.groups if g.physics and g.exact for c in _held_out(result, theta, g)]
        checks += [c for g in result.problem.groups if not g.exact for c in _misfit(result, theta, g)]
    checks.append(_interval(result))
    return Diagnosis(tuple(checks))


def _status(result: "Result") -> Check:
    failed = int(sum(not s.usable for s in result.statuses))
    advice = f"{result.status.message}; try another seed, a smaller step, or look for divisions by zero in the equation"
    return Check("chains that failed", float(failed), 0.0, failed == 0, True, advice)


def _relative(result: "Result", residual: np.ndarray, group: Group) -> float:
    return float(np.sqrt(np.mean(residual**2)) / result.model.scales[group.name])


def _physics(result: "Result", theta: Any, group: Group) -> Check:
    """Exact values are met to a hundredth of their scale."""
    mean = np.asarray(result.model.mean(theta, group))[group.index]
    value = _relative(result, mean - group.y, group)
    advice = "the exact values are not met; use more steps, a wider network, or check that they do not contradict each other"
    return Check(f"residual of exact '{group.name}'", value, 0.01, value <= 0.01, True, advice)


def _held_out(result: "Result", theta: Any, group: Group) -> list[Check]:
    """The equation also holds between its points, where its right-hand side is known to be constant."""
    if np.ptp(group.y) > 0:
        return []
    from .collocation import sobol

    fresh = Points(group.points.names, sobol(_HELD_OUT, seed=1)(result.problem.domain))
    value = _relative(result, np.asarray(result.model.mean(theta, group, fresh)) - group.y[0], group)
    advice = "the equation does not hold between its points; give more collocation points"
    return [Check(f"residual of '{group.name}' at new points", value, 0.03, value <= 0.03, True, advice)]


def _misfit(result: "Result", theta: Any, group: Group) -> list[Check]:
    """Errors of known size are not larger than they should be."""
    if group.noise_unknowns():
        return []
    from scipy.stats import chi2

    z = np.asarray(result.model.errors(theta, {g.name: g.y for g in result.problem.groups})[group.name])
    value, limit = float(np.mean(z**2)), float(chi2.ppf(0.999, z.size) / z.size)
    advice = "the data lie further from the solution than their noise allows; is the sd too small, or the equation not right for them?"
    return [Check(f"misfit of '{group.name}'", value, limit, value <= limit, True, advice)]


def _interval(result: "Result") -> Check:
    reason = result.no_interval
    return Check("has intervals", None, None, reason is None, False, reason or "")
