"""Draws from the normal distribution that touches a posterior at its mode."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float, PRNGKeyArray

from ..device import Effort
from ..model.flat import ravel
from ..model.model import Data, Model
from ..numerics.posterior import Posterior
from .base import AbstractPhase, Drawn, Info

BLOCK = 50
_NEWTON_STEPS = 10


class LaplaceState(NamedTuple):
    """For m rows and p parameters.

    Attributes:
        theta: the mode.
        design: Jacobian of the rows in units of the priors.
        gain: what turns errors of the rows into moves of the parameters.
        weights: of exact groups.
        sizes: a square root of the covariance of the unknown noise parameters.
        drawn: the present draws.
    """

    theta: Float[Array, " p"]
    design: Float[Array, "m p"]
    gain: Float[Array, "p m"]
    weights: dict[str, Array]
    sizes: Float[Array, "s s"]
    drawn: Float[Array, "block p"]


class LaplaceDraws(AbstractPhase):
    """The precision is that of Gauss and Newton: prior plus squared Jacobian; the noise
    sizes have their own curvature.

    A draw is a sample of the prior that is moved by what errors of the rows ask for, so
    that only as many equations are solved as there are rows or parameters, whichever
    are fewer.

    Arguments:
        steps: number of blocks of draws.
        posterior: the posterior.
    """

    steps: int
    posterior: Posterior
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def effort(self) -> Effort:
        return Effort.RUNS_SELDOM

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> LaplaceState:
        post, theta = self.posterior, previous.theta
        _, jacobian = post.rows_and_jacobians(theta, data, previous.weights)
        design = jacobian * jnp.asarray(post.sd)
        m, p = design.shape
        small = design @ design.T if m <= p else design.T @ design
        inverse = jnp.linalg.inv(small + jnp.eye(min(m, p)))
        gain = design.T @ inverse if m <= p else inverse @ design.T
        drawn = jnp.zeros((BLOCK, p), theta.dtype)
        own, sizes = self._sizes(model, data, theta)
        return LaplaceState(
            theta.at[model.noise_slice].set(own), design, gain, previous.weights, sizes, drawn
        )

    def _sizes(self, model: Model, data: Data, theta: Array) -> tuple[Array, Array]:
        """The best noise parameters given the means, by Newton's steps, and a square
        root of their covariance.
        """
        place, post = model.noise_slice, self.posterior
        count = place.stop - place.start
        if count == 0:
            return theta[place], jnp.zeros((0, 0))
        means = {g.name: model.mean(theta, g)[g.index] for g in model.groups if g.noise is not None}

        def cost(own: Array) -> Array:
            noise = model.noise(theta.at[place].set(own))
            fits = [
                g.noise.log_prob(means[g.name], data[g.name], g.points, noise[g.name])
                for g in model.groups
                if g.noise is not None
            ]
            return -ravel(fits).sum() + 0.5 * jnp.sum(
                ((own - post.mean[place]) / post.sd[place]) ** 2
            )

        def newton(_: Any, own: Array) -> Array:
            return own - jnp.clip(
                jnp.linalg.solve(jax.hessian(cost)(own), jax.grad(cost)(own)), -1.0, 1.0
            )

        own = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, theta[place])
        return own, jsl.solve_triangular(
            jnp.linalg.cholesky(jax.hessian(cost)(own)), jnp.eye(count), lower=True
        ).T

    def step(
        self, model: Model, data: Data, state: LaplaceState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[LaplaceState, Info]:
        m, p = state.design.shape
        keys = jax.random.split(key, 3)
        prior = jax.random.normal(keys[0], (BLOCK, p), state.theta.dtype)
        errors = jax.random.normal(keys[1], (BLOCK, m), state.theta.dtype)
        q = prior + (errors - prior @ state.design.T) @ state.gain.T
        move = q * jnp.asarray(self.posterior.sd)
        place = model.noise_slice
        own = (
            jax.random.normal(keys[2], (BLOCK, place.stop - place.start), state.theta.dtype)
            @ state.sizes.T
        )
        return state._replace(drawn=state.theta + move.at[:, place].set(own)), {}

    def draw(self, state: LaplaceState) -> Drawn:
        return Drawn(state.drawn, {})

    def view(self, model: Model, state: LaplaceState) -> Model:
        return model.linear_around(state.theta)
