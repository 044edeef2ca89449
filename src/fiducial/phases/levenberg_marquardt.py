"""Levenberg-Marquardt with the exact groups tightened step by step."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..least_squares import curvature, damped_solver, stack_linearisation, stack_rows
from ..method import AbstractPhase, Info
from ..model import Data, Model

_LARGEST_DAMPING = 1e6
_SMALLEST_DAMPING = 1e-14


class LMState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        damping: relative to the mean squared row of the Jacobian.
        growth: factor for the damping after the next failure.
        weight: present weight of exact groups.
        misfit: sum of squares of the data rows.
        quiet: for how many steps the fit has been good enough and still.
    """

    theta: Float[Array, " p"]
    damping: Float[Array, ""]
    growth: Float[Array, ""]
    weight: Float[Array, ""]
    misfit: Float[Array, ""]
    quiet: Int[Array, ""]


class LevenbergMarquardt(AbstractPhase):
    """Damped Gauss-Newton on all residual rows in float64, with continuation in the physics weight.

    Exact groups enter as rows divided by their own scale and multiplied by a weight. It starts at
    the *precision* of the data (their size in standard errors), so that neither drowns the other,
    and grows tenfold whenever the fit has settled or the physics costs next to nothing, to
    ``tightness`` times that; a cold start with the full weight sticks in false solutions of inverse
    problems. The phase is done when the data misfit has settled and the weighted physics rows cost
    less than ``slack``.

    Steps follow the curvature of the model (geodesic acceleration), which on networks saves two
    steps in three and reaches residuals a hundred times smaller.

    Arguments:
        steps: largest number of steps.
        tightness: how firmly exact groups hold at the end.
        slack: what the exact rows may add to the sum of squares, in squared standard errors.
        tolerance: change of the data misfit, relative and in squared standard errors, that counts as settled.

    Reference:
        Transtrum, Sethna (2012), Improvements to the Levenberg-Marquardt algorithm for nonlinear
        least-squares minimization, arXiv:1201.5885.
    """

    steps: int
    tightness: float = 100.0
    slack: float = 0.01
    tolerance: float = 1e-4
    name: ClassVar[str] = "lm"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> LMState:
        theta = (model.init(key) if previous is None else previous.theta).astype(jnp.float64)
        return LMState(theta, jnp.asarray(1e-3), jnp.asarray(2.0), model.precision(theta), jnp.asarray(jnp.finfo(theta.dtype).max), jnp.asarray(0))

    def step(self, model: Model, data: Data, state: LMState, progress: Array, *, key: PRNGKeyArray) -> tuple[LMState, Info]:
        residual, jacobian = stack_linearisation(model, state.theta, data, state.weight)
        solve = damped_solver(jacobian, state.damping)
        move = solve(residual)
        before = jnp.sum(residual**2)
        predicted = before - jnp.sum((residual - jacobian @ move) ** 2)
        # Geodesic acceleration: follow the bend of the model along the step, unless the bend rules it.
        bend = solve(0.5 * curvature(lambda t: stack_rows(model, t, data, state.weight), state.theta, move))
        trial = state.theta + move + jnp.where(jnp.sum(bend**2) < 0.25 * jnp.sum(move**2), bend, 0.0)
        rows = model.residuals(trial, data)
        misfit = _sum_of_squares([rows[g.name] for g in model.groups if not g.exact])
        physics = _sum_of_squares([rows[g.name] for g in model.groups if g.exact])
        after = misfit + state.weight**2 * physics
        better = after < before  # false for a trial that is not finite
        theta = jnp.where(better, trial, state.theta)

        # Nielsen's rule: relax by how well the linear model predicted, tighten ever faster after failures.
        relaxed = state.damping * jnp.maximum(1 / 5, 1 - (2 * (before - after) / predicted - 1) ** 3)
        damping = jnp.clip(jnp.where(better, relaxed, state.damping * state.growth), _SMALLEST_DAMPING, _LARGEST_DAMPING)
        growth = jnp.where(better, 2.0, 2 * state.growth)
        stuck = damping >= _LARGEST_DAMPING

        still = (before - after < self.tolerance * (1 + after)) & better
        cheap = (state.weight**2 * physics < 0.1) & better
        # Unknown noise sizes follow only once the physics holds: before, a network that interpolates the
        # data would drive them to zero and lock itself in.
        holds = (still | cheap) & (state.weight >= 10 * model.precision(theta))
        theta = jnp.where(holds, model.estimate_noise(theta, data), theta)
        last = self.tightness * model.precision(theta)
        tighten = (still | cheap | stuck) & (state.weight < last)
        weight = jnp.where(tighten, jnp.minimum(10 * state.weight, last), state.weight)
        # the weight changes what a unit of damping means, so give it room again
        damping = jnp.where(tighten, jnp.clip(damping, 1e-8, 1.0), damping)

        firm = (state.weight**2 * physics < self.slack) & (state.weight >= 0.1 * last)
        settled = better & firm & (jnp.abs(state.misfit - misfit) < self.tolerance * (1 + misfit))
        quiet = jnp.where(settled, state.quiet + 1, jnp.where(better, 0, state.quiet))
        exact_rows = sum(len(g.sites) for g in model.groups if g.exact)
        shown = {"loss": after, "misfit": misfit, "physics": jnp.sqrt(physics / max(1, exact_rows))}
        info = {**{k: jnp.where(better, v, jnp.nan) for k, v in shown.items()}, "weight": state.weight, "damping": state.damping}
        return LMState(theta, damping, growth, weight, jnp.where(better, misfit, state.misfit), quiet), info

    def done(self, state: LMState) -> Bool[Array, ""]:
        return state.quiet >= 3


def _sum_of_squares(rows: list[Array]) -> Array:
    return sum((jnp.sum(r**2) for r in rows), start=jnp.asarray(0.0))
