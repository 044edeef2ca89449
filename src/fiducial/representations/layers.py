"""The layers of a fully connected network, evaluated at a point or for a Taylor
polynomial around it.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.networks import Activation
from .taylor import Coefficients, Index, compose


class Layers(eqx.Module):
    """The weights of a fully connected network.

    Attributes:
        weights: a matrix for each layer, the first layer's first.
        biases: a vector for each layer.
        activation: the activation of all layers but the last.
    """

    weights: list[Array]
    biases: list[Array]
    activation: Activation = eqx.field(static=True)

    def __call__(
        self, x: Float[Array, " n_in"], hidden_factors: Float[Array, " u"] | None = None
    ) -> Float[Array, " n_out"]:
        """Return the outputs.

        Arguments:
            x: the inputs.
            hidden_factors: factors for the outputs of all hidden units, the first
                layer's first; None for ones.
        """
        begin = 0
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.activation(weight @ x + bias)
            if hidden_factors is not None:
                x = x * hidden_factors[begin : begin + x.size]
                begin += x.size
        return self.weights[-1] @ x + self.biases[-1]

    def series(
        self,
        x: Coefficients,
        indices: tuple[Index, ...],
        hidden_factors: Float[Array, "u *points"] | None = None,
    ) -> Coefficients:
        """Return the coefficients of the outputs for Taylor polynomials as inputs.

        Arrays have one axis for inputs, outputs or units, then one for points if there
        are many. A coefficient that does not depend on the point may have length one
        there.

        Arguments:
            x: coefficients of the inputs.
            indices: the coefficients to compute.
            hidden_factors: factors for the outputs of all hidden units, the first
                layer's first; None for ones.
        """
        begin = 0
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = compose(self.activation, _affine(weight, bias, x), indices)
            if hidden_factors is not None:
                factors = hidden_factors[begin : begin + bias.size]
                begin += bias.size
                x = {index: v * factors for index, v in x.items()}
        return _affine(self.weights[-1], self.biases[-1], x)


def _affine(weight: Array, bias: Array, x: Coefficients) -> Coefficients:
    made = {index: weight @ v for index, v in x.items()}
    zero = min(x)  # the index of the value itself
    return made | {zero: made[zero] + bias.reshape(-1, *(1 for _ in made[zero].shape[1:]))}


def scaled_hidden_units(layers: Layers, factors: Float[Array, " u"]) -> Layers:
    """Return layers that act as the given ones do with ``hidden_factors``."""
    begin = 0
    scaled = []
    for weight in layers.weights[1:]:
        width = weight.shape[1]
        scaled.append(weight * factors[begin : begin + width])
        begin += width
    return eqx.tree_at(lambda own: own.weights[1:], layers, scaled)


def join_layers(
    layers: Layers, number: Callable[[int, int, tuple[int, ...]], Any], others: int
) -> Any:
    """Return ``number(layer, number of layers, shape)`` for every weight and bias, in
    one vector in the order of the parameters, with ones for ``others`` parameters
    after them.
    """
    leaves = jax.tree.leaves(layers)
    count = len(leaves) // 2  # all matrices, then all biases
    own = [number(i % count, count, leaf.shape) for i, leaf in enumerate(leaves)]
    numbers = [*(v.ravel() for v in own), np.ones(others)]
    traced = any(isinstance(v, jax.Array) for v in numbers)
    return jnp.concatenate(numbers) if traced else np.concatenate(numbers)
