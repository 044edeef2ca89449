"""The layers of a fully connected network, evaluated at a point or for a Taylor
polynomial around it.
"""

import equinox as eqx
from jaxtyping import Array, Float

from ..posing.networks import Activation
from .taylor import Coefficients, Index, compose


class Layers(eqx.Module):
    weights: list[Array]
    biases: list[Array]
    activation: Activation = eqx.field(static=True)

    def __call__(
        self, x: Float[Array, " n_in"], units: Float[Array, " u"] | None = None
    ) -> Float[Array, " n_out"]:
        """The outputs; ``units`` are factors for the hidden units of all layers, the
        first layer's first.
        """
        start = 0
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.activation(weight @ x + bias)
            if units is not None:
                x, start = x * units[start : start + x.size], start + x.size
        return self.weights[-1] @ x + self.biases[-1]

    def series(
        self,
        x: Coefficients,
        indices: tuple[Index, ...],
        units: Float[Array, "u *points"] | None = None,
    ) -> Coefficients:
        """The same for a polynomial, or for one around each of many points: the
        coefficients of the outputs, points last.

        A coefficient that is the same at all points may have one in their place.
        """
        start = 0
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = compose(self.activation, _affine(weight, bias, x), indices)
            if units is not None:
                own, start = units[start : start + bias.size], start + bias.size
                x = {index: v * own for index, v in x.items()}
        return _affine(self.weights[-1], self.biases[-1], x)


def _affine(weight: Array, bias: Array, x: Coefficients) -> Coefficients:
    made = {index: weight @ v for index, v in x.items()}
    zero = min(x)
    return made | {zero: made[zero] + bias.reshape(-1, *(1 for _ in made[zero].shape[1:]))}
