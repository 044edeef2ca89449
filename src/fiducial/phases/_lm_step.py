"""One step of the Levenberg-Marquardt phase at a given weight of the exact rows."""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..model.model import Data, Model
from ..numerics.least_squares import (
    Damping,
    NielsenRule,
    Ridge,
    curvature,
    judge,
    propose,
    stack_linearisation,
    stack_rows,
)
from ..numerics.linear_systems import damping_cost, normal_equations

DAMPING_RULE = NielsenRule(smallest=1e-14, largest=1e6)
"""At the largest damping a step moves next to nothing, at the smallest it is undamped
to within the rounding of float64 (convention).
"""


class LMState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        origin: where this start began; the ridge of a free function pulls towards it.
        damping: damping of the next step.
        weight: present weight of the exact rows.
        misfit: sum of squares of the noisy rows.
        steps_at_weight: steps since the weight has changed.
        converged_steps: number of converged steps in a row.
        steps_in_start: steps since this start began.
        start: number of this start, from 0.
        best: parameters of the best start before this one.
        best_cost: its cost.
    """

    theta: Float[Array, " p"]
    origin: Float[Array, " p"]
    damping: Damping
    weight: Float[Array, ""]
    misfit: Float[Array, ""]
    steps_at_weight: Int[Array, ""]
    converged_steps: Int[Array, ""]
    steps_in_start: Int[Array, ""]
    start: Int[Array, ""]
    best: Float[Array, " p"]
    best_cost: Float[Array, ""]


class Step(NamedTuple):
    """What one step led to; the sums of squares are those at the trial, accepted or
    not.

    Attributes:
        theta: the parameters after the step.
        accepted: whether the trial lowered the cost.
        damping: damping of the next step.
        decrease: of the cost.
        cost: of the trial.
        misfit: sum of squares of the noisy rows.
        physics: sum of squares of the exact rows, without their weight.
        physics_cost: the same with the weight.
    """

    theta: Float[Array, " p"]
    accepted: Bool[Array, ""]
    damping: Damping
    decrease: Float[Array, ""]
    cost: Float[Array, ""]
    misfit: Float[Array, ""]
    physics: Float[Array, ""]
    physics_cost: Float[Array, ""]


def take_step(model: Model, data: Data, state: LMState) -> Step:
    """Take one damped Gauss-Newton step at the present weight."""
    residual, jacobian = stack_linearisation(model, state.theta, data, state.weight)
    ridge = Ridge(jnp.asarray(0.0), state.origin)
    if model.has_free_function:
        ridge = Ridge(1 / jnp.asarray(model.prior_scale) ** 2, state.origin)
    cost = damping_cost(jacobian, state.damping.value) + ridge.cost

    def rows_at(theta: Array) -> Array:
        return stack_rows(model, theta, data, state.weight)

    trial = propose(
        state.theta,
        residual,
        normal_equations(jacobian, cost),
        ridge=ridge,
        second_derivative=lambda move: curvature(rows_at, state.theta, move),
    )
    rows = model.residuals(trial.theta, data)
    misfit = sum_of_squares(rows[g.name] for g in model.groups if not g.exact)
    physics = sum_of_squares(rows[g.name] for g in model.groups if g.exact)
    physics_cost = state.weight**2 * physics
    before = jnp.sum(residual**2) + ridge.at(state.theta)
    after = misfit + physics_cost + ridge.at(trial.theta)
    verdict = judge(trial, before=before, after=after, damping=state.damping, rule=DAMPING_RULE)
    return Step(
        theta=verdict.choose(trial.theta, state.theta),
        accepted=verdict.accepted,
        damping=verdict.damping,
        decrease=before - after,
        cost=after,
        misfit=misfit,
        physics=physics,
        physics_cost=physics_cost,
    )


def sum_of_squares(rows: Iterable[Array]) -> Array:
    """Return the sum of squares of rows in several arrays."""
    return sum((jnp.sum(r**2) for r in rows), start=jnp.asarray(0.0))
