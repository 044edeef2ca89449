"""Moves of a chain on a posterior by Hamiltonian Monte Carlo, with the kernels of
BlackJAX.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data
from .posterior import Posterior

LogDensity = Callable[[Array], Array]


class AbstractSampler(eqx.Module):
    """A sampler of BlackJAX's Hamiltonian family, from its states to its states.

    Attributes:
        name: what it is called in settings.
    """

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def move(
        self,
        key: PRNGKeyArray,
        chain: Any,
        log_density: LogDensity,
        step_size: Float[Array, ""],
        inverse_mass: Float[Array, " p"],
    ) -> tuple[Any, Any]:
        """Return the next state of the chain, and BlackJAX's info, of which
        ``acceptance_rate`` and ``is_divergent`` are read.
        """


class _BlackJAXSampler(AbstractSampler):
    """A sampler whose kernel takes one more number, the length of its trajectories."""

    @abc.abstractmethod
    def kernel(self) -> tuple[Any, int]:
        """Return BlackJAX's kernel, and the length."""

    def move(
        self,
        key: PRNGKeyArray,
        chain: Any,
        log_density: LogDensity,
        step_size: Float[Array, ""],
        inverse_mass: Float[Array, " p"],
    ) -> tuple[Any, Any]:
        kernel, length = self.kernel()
        return kernel(key, chain, log_density, step_size, inverse_mass, length)


class NUTS(_BlackJAXSampler):
    """The No-U-Turn sampler.

    Attributes:
        doublings: largest number of doublings of a trajectory.
    """

    doublings: int = 6
    name: ClassVar[str] = "nuts"

    def kernel(self) -> tuple[Any, int]:
        from blackjax.mcmc import nuts

        return nuts.build_kernel(), self.doublings


class HMC(_BlackJAXSampler):
    """Hamiltonian Monte Carlo with trajectories of a fixed length.

    Attributes:
        leapfrog: leapfrog steps of a move.
    """

    leapfrog: int = 30
    name: ClassVar[str] = "hmc"

    def kernel(self) -> tuple[Any, int]:
        from blackjax.mcmc import hmc

        return hmc.build_kernel(), self.leapfrog


class HamiltonianState(NamedTuple):
    """State between two moves.

    Attributes:
        theta: the parameters.
        chain: BlackJAX's state: the parameters in units of their priors, log-density
            and gradient.
        weights: factors on the scaled residuals of exact groups that give them unit
            variance.
        step_size: of the integrator.
        inverse_mass: diagonal of the inverse mass matrix.
        adaptation: of the warm-up: dual averaging, and moments of the positions.
        accepted: acceptance rate of the last move.
        diverged: 1 if the last move diverged, else 0.
    """

    theta: Float[Array, " p"]
    chain: Any
    weights: dict[str, Array]
    step_size: Float[Array, ""]
    inverse_mass: Float[Array, " p"]
    adaptation: Any
    accepted: Float[Array, ""]
    diverged: Float[Array, ""]


class Mover(NamedTuple):
    """Moves of a chain on a posterior.

    Attributes:
        posterior: the distribution to sample.
        sampler: the sampler.
        dtype: of the chain.
    """

    posterior: Posterior
    sampler: AbstractSampler
    dtype: Any

    def log_density(self, data: Data, weights: dict[str, Array]) -> LogDensity:
        """Return the log-density of the posterior as a function of ``q``."""
        return lambda q: self.posterior.log_density(q, data, weights)

    def begin(self, q: Array, data: Data, weights: dict[str, Array]) -> Any:
        """Return BlackJAX's state at a position."""
        from blackjax.mcmc import hmc

        return hmc.init(q, self.log_density(data, weights))

    def move(self, state: HamiltonianState, data: Data, key: PRNGKeyArray) -> HamiltonianState:
        """Return the state after one move."""
        chain, info = self.sampler.move(
            key,
            state.chain,
            self.log_density(data, state.weights),
            state.step_size,
            state.inverse_mass,
        )
        return state._replace(
            theta=self.posterior.theta(chain.position),
            chain=chain,
            accepted=jnp.nan_to_num(info.acceptance_rate).astype(self.dtype),
            diverged=info.is_divergent.astype(self.dtype),
        )
