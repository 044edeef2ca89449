"""Levenberg-Marquardt with the exact groups tightened step by step."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..device import Effort
from ..model.model import Data, Model
from ..numerics.least_squares import (
    adapt_damping,
    curvature,
    ridge_step,
    stack_linearisation,
    stack_rows,
)
from .base import AbstractPhase, Info

_LARGEST_DAMPING = 1e6
_SMALLEST_DAMPING = 1e-14
_QUIET = 3
"""So many settled steps in a row end the phase."""
_PATIENCE = 200
"""A start is given at least so many steps."""
_MOST_TIGHT = 100.0
"""Where data and physics pull at each other, the weight may grow so much beyond its
usual end.
"""
_DWELL = 15
"""Where points of the equation move, a fit is never quite still: after so many steps
at one weight it is tried at the next.
"""
_MOST_COST = 0.5
"""Where points move, the exact rows may add so much to the sum of squares, in
squared standard errors, unless there is no end to it:
"""
_ENDLESS = 10 * _DWELL
"""after so many steps at the last weight they may add more."""
_FIRST_WEIGHT = 0.1
"""Weight of exact rows at the start, relative to the precision of the data."""


class LMState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        origin: where this start began; the ridge of a free function pulls towards it.
        damping: relative to the mean squared row of the Jacobian.
        growth: factor for the damping after the next failure.
        weight: present weight of exact groups.
        misfit: sum of squares of the data rows.
        dwell: steps since the weight has changed.
        quiet: for how many steps the fit has been good enough and still.
        age: steps since this start.
        start: number of this start.
        best: parameters of the best start before this one.
        best_cost: its cost.
    """

    theta: Float[Array, " p"]
    origin: Float[Array, " p"]
    damping: Float[Array, ""]
    growth: Float[Array, ""]
    weight: Float[Array, ""]
    misfit: Float[Array, ""]
    dwell: Int[Array, ""]
    quiet: Int[Array, ""]
    age: Int[Array, ""]
    start: Int[Array, ""]
    best: Float[Array, " p"]
    best_cost: Float[Array, ""]


class LevenbergMarquardt(AbstractPhase):
    """Damped Gauss-Newton on all residual rows in float64, with continuation in the
    physics weight.

    Exact groups enter as rows divided by their own scale and multiplied by a weight. It
    starts at a tenth of the *precision* of the data (their size in standard errors), so
    that the data lead: a start with more weight sticks in false solutions of inverse
    problems. It grows tenfold whenever the fit has settled, the data are met, or the
    physics costs next to nothing, to ``tightness`` times the precision, and further
    where data and physics still pull at each other. The phase is done when the data
    misfit has settled and the weighted physics rows cost less than ``slack``.

    Steps follow the curvature of the model (geodesic acceleration), which on networks
    saves two steps in three and reaches residuals a hundred times smaller.

    In a plane or a space a network can meet the equation at its points and bend between
    them, as the data want it to. There the points move in every step (see
    ``Model.with_moved_points``). Such a fit is never quite still: it goes on to the
    next weight after a number of steps, and is done when the misfit has settled to a
    hundredth at the last and the physics costs next to nothing.

    Where a whole function is free (see ``Model.prior_scale``) a ridge of one pulls weights
    towards their start.

    A start that gets stuck, takes longer than its share of the steps without having met
    the data, or settles where the data are too far from the solution for errors of
    known size is given up for another random one; if all fail, the best is kept.

    Arguments:
        steps: largest number of steps, of all starts together.
        starts: largest number of starts.
        tightness: how firmly exact groups hold at the end.
        slack: what the exact rows may add to the sum of squares, in squared standard
            errors.
        tolerance: change of the data misfit, relative and in squared standard errors,
            that counts as settled.

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
    def record_every(self) -> int:
        return 1

    @property
    def effort(self) -> Effort:
        return Effort.RUNS_SELDOM

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> LMState:
        theta = (model.init(key) if previous is None else previous.theta).astype(jnp.float64)
        return self._begin(model, theta, jnp.asarray(0), theta, jnp.asarray(jnp.inf))

    def _begin(
        self, model: Model, theta: Array, start: Array, best: Array, best_cost: Array
    ) -> LMState:
        far = jnp.asarray(jnp.finfo(theta.dtype).max)
        zero = jnp.asarray(0)
        weight = _FIRST_WEIGHT * model.precision(theta)
        # the cost of no start at all is left finite: a state must be
        return LMState(
            theta,
            theta,
            jnp.asarray(1.0),
            jnp.asarray(2.0),
            weight,
            far,
            zero,
            zero,
            zero,
            start,
            best,
            jnp.minimum(best_cost, far),
        )

    def step(
        self, model: Model, data: Data, state: LMState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[LMState, Info]:
        model = model.with_moved_points(jax.random.fold_in(key, 2))
        residual, jacobian = stack_linearisation(model, state.theta, data, state.weight)
        before = jnp.sum(residual**2)
        exact_rows = sum(len(g.sites) for g in model.groups if g.exact)
        noisy_rows = len(residual) - exact_rows

        # a ridge of one on every weight where a function is free, none elsewhere
        ridge = (
            1 / jnp.asarray(model.prior_scale) ** 2 if model.has_free_function else jnp.asarray(0.0)
        )
        gone = state.theta - state.origin

        def bend(move: Array) -> Array:
            return curvature(lambda t: stack_rows(model, t, data, state.weight), state.theta, move)

        _, trial, predicted = ridge_step(
            residual,
            jacobian,
            state.theta,
            damping=state.damping,
            ridge=ridge,
            gone=gone,
            bend=bend,
        )
        before += jnp.sum(ridge * gone**2)
        rows = model.residuals(trial, data)
        misfit = _sum_of_squares([rows[g.name] for g in model.groups if not g.exact])
        physics = _sum_of_squares([rows[g.name] for g in model.groups if g.exact])
        after = misfit + state.weight**2 * physics + jnp.sum(ridge * (trial - state.origin) ** 2)
        better = after < before  # false for a trial that is not finite
        theta = jnp.where(better, trial, state.theta)

        gain = (before - after) / predicted
        damping, growth = adapt_damping(
            state.damping, state.growth, better, gain, _SMALLEST_DAMPING, _LARGEST_DAMPING
        )
        stuck = damping >= _LARGEST_DAMPING

        still = (before - after < self.tolerance * (1 + after)) & better
        cheap = (state.weight**2 * physics < 0.1) & better
        # Unknown noise sizes follow only once the physics holds: before, a network that
        # interpolates the data would drive them to zero and lock itself in. Where a
        # function is free it always could.
        if not model.has_free_function:
            holds = (still | cheap | (better & model.points_may_move)) & (
                state.weight >= 0.3 * self.tightness * model.precision(theta)
            )
            theta = jnp.where(holds, model.estimate_noise(theta, data), theta)
        last = self.tightness * model.precision(theta)
        paid = state.weight**2 * physics < self.slack
        flat = (before - after < 0.01 * self.tolerance * (1 + after)) & better
        # data that are met to within their errors need no closer look before the
        # physics holds (a pilot value of an unknown size may be three times too small)
        rough = any(model.size_unknown(g) for g in model.groups)
        met = better & (misfit < (10 if rough else 1) * max(1, noisy_rows))
        waited = (state.dwell >= _DWELL) & better & model.points_may_move
        early = (
            still | cheap | stuck | waited | (met & (state.weight < model.precision(theta)))
        ) & (state.weight < last)
        pulled = ((still & ~cheap) | (flat & ~paid)) & (not model.points_may_move)
        late = pulled & (state.weight >= last) & (state.weight < _MOST_TIGHT * last)
        late |= waited & cheap & (state.weight >= last) & (state.weight < 10 * last)
        tighten = early | late
        weight = jnp.where(
            early,
            jnp.minimum(10 * state.weight, last),
            jnp.where(late, 10 * state.weight, state.weight),
        )
        # the weight changes what a unit of damping means, so give it room again
        damping = jnp.where(tighten, jnp.clip(damping, 1e-8, 1.0), damping)

        change = jnp.abs(state.misfit - misfit) / (1 + misfit)
        if model.points_may_move:
            regauged = jnp.abs((theta - state.theta)[model.noise_slice])
            calm = (change < 100 * self.tolerance) & jnp.all(regauged < 10 * self.tolerance)
            # a fit can creep for long while its misfit hardly changes; what the physics
            # costs tells
            enough = (state.weight**2 * physics < _MOST_COST) | (state.dwell >= _ENDLESS)
            settled = better & (state.weight >= last) & (state.dwell >= 2 * _DWELL) & calm & enough
        else:
            firm = paid & (state.weight >= 0.1 * last)
            settled = (
                better & firm & (still if model.has_free_function else change < self.tolerance)
            )
        quiet = jnp.where(settled, state.quiet + 1, jnp.where(better, 0, state.quiet))
        misfit = jnp.where(better, misfit, state.misfit)
        shown = {"loss": after, "misfit": misfit, "physics": jnp.sqrt(physics / max(1, exact_rows))}
        info = {
            **{k: jnp.where(better, v, jnp.nan) for k, v in shown.items()},
            "weight": state.weight,
            "damping": state.damping,
        }
        dwell = jnp.where(tighten, 0, state.dwell + 1)
        new = LMState(
            theta,
            state.origin,
            damping,
            growth,
            weight,
            misfit,
            dwell,
            quiet,
            state.age + 1,
            state.start,
            state.best,
            state.best_cost,
        )
        return self._judge(model, data, new, stuck & (weight >= last), key), info

    def _judge(
        self, model: Model, data: Data, state: LMState, stuck: Array, key: PRNGKeyArray
    ) -> LMState:
        """Give a failed start up for another, or for the best of all."""
        known = [g for g in model.groups if not g.exact and not model.size_unknown(g)]
        rows = model.residuals(state.theta, data)
        count = sum(len(g.sites) for g in known)
        implausible = (
            _sum_of_squares([rows[g.name] for g in known]) > count + 6 * jnp.sqrt(2.0 * count) + 10
        )
        patience = max(_PATIENCE, self.steps // self.starts)
        # data that are met while the physics is tightened are nearly there: another
        # start would have to come as far again
        nearly = (
            bool(known)
            & ~implausible
            & (state.weight >= 0.1 * self.tightness * model.precision(state.theta))
        )
        failed = (
            stuck
            | ((state.quiet >= _QUIET) & implausible)
            | ((state.age >= patience) & (state.quiet < _QUIET) & ~nearly)
        )
        physics = _sum_of_squares([rows[g.name] for g in model.groups if g.exact])
        noise = model.noise(state.theta)
        # what the size of the errors adds to the likelihood
        sizes = sum(
            (
                g.noise.log_prob(data[g.name], data[g.name], g.points, noise[g.name])
                for g in model.groups
                if g.noise is not None
            ),
            jnp.asarray(0.0),
        )
        cost = (
            state.misfit
            + (self.tightness * model.precision(state.theta)) ** 2 * physics
            - 2 * sizes
        )
        best = jnp.where(cost < state.best_cost, state.theta, state.best)
        more = failed & (state.start < self.starts - 1)
        fresh = model.init(jax.random.fold_in(key, 1))
        again = self._begin(model, fresh, state.start + 1, best, jnp.minimum(cost, state.best_cost))
        given_up = state._replace(
            theta=jnp.where(failed, best, state.theta),
            quiet=jnp.where(failed, jnp.maximum(state.quiet, stuck * _QUIET), state.quiet),
        )
        return jax.tree.map(lambda a, b: jnp.where(more, a, b), again, given_up)

    def done(self, state: LMState) -> Bool[Array, ""]:
        return state.quiet >= _QUIET


def _sum_of_squares(rows: list[Array]) -> Array:
    return sum((jnp.sum(r**2) for r in rows), start=jnp.asarray(0.0))
