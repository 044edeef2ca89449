"""A field: the solution as a function of a point, with named outputs."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .coordinates import coordinate_values, user_point


class Field:
    """The solution, or another function of a point with named outputs.

    With one output the field itself is called, ``u(at)``. With several, each is an
    attribute, ``f.prey(at)`` or ``f["prey"](at)``, and ``f(at)`` is the vector of all.

    Arguments:
        evaluate: maps a vector of coordinates to the vector of outputs.
        coordinates: names of the coordinates.
        outputs: names of the outputs.
    """

    def __init__(
        self,
        evaluate: Callable[[Any], Array],
        coordinates: tuple[str, ...],
        outputs: tuple[str, ...],
    ):
        self._evaluate: Callable[[Any], Array] = evaluate
        self.coordinates = coordinates
        self.outputs = outputs

    @staticmethod
    def of_coordinates(
        evaluate: Callable[[tuple[Array, ...]], Array],
        coordinates: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> "Field":
        """Return a field from a function of the tuple of coordinates."""
        return _FieldOfTuple(evaluate, coordinates, outputs)

    def all(self, at: Any) -> Float[Array, " outputs"]:
        """Return the vector of all outputs, also when there is only one."""
        return self._at(coordinate_values(self.coordinates, at))

    def _at(self, values: tuple[Array, ...]) -> Float[Array, " outputs"]:
        return self._evaluate(jnp.stack(values))

    def __call__(self, at: Any) -> Array:
        value = self.all(at)
        return value[0] if len(self.outputs) == 1 else value

    def __getitem__(self, name: str) -> "Field":
        if name not in self.outputs:
            raise KeyError(f"no output '{name}'; the outputs are {', '.join(self.outputs)}")
        i = self.outputs.index(name)
        return _FieldOfTuple(lambda values: self._at(values)[i : i + 1], self.coordinates, (name,))

    def __getattr__(self, name: str) -> "Field":
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None


class _FieldOfTuple(Field):
    """A field whose function takes the tuple of coordinates, which Taylor polynomials
    need: derivatives by the coordinates are then not taken through one vector.
    """

    def _at(self, values: tuple[Array, ...]) -> Float[Array, " outputs"]:
        return self._evaluate(values)


def field_of_functions(
    functions: dict[str, Callable[[Any], Any]], coordinates: tuple[str, ...]
) -> Field:
    """Return a field from a function of a point for each output, such as a known truth
    or a reference solution.
    """

    def evaluate(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
        at = user_point(coordinates, row)
        return jnp.stack([jnp.asarray(f(at)) for f in functions.values()])

    return Field(evaluate, coordinates, tuple(functions))
