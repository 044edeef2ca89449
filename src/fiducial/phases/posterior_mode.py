"""The mode of a posterior, by Levenberg-Marquardt."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..device import Effort
from ..model.model import Data, Model
from ..numerics.least_squares import adapt_damping, curvature, ridge_step
from ..numerics.posterior import Posterior
from .base import AbstractPhase, Info

_QUIET = 3
"""So many steps in a row without a decrease end the phase."""
_SMALLEST_DAMPING, _LARGEST_DAMPING = 1e-14, 1e6


class ModeState(NamedTuple):
    """Parameters, weights of exact groups, damping with its growth after a failure,
    and for how long the cost has been still.
    """

    theta: Float[Array, " p"]
    weights: dict[str, Array]
    damping: Float[Array, ""]
    growth: Float[Array, ""]
    quiet: Int[Array, ""]


class PosteriorMode(AbstractPhase):
    """Lower the residuals of all rows and the distance from the prior mean together,
    with sizes of errors as the fit before has them.

    Arguments:
        steps: largest number of steps.
        posterior: priors and weights.
        tolerance: decrease of minus twice the log-density that counts as none.
    """

    steps: int
    posterior: Posterior
    tolerance: float = 1e-2
    name: ClassVar[str] = "mode"
    activity: ClassVar[str] = "finding the mode"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def effort(self) -> Effort:
        return Effort.RUNS_SELDOM

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ModeState:
        one = jnp.asarray(1.0)
        return ModeState(
            previous.theta,
            self.posterior.weights(previous.theta),
            1e-3 * one,
            2 * one,
            jnp.asarray(0),
        )

    def step(
        self, model: Model, data: Data, state: ModeState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[ModeState, Info]:
        post = self.posterior
        residual, jacobian = post.rows_and_jacobians(state.theta, data, state.weights)
        ridge, gone = 1 / jnp.asarray(post.sd) ** 2, state.theta - post.mean

        def rows(theta: Array) -> Array:
            return post.rows(theta, data, state.weights)

        def cost(theta: Array) -> Array:
            return jnp.sum(rows(theta) ** 2) + jnp.sum(ridge * (theta - post.mean) ** 2)

        step = ridge_step(
            residual,
            jacobian,
            state.theta,
            damping=state.damping,
            ridge=ridge,
            gone=gone,
            bend=lambda move: curvature(rows, state.theta, move),
        )
        trial = jnp.asarray(step.trial).at[model.noise_slice].set(state.theta[model.noise_slice])
        before, after = cost(state.theta), cost(trial)
        better = after < before
        gain = (before - after) / step.predicted
        damping, growth = adapt_damping(
            state.damping, state.growth, better, gain, _SMALLEST_DAMPING, _LARGEST_DAMPING
        )
        still = (better & (before - after < self.tolerance)) | (damping >= _LARGEST_DAMPING)
        new = ModeState(
            jnp.where(better, trial, state.theta),
            state.weights,
            damping,
            growth,
            jnp.where(still, state.quiet + 1, jnp.where(better, 0, state.quiet)),
        )
        return new, {"loss": jnp.minimum(before, after), "damping": state.damping}

    def done(self, state: ModeState) -> Bool[Array, ""]:
        return state.quiet >= _QUIET
