"""Networks that represent the unknown solution.

A recipe has a method ``build(n_in, n_out, key=...)``, which returns an Equinox module
from vector to vector. Its inputs are scaled to [-3, 3] and its outputs are in units of
the size of the data, so that a recipe does not depend on the scales of a problem.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

Activation = Callable[[Array], Array]
"""A smooth function, applied to each element of an array."""

tanh: Activation = jnp.tanh
sin: Activation = jnp.sin
gelu: Activation = jax.nn.gelu
swish: Activation = jax.nn.swish


class softplus(eqx.Module):  # noqa: N801 - used like the functions beside it
    """The activation ``log(1 + exp(beta x)) / beta``.

    Example:
        >>> round(float(softplus(beta=5.0)(0.0)), 4)
        0.1386
    """

    beta: float = eqx.field(static=True, default=1.0)

    def __call__(self, x: Array) -> Array:
        return jax.nn.softplus(self.beta * x) / self.beta


@runtime_checkable
class NetworkRecipe(Protocol):
    """An object that builds a network of given sizes from a random key."""

    def build(self, n_in: int, n_out: int, *, key: PRNGKeyArray) -> Callable[[Array], Array]: ...


class MLP(eqx.Module):
    """A fully connected network; initial weights and biases are uniform within ``1 /
    sqrt(fan-in)`` of zero.

    Arguments:
        hidden: widths of the hidden layers.
        activation: ``tanh``, ``sin``, ``gelu``, ``swish``, ``softplus(beta)`` or any
            smooth function.

    Example:
        >>> MLP(hidden=(50, 50)).hidden
        (50, 50)
    """

    hidden: tuple[int, ...]
    activation: Activation

    def __init__(self, hidden: Sequence[int] = (50, 50), activation: Activation = tanh):
        self.hidden = tuple(int(h) for h in hidden)
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(
                f"MLP(hidden={hidden!r}): give the width of at least one hidden layer, such as"
                " hidden=(50, 50)"
            )
        if not callable(activation):
            raise TypeError(
                f"MLP(activation={activation!r}): give a function, such as"
                " activation=fiducial.networks.tanh or fiducial.networks.softplus(beta=5)"
            )
        self.activation = activation

    def build(self, n_in: int, n_out: int, *, key: PRNGKeyArray) -> Callable[[Array], Array]:
        sizes = (n_in, *self.hidden, n_out)
        shapes = [shape for i, o in itertools.pairwise(sizes) for shape in ((o, i), (o,))]
        reach = [1 / math.sqrt(i) for i in sizes[:-1] for _ in range(2)]
        # One draw for all layers: a generator per array would take seconds to compile.
        ends = [sum(math.prod(s) for s in shapes[: k + 1]) for k in range(len(shapes))]
        uniform = jnp.split(
            jax.random.uniform(key, (ends[-1],), minval=-1.0, maxval=1.0), ends[:-1]
        )
        arrays = [r * u.reshape(s) for r, u, s in zip(reach, uniform, shapes, strict=True)]
        from ..representations.layers import Layers

        return Layers(arrays[::2], arrays[1::2], self.activation)


class Fixed(eqx.Module):
    """A user's own Equinox module, whose weights are the initial ones of every chain.

    ``Problem(network=module)`` wraps a module in this class. For chains with different
    initial weights, give a recipe with ``build``."""

    module: Any

    def build(self, n_in: int, n_out: int, *, key: PRNGKeyArray) -> Callable[[Array], Array]:
        del key
        out = jax.eval_shape(self.module, jax.ShapeDtypeStruct((n_in,), jnp.float32))
        if getattr(out, "shape", None) != (n_out,):
            raise ValueError(
                f"the network must map a vector of {n_in} coordinates to a vector of {n_out}"
                f" outputs; it returns {out}"
            )
        return self.module


def as_recipe(network: Any) -> NetworkRecipe:
    """Return a recipe from a recipe or from an Equinox module."""
    if isinstance(network, NetworkRecipe):
        return network
    if isinstance(network, eqx.Module) and callable(network):
        return Fixed(network)
    raise TypeError(
        f"network={network!r}: give MLP(...), an Equinox module from vector to vector, or an object"
        " with build(n_in, n_out, *, key)"
    )
