"""Draws from the normal distribution that approximates a posterior at its mode."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.flat import ravel
from ..model.model import Data, Model
from ..numerics.posterior import Posterior
from .base import AbstractCostlyPhase, Drawn, Info

BLOCK = 50
"""Number of draws made at once (convention)."""
_NEWTON_STEPS = 10
"""Number of Newton steps for the noise parameters, a convex problem for normal errors
(convention).
"""
_LONGEST_NEWTON_STEP = 1.0
"""Largest change of a noise parameter in one of them: a factor of e of a size
(convention).
"""


class LaplaceState(NamedTuple):
    """The normal approximation for m rows and p parameters, and the last draws.

    Attributes:
        theta: the mode.
        design: Jacobian of the rows, with parameters in units of their prior standard
            deviations.
        gain: moves of the parameters that answer errors of the rows.
        weights: weights of the exact groups.
        sizes: a square root of the covariance of the unknown noise parameters.
        drawn: the last block of draws.
    """

    theta: Float[Array, " p"]
    design: Float[Array, "m p"]
    gain: Float[Array, "p m"]
    weights: dict[str, Array]
    sizes: Float[Array, "s s"]
    drawn: Float[Array, "block p"]


class LaplaceDraws(AbstractCostlyPhase):
    """Approximate the posterior by a normal distribution at its mode, and draw from it.

    Its precision matrix is that of Gauss and Newton, the prior's plus the squared
    Jacobian; noise parameters have the second derivative of their own likelihood. A
    draw is a sample of the prior, moved by what errors of the rows ask for, so that
    only as many equations are solved as there are rows or parameters, whichever are
    fewer.

    Arguments:
        steps: number of blocks of draws.
        posterior: the posterior.
    """

    steps: int
    posterior: Posterior
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> LaplaceState:
        posterior, theta = self.posterior, previous.theta
        _, jacobian = posterior.rows_and_jacobians(theta, data, previous.weights)
        design = jacobian * jnp.asarray(posterior.sd)
        m, p = design.shape
        smaller = design @ design.T if m <= p else design.T @ design
        inverse = jnp.linalg.inv(smaller + jnp.eye(min(m, p)))
        noise_parameters, sizes = self._noise_parameters(model, data, theta)
        return LaplaceState(
            theta=theta.at[model.noise_slice].set(noise_parameters),
            design=design,
            gain=design.T @ inverse if m <= p else inverse @ design.T,
            weights=previous.weights,
            sizes=sizes,
            drawn=jnp.zeros((BLOCK, p), theta.dtype),
        )

    def _noise_parameters(self, model: Model, data: Data, theta: Array) -> tuple[Array, Array]:
        """Return the best noise parameters given the means, by Newton's method, and a
        square root of their covariance.
        """
        place, posterior = model.noise_slice, self.posterior
        count = place.stop - place.start
        if count == 0:
            return theta[place], jnp.zeros((0, 0))
        noisy = [g for g in model.groups if g.noise is not None]
        means = model.observed_means(theta, noisy)

        def cost(own: Array) -> Array:
            noise = model.noise(theta.at[place].set(own))
            log_likelihoods = [
                g.noise.log_prob(means[g.name], data[g.name], g.points, noise[g.name])
                for g in noisy
                if g.noise is not None
            ]
            from_prior = (own - posterior.mean[place]) / posterior.sd[place]
            return -ravel(log_likelihoods).sum() + 0.5 * jnp.sum(from_prior**2)

        def newton(_: Any, own: Array) -> Array:
            step = jnp.linalg.solve(jax.hessian(cost)(own), jax.grad(cost)(own))
            return own - jnp.clip(step, -_LONGEST_NEWTON_STEP, _LONGEST_NEWTON_STEP)

        own = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, theta[place])
        root = jnp.linalg.cholesky(jax.hessian(cost)(own))
        return own, jsl.solve_triangular(root, jnp.eye(count), lower=True).T

    def step(
        self, model: Model, data: Data, state: LaplaceState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[LaplaceState, Info]:
        m, p = state.design.shape
        dtype = state.theta.dtype
        noise = model.noise_slice
        keys = jax.random.split(key, 3)
        prior = jax.random.normal(keys[0], (BLOCK, p), dtype)
        errors = jax.random.normal(keys[1], (BLOCK, m), dtype)
        moved = prior + (errors - prior @ state.design.T) @ state.gain.T
        move = moved * jnp.asarray(self.posterior.sd)
        normal = jax.random.normal(keys[2], (BLOCK, noise.stop - noise.start), dtype)
        drawn = state.theta + move.at[:, noise].set(normal @ state.sizes.T)
        return state._replace(drawn=drawn), {}

    def draw(self, state: LaplaceState) -> Drawn:
        return Drawn(state.drawn, {})

    def view(self, model: Model, state: LaplaceState) -> Model:
        return model.linear_around(state.theta)
