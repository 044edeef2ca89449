"""How a chain moves on a posterior: Hamiltonian Monte Carlo with the kernels of
BlackJAX.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data
from .posterior import Posterior


class HamiltonianState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        chain: BlackJAX's state: the parameters in units of their priors, log-density
            and gradient.
        weights: of exact groups.
        step_size: of the integrator.
        mass: diagonal of the inverse mass matrix.
        adaptation: of the warm-up: dual averaging and moments.
        accepted: acceptance rate of the last move.
        diverged: whether it diverged.
    """

    theta: Float[Array, " p"]
    chain: Any
    weights: dict[str, Array]
    step_size: Float[Array, ""]
    mass: Float[Array, " p"]
    adaptation: Any
    accepted: Float[Array, ""]
    diverged: Float[Array, ""]


class Mover(NamedTuple):
    """How a chain moves.

    Attributes:
        posterior: where.
        sampler: ``"nuts"`` or ``"hmc"``.
        leapfrog: steps of the integrator in a move of ``hmc``.
        doublings: largest number of doublings of a trajectory of ``nuts``.
        dtype: of the chain.
    """

    posterior: Posterior
    sampler: str
    leapfrog: int
    doublings: int
    dtype: Any

    def density(self, data: Data, weights: dict[str, Array]) -> Any:
        return lambda q: self.posterior.log_density(q, data, weights)

    def begin(self, q: Array, data: Data, weights: dict[str, Array]) -> Any:
        from blackjax.mcmc import hmc

        return hmc.init(q, self.density(data, weights))

    def move(self, state: HamiltonianState, data: Data, key: PRNGKeyArray) -> HamiltonianState:
        from blackjax.mcmc import hmc, nuts

        density = self.density(data, state.weights)
        if self.sampler == "hmc":
            chain, info = hmc.build_kernel()(
                key, state.chain, density, state.step_size, state.mass, self.leapfrog
            )
        else:
            chain, info = nuts.build_kernel()(
                key, state.chain, density, state.step_size, state.mass, self.doublings
            )
        accepted = jnp.nan_to_num(info.acceptance_rate).astype(self.dtype)
        theta = self.posterior.theta(chain.position)
        return state._replace(
            theta=theta,
            chain=chain,
            accepted=accepted,
            diverged=info.is_divergent.astype(self.dtype),
        )
