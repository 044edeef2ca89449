"""Langevin dynamics without momentum, as in Algorithm 1 of the paper."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractKernel, KernelState

_LARGEST_PRODUCT = 0.3
"""Largest product of step size and curvature: the variance of the stiffest direction is
then 18 % too large, which ``variance`` knows. The limit of stability is 2.
"""


class SGLD(AbstractKernel):
    """Stochastic gradient Langevin dynamics: ``z + v grad log pi(z) + sqrt(2 v) N(0, 1)``.

    Slow where some directions are much stiffer than others: the stiff ones limit v, and
    the soft ones then take 1 / v steps to move.

    Reference:
        Welling, Teh (2011), Bayesian learning via stochastic gradient Langevin
        dynamics, ICML.
    """

    name: ClassVar[str] = "sgld"

    def step_size(self, stiffness: float) -> float:
        return _LARGEST_PRODUCT / stiffness

    def relaxation_steps(self, step_size: float) -> float:
        return 1 / step_size

    def variance(self, curvature: float, step_size: float) -> float:
        return 1 / (curvature * (1 - step_size * curvature / 2))

    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> KernelState:
        del position, key
        return ()

    def step(
        self,
        position: Float[Array, " n"],
        state: KernelState,
        force: Float[Array, " n"],
        step_size: Float[Array, "*n"],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], KernelState]:
        return position + step_size * force + jnp.sqrt(2 * step_size) * noise, state
