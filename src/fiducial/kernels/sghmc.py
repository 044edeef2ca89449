"""Langevin dynamics with momentum."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractKernel, Memory

_SAFE = 0.7
"""Largest product of step size and frequency; 2 is the limit of stability."""


class SGHMC(AbstractKernel):
    """Positions with a momentum that friction and noise keep at unit temperature, by
    the BAOAB splitting.

    Momentum is kept from step to step, so that soft directions move in as many steps as
    the square root of the stiffness, not the stiffness itself. The splitting leaves no
    error of the step size in the variance of a Gaussian position, so there is nothing
    to correct for.

    Arguments:
        friction: how fast momentum is forgotten, per unit of time; 1 suits directions
            of unit variance.

    References: Chen, Fox, Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo,
        ICML. Leimkuhler, Matthews (2013), Robust and efficient configurational
        molecular sampling via Langevin dynamics, J. Chem. Phys. 138, 174102.
    """

    friction: float = 1.0
    name: ClassVar[str] = "sghmc"

    def size(self, stiffness: float) -> float:
        return _SAFE / stiffness**0.5

    def rest(self, size: float) -> float:
        return 2 / (min(self.friction, 1 / self.friction) * size)

    def variance(self, curvature: float, size: float) -> float:
        del size
        return 1 / curvature

    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> Memory:
        return jax.random.normal(key, position.shape, position.dtype)

    def step(
        self,
        position: Float[Array, " n"],
        memory: Memory,
        force: Float[Array, " n"],
        size: Float[Array, ""],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], Memory]:
        # both half kicks of BAOAB with this force at once, so that one force a step is
        # enough
        momentum = memory + size * force
        half = position + 0.5 * size * momentum
        kept = jnp.exp(-self.friction * size)
        momentum = kept * momentum + jnp.sqrt(1 - kept**2) * noise
        return half + 0.5 * size * momentum, momentum
