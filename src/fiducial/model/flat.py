"""Trees of arrays as flat vectors."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def ravel(tree: Any) -> Float[Array, " p"]:
    """Return all numbers of a tree in one vector.

    Example:
        >>> ravel({"a": jnp.ones(2), "b": jnp.zeros((1, 1))}).tolist()
        [1.0, 1.0, 0.0]
    """
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def unraveller(template: Any) -> Callable[[Float[Array, " p"]], Any]:
    """Return the inverse of ``ravel`` for trees of the template's shapes.

    Unlike that of ``jax.flatten_util.ravel_pytree`` it keeps the precision of the
    vector, float32 or float64.

    Example:
        >>> unraveller({"a": jnp.ones(2)})(jnp.zeros(2))["a"].tolist()
        [0.0, 0.0]
    """
    leaves, structure = jax.tree.flatten(template)
    shapes = [leaf.shape for leaf in leaves]
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def unravel(theta: Float[Array, " p"]) -> Any:
        parts = jnp.split(theta, ends)
        arrays = [v.reshape(shape) for v, shape in zip(parts, shapes, strict=True)]
        return jax.tree.unflatten(structure, arrays)

    return unravel
