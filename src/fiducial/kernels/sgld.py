"""Langevin dynamics without momentum, as in the paper."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import AbstractKernel, Memory

_SAFE = 0.3
"""Largest product of step size and curvature."""


class SGLD(AbstractKernel):
    """``x + v grad log pi(x) + sqrt(2 v) N(0, 1)``.

    Slow where some directions are much stiffer than others: the stiff ones limit v, and
    the soft ones then take 1 / v steps to move.

    Reference:
        Welling, Teh (2011), Bayesian learning via stochastic gradient Langevin
        dynamics, ICML.
    """

    name: ClassVar[str] = "sgld"

    def size(self, stiffness: float) -> float:
        return _SAFE / stiffness

    def rest(self, size: float) -> float:
        return 1 / size

    def variance(self, curvature: float, size: float) -> float:
        return 1 / (curvature * (1 - size * curvature / 2))

    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> Memory:
        del position, key
        return ()

    def step(
        self,
        position: Float[Array, " n"],
        memory: Memory,
        force: Float[Array, " n"],
        size: Float[Array, ""],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], Memory]:
        return position + size * force + jnp.sqrt(2 * size) * noise, memory
