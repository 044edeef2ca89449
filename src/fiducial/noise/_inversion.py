"""The inverse of an increasing function, with its derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_FAR = 38.0
"""Largest normal score that is looked for: beyond, the tail of a normal distribution
vanishes in float64.
"""
_HALVINGS = 64
"""Halvings of the range, after which it is as narrow as rounding allows."""
_NEWTON_STEPS = 2
"""Newton steps from the root. Each doubles the order of the derivatives that are right,
and two of them give those that a fit uses.
"""


def invert_increasing(
    fn: Callable[[Float[Array, " n"]], Float[Array, " n"]], y: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Return z with ``fn(z) = y``, where each value of ``fn`` increases with the same
    value of z and depends on no other; -38 or 38 where there is none between these.

    It can be differentiated twice with respect to ``y`` and to all that ``fn`` depends
    on.
    """
    target = jax.lax.stop_gradient(y)

    def halve(_: Any, limits: tuple[Array, Array]) -> tuple[Array, Array]:
        lower, upper = limits
        middle = 0.5 * (lower + upper)
        below = jax.lax.stop_gradient(fn(middle)) < target
        return jnp.where(below, middle, lower), jnp.where(below, upper, middle)

    far = jnp.full_like(target, _FAR)
    lower, upper = jax.lax.fori_loop(0, _HALVINGS, halve, (-far, far))
    z = jax.lax.stop_gradient(0.5 * (lower + upper))
    inside = jnp.abs(z) < 0.999 * _FAR
    for _ in range(_NEWTON_STEPS):
        value, slope = jax.jvp(fn, (z,), (jnp.ones_like(z),))
        z = jnp.where(inside, z - (value - y) / jnp.where(inside, slope, 1.0), z)
    return z
