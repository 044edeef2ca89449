"""When the Levenberg-Marquardt phase raises the weight of the exact rows, lets noise
sizes follow the fit, and has converged.

The strategy is told in ``levenberg_marquardt.py``. What a step shows is condensed into
``Conditions``, each computed in one place, and every decision is a function of those.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..model.model import Data, Model
from ._lm_step import DAMPING_RULE, LMState, Step

_WEIGHT_FACTOR = 10
"""Factor by which the weight grows (convention)."""
_FURTHEST = 100.0
"""Where data and physics pull at each other, the weight may grow by this factor beyond
its usual end (convention).
"""
_FURTHEST_MOVING = 10
"""Where points move and the equation is met at little cost, the weight may grow by this
factor beyond its usual end, to hold the equation more firmly before the fit ends
(convention).
"""
_NEGLIGIBLE = 0.1
"""Weighted exact rows that cost less than this, in squared standard errors, no longer
pull at the data (convention).
"""
_NOISE_FOLLOWS = 0.3
"""Noise sizes follow the fit from this share of the last weight on: within the last
tenfold step (convention).
"""
_MET = 1.0
"""Misfit for each noisy row below which the data are met: the mean of a chi-square."""
_MET_WITH_PILOT_SIZE = 10.0
"""Misfit for each noisy row below which the data are met where a noise size is unknown:
its pilot value may be three times too small.
"""
_FLAT = 0.01
"""Share of ``tolerance`` below which a decrease of the cost is none at all, so that an
equation that is not met yet needs more weight (convention).
"""
CONVERGED_FROM = 0.1
"""Share of the last weight from which on a fit may converge (convention)."""
_STEPS_PER_WEIGHT = 15
"""Where points move, the weight grows after this number of steps (convention)."""
_MOVING_TOLERANCE = 100
"""Where points move, the misfit may change by this number of tolerances in a converged
fit, since the points change it in every step (convention).
"""
_MOVING_NOISE_TOLERANCE = 10
"""Where points move, a noise parameter may change by this number of tolerances in a
converged fit (convention).
"""
_LARGEST_MOVING_COST = 0.5
"""Where points move, the weighted exact rows of a converged fit cost less than this, in
squared standard errors. The scratch assays set it (``benchmarks/scratch.py``): their
fits creep on for long while the misfit hardly changes.
"""
_LONGEST_AT_LAST_WEIGHT = 10 * _STEPS_PER_WEIGHT
"""Where points move, the exact rows may cost more after this number of steps at one
weight, since the cost of some problems does not fall any further (convention).
"""


class Conditions(NamedTuple):
    """What a step shows about the fit at the present weight. All but ``stuck`` hold
    after accepted steps only.

    Attributes:
        converged_here: the relative decrease of the cost was less than ``tolerance``.
        flat: it was less than a hundredth of ``tolerance``.
        physics_negligible: the exact rows cost so little that this weight no longer
            pulls at the data.
        physics_within_slack: the exact rows cost less than ``slack``, as they must in
            the end.
        data_met: the misfit is no larger than errors of the data explain.
        had_its_steps: points move, and this weight has had its number of steps.
        stuck: the damping is at its largest, no step lowers the cost.
    """

    converged_here: Bool[Array, ""]
    flat: Bool[Array, ""]
    physics_negligible: Bool[Array, ""]
    physics_within_slack: Bool[Array, ""]
    data_met: Bool[Array, ""]
    had_its_steps: Bool[Array, ""]
    stuck: Bool[Array, ""]


class Continuation(NamedTuple):
    """The decisions of the phase, for one model.

    Attributes:
        model: the problem made computable.
        tightness: last weight of the exact rows, relative to the precision of the data.
        slack: largest cost of the weighted exact rows of a converged fit.
        tolerance: change of the misfit, and decrease of the cost, that count as none.
    """

    model: Model
    tightness: float
    slack: float
    tolerance: float

    def conditions(self, state: LMState, step: Step) -> Conditions:
        """Return what a step shows about the fit at the present weight."""
        model = self.model
        accepted = step.accepted
        noisy_rows = sum(g.row_count for g in model.groups if not g.exact)
        size_unknown = any(model.size_unknown(g) for g in model.groups)
        largest_misfit = (_MET_WITH_PILOT_SIZE if size_unknown else _MET) * jnp.maximum(
            1, noisy_rows
        )
        size = 1 + step.cost
        had_its_steps = model.points_may_move & (state.steps_at_weight >= _STEPS_PER_WEIGHT)
        return Conditions(
            converged_here=accepted & (step.decrease < self.tolerance * size),
            flat=accepted & (step.decrease < _FLAT * self.tolerance * size),
            physics_negligible=accepted & (step.physics_cost < _NEGLIGIBLE),
            physics_within_slack=accepted & (step.physics_cost < self.slack),
            data_met=accepted & (step.misfit < largest_misfit),
            had_its_steps=accepted & had_its_steps,
            stuck=step.damping.value >= DAMPING_RULE.largest,
        )

    def estimate_noise(
        self, data: Data, state: LMState, step: Step, now: Conditions
    ) -> Float[Array, " p"]:
        """Return the parameters after a step, unknown noise sizes estimated from the
        fit where the physics nearly holds.
        """
        model, theta = self.model, step.theta
        if model.has_free_function:
            return theta
        fits = now.converged_here | now.physics_negligible
        fits |= step.accepted & model.points_may_move
        nearly_last = state.weight >= _NOISE_FOLLOWS * self.tightness * model.precision(theta)
        return jnp.where(fits & nearly_last, model.estimate_noise(theta, data), theta)

    def last_weight(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the usual end of the weight, for the noise sizes of these
        parameters.
        """
        return self.tightness * self.model.precision(theta)

    def next_weight(
        self, theta: Float[Array, " p"], state: LMState, now: Conditions
    ) -> Float[Array, ""]:
        """Return the weight of the exact rows for the next step: ten times the present
        one where nothing more is to be had at that.
        """
        weight = state.weight
        last = self.last_weight(theta)
        data_lead = weight < self.model.precision(theta)
        nothing_left = (
            now.converged_here
            | now.physics_negligible
            | now.stuck
            | now.had_its_steps
            | (now.data_met & data_lead)
        )
        if self.model.points_may_move:
            furthest = _FURTHEST_MOVING * last
            more_is_needed = now.had_its_steps & now.physics_negligible
        else:
            furthest = _FURTHEST * last
            more_is_needed = (now.converged_here & ~now.physics_negligible) | (
                now.flat & ~now.physics_within_slack
            )
        towards_last = (weight < last) & nothing_left
        beyond_last = (weight >= last) & (weight < furthest) & more_is_needed
        return jnp.where(
            towards_last,
            jnp.minimum(_WEIGHT_FACTOR * weight, last),
            jnp.where(beyond_last, _WEIGHT_FACTOR * weight, weight),
        )

    def has_converged(
        self, theta: Float[Array, " p"], state: LMState, step: Step, now: Conditions
    ) -> Bool[Array, ""]:
        """Return whether the fit has converged as a whole, not only at this weight."""
        model = self.model
        last = self.last_weight(theta)
        change = jnp.abs(state.misfit - step.misfit) / (1 + step.misfit)
        if not model.points_may_move:
            physics_holds = now.physics_within_slack & (state.weight >= CONVERGED_FROM * last)
            # the ridge's cost may still fall while the misfit stays as it is
            steady = now.converged_here if model.has_free_function else change < self.tolerance
            return physics_holds & steady
        noise_change = jnp.abs((theta - state.theta)[model.noise_slice])
        steady = (change < _MOVING_TOLERANCE * self.tolerance) & jnp.all(
            noise_change < _MOVING_NOISE_TOLERANCE * self.tolerance
        )
        long_enough = state.steps_at_weight >= 2 * _STEPS_PER_WEIGHT
        # the misfit of a fit that creeps on hardly changes; the cost of its physics
        # tells
        cheap_enough = (step.physics_cost < _LARGEST_MOVING_COST) | (
            state.steps_at_weight >= _LONGEST_AT_LAST_WEIGHT
        )
        return step.accepted & (state.weight >= last) & long_enough & steady & cheap_enough
