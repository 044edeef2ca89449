"""Branches and loops of compiled programs, as they suit a batch and a device."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def once(needed: Bool[Array, ""], fn: Callable[[Any], Any], value: Any) -> Any:
    """``fn(value)`` where it is needed; in a batch it is skipped when none needs it, which ``lax.cond`` does not do.

    Example:
        >>> int(once(jnp.asarray(True), lambda v: v + 1, jnp.asarray(1)))
        2
    """
    return jax.lax.while_loop(lambda c: c[0], lambda c: (jnp.asarray(False), fn(c[1])), (needed, value))[1]


def one_by_one() -> bool:
    """Whether the elements of a batch are better taken one after another, as on a CPU: a loop then ends for each when it is done with it."""
    return jax.default_backend() == "cpu"


def for_each(fn: Callable[..., Any], *batches: Any) -> Any:
    """A function with loops of its own for each element of a batch: one by one on a CPU, all at once on an accelerator.

    Example:
        >>> for_each(lambda v: 2 * v, jnp.arange(3)).tolist()
        [0, 2, 4]
    """
    return jax.lax.map(lambda one: fn(*one), batches) if one_by_one() else jax.vmap(fn)(*batches)
