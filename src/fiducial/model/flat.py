"""Trees of arrays as one flat vector."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def ravel(tree: Any) -> Float[Array, " p"]:
    """All numbers of a tree in one vector.

    Example:
        >>> ravel({"a": jnp.ones(2), "b": jnp.zeros((1, 1))}).tolist()
        [1.0, 1.0, 0.0]
    """
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def unraveller(template: Any) -> Callable[[Float[Array, " p"]], Any]:
    """The way back; like that of ``jax.flatten_util.ravel_pytree``, but for float32 and
    float64 alike.

    Example:
        >>> unraveller({"a": jnp.ones(2)})(jnp.zeros(2))["a"].tolist()
        [0.0, 0.0]
    """
    leaves, structure = jax.tree.flatten(template)
    shapes = [leaf.shape for leaf in leaves]
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    return lambda theta: jax.tree.unflatten(
        structure, [v.reshape(s) for v, s in zip(jnp.split(theta, ends), shapes, strict=True)]
    )
