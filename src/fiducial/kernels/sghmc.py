"""Langevin dynamics with momentum."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractKernel, KernelState

_LARGEST_PRODUCT = 0.7
"""Largest product of step size and frequency, the root of the curvature; 2 is the limit
of stability.
"""


class SGHMC(AbstractKernel):
    """Stochastic gradient Hamiltonian Monte Carlo: positions with a momentum that
    friction and noise keep at unit temperature, by the BAOAB splitting.

    The momentum is kept from step to step, so that soft directions take as many steps
    as the square root of the stiffness, not the stiffness itself. The splitting leaves
    no error of the step size in the variance of a Gaussian position, so there is
    nothing to correct for.

    Arguments:
        friction: how fast momentum is forgotten, per unit of time; 1 suits directions
            of unit variance.

    Reference:
        Chen, Fox, Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo, ICML;
        Leimkuhler, Matthews (2013), Robust and efficient configurational molecular
        sampling via Langevin dynamics, J. Chem. Phys. 138, 174102.
    """

    friction: float = 1.0
    name: ClassVar[str] = "sghmc"

    def step_size(self, stiffness: float) -> float:
        return _LARGEST_PRODUCT / stiffness**0.5

    def relaxation_steps(self, step_size: float) -> float:
        return 2 / (min(self.friction, 1 / self.friction) * step_size)

    def variance(self, curvature: float, step_size: float) -> float:
        del step_size
        return 1 / curvature

    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> KernelState:
        return jax.random.normal(key, position.shape, position.dtype)

    def step(
        self,
        position: Float[Array, " n"],
        state: KernelState,
        force: Float[Array, " n"],
        step_size: Float[Array, "*n"],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], KernelState]:
        # both half kicks of BAOAB with this force at once, so that one force a step is
        # enough
        momentum = state + step_size * force
        half = position + 0.5 * step_size * momentum
        kept = jnp.exp(-self.friction * step_size)
        momentum = kept * momentum + jnp.sqrt(1 - kept**2) * noise
        return half + 0.5 * step_size * momentum, momentum
