"""Damped Gauss-Newton steps (Levenberg-Marquardt), shared by all that fit.

Everything that lowers a sum of squares in this package takes its steps in the same
way:

1. *Linearise*: rows r and their negated Jacobian J at the present parameters.
2. *Damp*: factor ``J^T J + cost``; the cost is the damping, relative to the mean
   squared row of J, plus a ridge where there is one (``normal_equations``).
3. *Propose* a trial: the step of the linear model, corrected for the curvature of the
   rows (``propose``).
4. *Judge* it by the cost there: a trial that lowers the cost is accepted, and the
   damping follows the gain ratio, the decrease of the cost over the decrease that the
   linear model predicted (``judge``).

When to stop, and what else changes between steps, is up to the caller.

References:
    Madsen, Nielsen, Tingleff (2004), Methods for non-linear least squares problems,
    Technical University of Denmark, for the gain ratio and the rule for the damping.

    Transtrum, Sethna (2012), Improvements to the Levenberg-Marquardt algorithm for
    nonlinear least-squares minimization, arXiv:1201.5885, for geodesic acceleration.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..device import apply_if
from ..model.model import Data, Model
from ..posing.groups import Group
from .linear_systems import NormalEquations

_FIRST_GROWTH = 2.0
"""Factor for the damping after a first failure; each further one doubles it (Nielsen's
rule).
"""
_STRONGEST_RELAXATION = 1 / 3
"""Smallest factor for the damping after a success (Nielsen's rule)."""
_LARGEST_ACCELERATION = 0.25
"""A correction for curvature is dropped when its squared length exceeds this share of
the step's, that is, when it is half as long (Transtrum and Sethna bound twice the
ratio by 0.75; ours, by 1, is the convention that all experiments here used).
"""


def stack_rows(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> Float[Array, " m"]:
    """Return all residual rows, those of exact groups last and multiplied by their
    weight.
    """
    rows = model.residuals(theta, data)
    return jnp.concatenate(
        [rows[g.name] * (exact_weight if g.exact else 1.0) for g in _noisy_first(model)]
    )


def stack_linearisation(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
    """Return the rows of ``stack_rows`` and their negated Jacobian, which is that of
    the means.
    """
    parts = model.rows_and_jacobians(theta, data)
    weights = [(g.name, exact_weight if g.exact else 1.0) for g in _noisy_first(model)]
    rows = jnp.concatenate([parts[name][0] * weight for name, weight in weights])
    jacobian = jnp.concatenate([parts[name][1] * weight for name, weight in weights])
    return rows, jacobian


def _noisy_first(model: Model) -> list[Group]:
    return sorted(model.groups, key=lambda g: g.exact)


class Ridge(NamedTuple):
    """A quadratic cost of leaving given parameters, ``sum(cost (theta - origin)^2)``.

    Attributes:
        cost: one cost for all parameters, or one for each.
        origin: the parameters that cost nothing.
    """

    cost: Float[Array, "*p"]
    origin: Float[Array, " p"]

    def at(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the cost of these parameters."""
        return jnp.sum(self.cost * (theta - self.origin) ** 2)


class Trial(NamedTuple):
    """A step that has not been accepted yet.

    Attributes:
        theta: the parameters after the step, its correction for curvature included.
        move: the step of the linear model.
        predicted: decrease of the cost that the linear model predicts for ``move``.
    """

    theta: Float[Array, " p"]
    move: Float[Array, " p"]
    predicted: Float[Array, ""]


def propose(
    theta: Float[Array, " p"],
    residual: Float[Array, " m"],
    system: NormalEquations,
    *,
    ridge: Ridge | None = None,
    second_derivative: Callable[[Float[Array, " p"]], Float[Array, " m"]] | None = None,
    accelerate: Bool[Array, ""] | None = None,
) -> Trial:
    """Return the damped Gauss-Newton step for ``|r|^2``, plus a ridge.

    Arguments:
        theta: where the step starts.
        residual: the rows r at theta.
        system: normal equations with the negated Jacobian of the rows; their cost
            contains the ridge's.
        ridge: the ridge. With one, ``system`` has a cost for each parameter or for
            all as the ridge has.
        second_derivative: the second derivative of the rows along a step, for geodesic
            acceleration; None to leave that out.
        accelerate: whether to accelerate this step; always by default.

    Example:
        >>> from fiducial.numerics.linear_systems import normal_equations
        >>> system = normal_equations(jnp.array([[2.0]]), jnp.asarray(0.0))
        >>> propose(jnp.array([1.0]), jnp.array([3.0]), system).theta.tolist()
        [2.5]
    """
    jacobian = system.jacobian
    if ridge is None:
        move = system.solve(residual)
        predicted = jnp.sum(residual**2) - jnp.sum((residual - jacobian @ move) ** 2)
    else:
        displacement = theta - ridge.origin
        pull = ridge.cost / system.cost * displacement
        move = system.solve(residual + jacobian @ pull) - pull
        predicted = (
            jnp.sum(residual**2)
            - jnp.sum((residual - jacobian @ move) ** 2)
            - jnp.sum(ridge.cost * move * (move + 2 * displacement))
        )
    if second_derivative is None:
        return Trial(theta + move, move, predicted)

    def accelerated(move: Float[Array, " p"]) -> Float[Array, " p"]:
        return follow_curvature(move, system.solve(0.5 * second_derivative(move)))

    whole = accelerated(move) if accelerate is None else apply_if(accelerate, accelerated, move)
    return Trial(theta + whole, move, predicted)


def follow_curvature(
    move: Float[Array, " p"], correction: Float[Array, " p"]
) -> Float[Array, " p"]:
    """Add the correction for curvature to a step, unless it is more than half as long
    (geodesic acceleration).

    Example:
        >>> move = jnp.array([1.0])
        >>> [float(follow_curvature(move, c * move)[0]) for c in (0.25, 0.75)]
        [1.25, 1.0]
    """
    small = jnp.sum(correction**2) < _LARGEST_ACCELERATION * jnp.sum(move**2)
    return move + jnp.where(small, correction, 0.0)


def curvature(
    rows: Callable[[Float[Array, " p"]], Float[Array, " m"]],
    theta: Float[Array, " p"],
    along: Float[Array, " p"],
) -> Float[Array, " m"]:
    """Return the second derivative of the rows along a direction.

    Example:
        >>> curvature(lambda t: t**3, jnp.array([2.0]), jnp.array([1.0])).tolist()
        [12.0]
    """

    def first_derivative(t: Float[Array, " p"]) -> Float[Array, " m"]:
        return jax.jvp(rows, (t,), (along,))[1]

    return jax.jvp(first_derivative, (theta,), (along,))[1]


class Damping(NamedTuple):
    """The damping of steps, relative to the mean squared row of the Jacobian.

    Attributes:
        value: damping of the next step.
        growth: factor for it after the next failure, for rules that change it.
    """

    value: Float[Array, ""]
    growth: Float[Array, ""]

    @classmethod
    def at(cls, value: float) -> "Damping":
        """Return a damping to begin with."""
        return cls(jnp.asarray(value), jnp.asarray(_FIRST_GROWTH))


class NielsenRule(NamedTuple):
    """Relax by how well the linear model predicted; tighten by 2, 4, 8, ... after
    failures in a row.

    Attributes:
        smallest: smallest damping.
        largest: largest damping.

    Example:
        >>> failed = jnp.asarray(False), jnp.asarray(0.0)
        >>> [float(v) for v in NielsenRule(0.0, 10.0).adapt(Damping.at(1.0), *failed)]
        [2.0, 4.0]
    """

    smallest: float
    largest: float

    def adapt(self, damping: Damping, accepted: Bool[Array, ""], gain: Array) -> Damping:
        """Return the damping of the next step."""
        relaxed = damping.value * jnp.maximum(_STRONGEST_RELAXATION, 1 - (2 * gain - 1) ** 3)
        raised = damping.value * damping.growth
        value = jnp.clip(jnp.where(accepted, relaxed, raised), self.smallest, self.largest)
        return Damping(value, jnp.where(accepted, _FIRST_GROWTH, 2 * damping.growth))


class FixedFactors(NamedTuple):
    """Multiply the damping by one factor after a success and by another after a
    failure, whatever the gain ratio.

    Attributes:
        success: factor after a success.
        failure: factor after a failure.
        smallest: smallest damping.

    Example:
        >>> rule, succeeded = FixedFactors(0.5, 4.0, 0.0), jnp.asarray(True)
        >>> float(rule.adapt(Damping.at(1.0), succeeded, jnp.asarray(1.0)).value)
        0.5
    """

    success: float
    failure: float
    smallest: float

    def adapt(self, damping: Damping, accepted: Bool[Array, ""], gain: Array) -> Damping:
        """Return the damping of the next step."""
        del gain
        factor = jnp.where(accepted, self.success, self.failure)
        return damping._replace(value=jnp.maximum(damping.value * factor, self.smallest))


class Verdict(NamedTuple):
    """Whether a trial is accepted, and how to damp the next step.

    Attributes:
        accepted: whether the trial lowers the cost; never where that is not finite.
        damping: of the next step.
    """

    accepted: Bool[Array, ""]
    damping: Damping

    def choose(self, trial: Any, present: Any) -> Any:
        """Return the trial's arrays where it is accepted, the present ones
        otherwise.
        """
        return jax.tree.map(lambda new, old: jnp.where(self.accepted, new, old), trial, present)


def judge(
    trial: Trial,
    *,
    before: Float[Array, ""],
    after: Float[Array, ""],
    damping: Damping,
    rule: NielsenRule | FixedFactors,
) -> Verdict:
    """Accept a trial that lowers the cost, and adapt the damping.

    Arguments:
        trial: the trial.
        before: cost of the present parameters.
        after: cost of the trial's.
        damping: of the step that was tried.
        rule: how the damping follows success or failure and the gain ratio, the
            decrease of the cost over the predicted one.

    Example:
        >>> trial = Trial(jnp.zeros(1), jnp.zeros(1), predicted=jnp.asarray(1.0))
        >>> costs = {"before": jnp.asarray(1.0), "after": jnp.asarray(2.0)}
        >>> rule = NielsenRule(smallest=0.0, largest=10.0)
        >>> bool(judge(trial, **costs, damping=Damping.at(1.0), rule=rule).accepted)
        False
    """
    accepted = after < before  # false for a trial that is not finite
    gain = (before - after) / trial.predicted
    return Verdict(accepted, rule.adapt(damping, accepted, gain))
