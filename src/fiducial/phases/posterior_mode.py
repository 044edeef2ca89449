"""The mode of a posterior, by Levenberg-Marquardt."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..least_squares import curvature, ridge_step
from ..method import AbstractPhase, Info
from ..model import Data, Model
from ..posterior import Posterior

_QUIET = 3


class ModeState(NamedTuple):
    """Parameters, weights of exact groups, damping with its growth after a failure, and for how long the cost has been still."""

    theta: Float[Array, " p"]
    weights: dict[str, Array]
    damping: Float[Array, ""]
    growth: Float[Array, ""]
    quiet: Int[Array, ""]


class PosteriorMode(AbstractPhase):
    """Lower the residuals of all rows and the distance from the prior mean together, with sizes of errors as the fit before has them.

    Arguments:
        steps: largest number of steps.
        posterior: priors and weights.
        tolerance: decrease of minus twice the log-density that counts as none.
    """

    steps: int
    posterior: Posterior
    tolerance: float = 1e-2
    name: ClassVar[str] = "mode"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ModeState:
        one = jnp.asarray(1.0)
        return ModeState(previous.theta, self.posterior.weights(previous.theta), 1e-3 * one, 2 * one, jnp.asarray(0))

    def step(self, model: Model, data: Data, state: ModeState, progress: Array, *, key: PRNGKeyArray) -> tuple[ModeState, Info]:
        post = self.posterior
        residual, jacobian = post.linearise(state.theta, data, state.weights)
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
        trial = jnp.asarray(step.trial).at[model.noise_place].set(state.theta[model.noise_place])
        before, after = cost(state.theta), cost(trial)
        better = after < before
        relaxed = state.damping * jnp.maximum(1 / 3, 1 - (2 * (before - after) / step.predicted - 1) ** 3)
        damping = jnp.clip(jnp.where(better, relaxed, state.damping * state.growth), 1e-14, 1e6)
        still = (better & (before - after < self.tolerance)) | (damping >= 1e6)
        new = ModeState(
            jnp.where(better, trial, state.theta),
            state.weights,
            damping,
            jnp.where(better, 2.0, 2 * state.growth),
            jnp.where(still, state.quiet + 1, jnp.where(better, 0, state.quiet)),
        )
        return new, {"loss": jnp.minimum(before, after), "damping": state.damping}

    def done(self, state: ModeState) -> Bool[Array, ""]:
        return state.quiet >= _QUIET
