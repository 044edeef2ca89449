"""Levenberg-Marquardt with the exact groups tightened step by step.

*What is minimised.* The residual rows are of two kinds: noisy rows, in standard errors
of the data, and exact rows (the equation, exact values), each divided by its own scale.
A step lowers

    cost = |noisy rows|^2 + weight^2 |exact rows|^2 + ridge.

``misfit`` is the first term and ``physics`` the sum of squares of the exact rows
without their weight. The ridge pulls the weights of a network towards where the start
began, at a cost of one squared standard error for a change of one, and is there only
where a whole function is free (see ``Model.prior_scale``).

*Tightening the physics.* The unit of the weight is the precision of the data, their
size in standard errors. A start begins at a tenth of it, so that the data lead: with
more, inverse problems end in false solutions. The weight grows tenfold whenever the
present one has had its effect: the fit has converged there, the exact rows cost next to
nothing, no step lowers the cost, or, while the data lead, the data are met. It normally
ends at ``tightness`` times the precision: there, an exact row that is off by one
standard error of the best data costs a hundred squared ones. It grows further only
while data and physics still pull at each other, at most by a factor of a hundred (ten
where points move).

*Unknown noise sizes* are set to their maximum-likelihood values once the physics nearly
holds. Earlier, a network that interpolates the data would drive them to zero and stay
there. Where a whole function is free, the physics never prevents that, so the sizes
keep their first values.

*Convergence.* A step has converged when the misfit no longer changes (``tolerance``;
where there is a ridge, when the cost no longer falls), the weighted exact rows cost
less than ``slack``, and their weight is at least a tenth of its normal end. Three of
these in a row, rejected steps aside, end the phase.

*Moving points.* With two or more coordinates a network can meet the equation at fixed
points and bend between them to follow the data. There the points move in every step
(see ``Model.with_moved_points``) and the cost changes with them, so that a fit never
converges at one weight. Instead the weight grows after a number of steps, and a step
has converged when, at the normal end, the misfit changes by less than a hundredth and
noise parameters by less than a thousandth, and the exact rows cost little.

*Several starts.* A start is given up for another random one when no step lowers the
cost although the weight is at its end; when it has converged where the data are too far
away for errors of known size; or when it has had its share of the steps and has neither
converged nor met the data. If all starts fail, the fit is the best of them by the
likelihood with the weight at its normal end.

``_lm_step.py`` takes a step, ``_lm_continuation.py`` decides on weight, noise sizes and
convergence, and this file on starts.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from ..model.model import Data, Model
from ..model.residuals import log_density
from ..numerics.least_squares import Damping
from ._lm_continuation import CONVERGED_FROM, Continuation
from ._lm_step import LMState, Step, sum_of_squares, take_step
from .base import AbstractCostlyPhase, Info

_FIRST_WEIGHT = 0.1
"""First weight of the exact rows, relative to the precision of the data. With more, the
fits of inverse problems ended in false solutions.
"""
_FIRST_DAMPING = 1.0
"""Damping of the first step of a start (convention: it adapts within a few steps)."""
_DAMPING_AT_NEW_WEIGHT = (1e-8, 1.0)
"""Range into which the damping is brought when the weight grows, since a unit of it
then means something else (convention).
"""
_CONVERGED_STEPS = 3
"""Number of converged steps in a row that end the phase (convention): one may be short
because of the damping.
"""
_SHORTEST_START = 200
"""Smallest number of steps that a start is given (convention)."""
_IMPLAUSIBLE_SDS = 6
"""Number of standard deviations of a chi-square by which an implausible misfit exceeds
its mean (convention: one in a billion for a normal distribution).
"""
_IMPLAUSIBLE_EXTRA = 10
"""What an implausible misfit has beyond that: with few rows a chi-square has heavier
tails than a normal distribution (convention).
"""


class LevenbergMarquardt(AbstractCostlyPhase):
    """Damped Gauss-Newton with geodesic acceleration on all residual rows in float64,
    with continuation in the weight of the physics.

    The strategy (tightening of the physics, noise sizes, convergence, moving points,
    several starts) is told at the top of the module
    ``fiducial.phases.levenberg_marquardt``. Geodesic acceleration saves two steps in
    three on networks, and reaches residuals a hundred times smaller.

    Arguments:
        steps: largest number of steps, of all starts together.
        starts: largest number of starts.
        tightness: last weight of the exact rows, relative to the precision of the data.
        slack: largest cost of the weighted exact rows of a converged fit, in squared
            standard errors.
        tolerance: relative change of the misfit, and decrease of the cost, that count
            as none. Sums of squares below one squared standard error count as one.

    Reference:
        Transtrum, Sethna (2012), Improvements to the Levenberg-Marquardt algorithm for
        nonlinear least-squares minimization, arXiv:1201.5885.
    """

    steps: int
    starts: int = 3
    tightness: float = 10.0
    slack: float = 0.005
    tolerance: float = 1e-4
    name: ClassVar[str] = "lm"
    activity: ClassVar[str] = "fitting"

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> LMState:
        theta = (model.init(key) if previous is None else previous.theta).astype(jnp.float64)
        return self._begin(model, theta, jnp.asarray(0), theta, jnp.asarray(jnp.inf))

    def _begin(
        self, model: Model, theta: Array, start: Array, best: Array, best_cost: Array
    ) -> LMState:
        """Return the state of a new start."""
        largest = jnp.asarray(jnp.finfo(theta.dtype).max)
        zero = jnp.asarray(0)
        return LMState(
            theta=theta,
            origin=theta,
            damping=Damping.at(_FIRST_DAMPING),
            weight=_FIRST_WEIGHT * model.precision(theta),
            misfit=largest,
            steps_at_weight=zero,
            converged_steps=zero,
            steps_in_start=zero,
            start=start,
            best=best,
            # finite also before the first start has ended, because a chain whose state
            # has a value that is not finite counts as diverged
            best_cost=jnp.minimum(best_cost, largest),
        )

    def step(
        self, model: Model, data: Data, state: LMState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[LMState, Info]:
        model = model.with_moved_points(jax.random.fold_in(key, 2))
        rules = Continuation(model, self.tightness, self.slack, self.tolerance)
        step = take_step(model, data, state)
        now = rules.conditions(state, step)
        theta = rules.estimate_noise(data, state, step, now)
        weight = rules.next_weight(theta, state, now)
        grown = weight > state.weight
        damping = step.damping.value
        converged = rules.has_converged(theta, state, step, now)
        new = state._replace(
            theta=theta,
            damping=step.damping._replace(
                value=jnp.where(grown, jnp.clip(damping, *_DAMPING_AT_NEW_WEIGHT), damping)
            ),
            weight=weight,
            misfit=jnp.where(step.accepted, step.misfit, state.misfit),
            steps_at_weight=jnp.where(grown, 0, state.steps_at_weight + 1),
            converged_steps=jnp.where(
                converged,
                state.converged_steps + 1,
                jnp.where(step.accepted, 0, state.converged_steps),
            ),
            steps_in_start=state.steps_in_start + 1,
        )
        stuck_at_last_weight = now.stuck & (weight >= rules.last_weight(theta))
        new = self._next_start(model, data, new, stuck_at_last_weight, key)
        return new, _info(model, state, step)

    def _next_start(
        self, model: Model, data: Data, state: LMState, stuck: Array, key: PRNGKeyArray
    ) -> LMState:
        """Return a fresh start where this one has failed, or the best of all where
        there is none left; else the state as it is.
        """
        rows = model.residuals(state.theta, data)
        failed = self._start_has_failed(model, rows, state, stuck)
        cost = self._final_cost(model, data, rows, state)
        best = jnp.where(cost < state.best_cost, state.theta, state.best)
        fresh = self._begin(
            model,
            model.init(jax.random.fold_in(key, 1)),
            state.start + 1,
            best,
            jnp.minimum(cost, state.best_cost),
        )
        # a last start that is stuck ends the phase
        given_up = state._replace(
            theta=jnp.where(failed, best, state.theta),
            converged_steps=jnp.where(
                failed,
                jnp.maximum(state.converged_steps, stuck * _CONVERGED_STEPS),
                state.converged_steps,
            ),
        )
        more = failed & (state.start < self.starts - 1)
        return jax.tree.map(lambda a, b: jnp.where(more, a, b), fresh, given_up)

    def _start_has_failed(
        self, model: Model, rows: dict[str, Array], state: LMState, stuck: Array
    ) -> Array:
        """Return whether a start is to be given up; ``stuck`` says that no step lowers
        the cost at the last weight.
        """
        known = [g for g in model.groups if not g.exact and not model.size_unknown(g)]
        count = sum(g.row_count for g in known)
        largest = count + _IMPLAUSIBLE_SDS * jnp.sqrt(2.0 * count) + _IMPLAUSIBLE_EXTRA
        implausible = sum_of_squares(rows[g.name] for g in known) > largest
        # data that are met while the physics is tightened are nearly there: another
        # start would have to come as far again
        nearly_there = (
            bool(known)
            & ~implausible
            & (state.weight >= CONVERGED_FROM * self.tightness * model.precision(state.theta))
        )
        out_of_steps = state.steps_in_start >= max(_SHORTEST_START, self.steps // self.starts)
        converged = self.done(state)
        return stuck | (converged & implausible) | (out_of_steps & ~converged & ~nearly_there)

    def _final_cost(
        self, model: Model, data: Data, rows: dict[str, Array], state: LMState
    ) -> Array:
        """Return minus twice the log-likelihood with the physics at its last weight, by
        which starts are compared.
        """
        physics = sum_of_squares(rows[g.name] for g in model.groups if g.exact)
        noise = model.noise(state.theta)
        # what the noise sizes add to the likelihood: its value at a residual of zero
        added = jnp.asarray(0.0)
        for g in model.groups:
            y = data[g.name]
            if g.linear_gaussian:
                added -= 2 * log_density(g, y, y, noise[g.name])
            elif not g.exact:
                mean = model.observed_means(state.theta, [g])[g.name]
                added -= 2 * log_density(g, mean, y, noise[g.name]) + jnp.sum(rows[g.name] ** 2)
        weight = self.tightness * model.precision(state.theta)
        return state.misfit + weight**2 * physics + added

    def done(self, state: LMState) -> Bool[Array, ""]:
        return state.converged_steps >= _CONVERGED_STEPS


def _info(model: Model, state: LMState, step: Step) -> Info:
    """Return the numbers of a step that a person looks at."""
    exact_rows = sum(g.site_count for g in model.groups if g.exact)
    of_trial = {
        "loss": step.cost,
        "misfit": step.misfit,
        "physics": jnp.sqrt(step.physics / jnp.maximum(1, exact_rows)),
    }
    return {
        **{name: jnp.where(step.accepted, v, jnp.nan) for name, v in of_trial.items()},
        "weight": state.weight,
        "damping": state.damping.value,
    }
