"""A field: the solution as a function of a point, with named outputs."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .coordinates import coordinate_values, user_point


class Field:
    """The solution, or any function that stands for it, callable at one point.

    With one output the field itself is called, ``u(at)``. With several, each is an
    attribute, ``f.prey(at)`` or ``f["prey"](at)``, and ``f(at)`` is the vector of all.

    Arguments:
        evaluate: maps a vector of coordinates to the vector of outputs.
        coordinates: names of the coordinates.
        outputs: names of the outputs.
    """

    def __init__(
        self,
        evaluate: Callable[[Array], Array],
        coordinates: tuple[str, ...],
        outputs: tuple[str, ...],
    ):
        self._evaluate: Callable[[tuple[Array, ...]], Array] = lambda values: evaluate(
            jnp.stack(values)
        )
        self.coordinates = coordinates
        self.outputs = outputs

    @classmethod
    def of_coordinates(
        cls,
        evaluate: Callable[[tuple[Array, ...]], Array],
        coordinates: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> "Field":
        """A field from a function of the single coordinates."""
        field = cls(lambda row: row, coordinates, outputs)
        field._evaluate = evaluate
        return field

    def all(self, at: Any) -> Float[Array, " outputs"]:
        """The vector of all outputs, also when there is only one."""
        return self._evaluate(coordinate_values(self.coordinates, at))

    def __call__(self, at: Any) -> Array:
        value = self.all(at)
        return value[0] if len(self.outputs) == 1 else value

    def __getitem__(self, name: str) -> "Field":
        if name not in self.outputs:
            raise KeyError(f"no output '{name}'; the outputs are {', '.join(self.outputs)}")
        i = self.outputs.index(name)
        return Field.of_coordinates(
            lambda values: self._evaluate(values)[i : i + 1], self.coordinates, (name,)
        )

    def __getattr__(self, name: str) -> "Field":
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None


def field_of_functions(
    functions: dict[str, Callable[[Any], Any]], coordinates: tuple[str, ...]
) -> Field:
    """A field from one plain function of a point per output: known truths, reference
    solutions.
    """

    def evaluate(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
        at = user_point(coordinates, row)
        return jnp.stack([jnp.asarray(f(at)) for f in functions.values()])

    return Field(evaluate, coordinates, tuple(functions))
