"""A trial call of a user's equation or observed function, without computing."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .coordinates import user_point
from .fields import Field

Equation = Callable[[Any, Any, Any], Any]
"""A function ``(field, at, p)`` of one point: its residual, or a tuple of residuals."""


def parts_of(value: Any) -> tuple[Any, ...]:
    """Return the residuals of an equation as a tuple, also when there is only one."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def returned_shapes(
    fn: Equation,
    label: str,
    *,
    coordinates: tuple[str, ...],
    outputs: tuple[str, ...],
    guesses: Mapping[str, np.ndarray],
) -> list[tuple[int, ...]]:
    """Return the shapes that a user's function returns, by abstract evaluation.

    Arguments:
        fn: an equation or an observed function.
        label: name of the function in error messages.
        coordinates: names of the coordinates.
        outputs: names of the outputs of the field.
        guesses: the guess of each unknown constant.

    Raises:
        ValueError: when the function cannot be evaluated; the message has the fix.
    """

    def call(row: Any, p: dict[str, Any]) -> Any:
        def smooth(row: Any) -> Any:
            return jnp.sum(jnp.tanh(row)) * jnp.ones(len(outputs), row.dtype)

        field = Field(smooth, coordinates, outputs)
        return [
            jnp.asarray(v) for v in parts_of(fn(field, user_point(coordinates, row), _Named(p)))
        ]

    values = {name: jnp.asarray(guess) for name, guess in guesses.items()}
    try:
        result = jax.eval_shape(call, jnp.zeros(len(coordinates)), values)
    except _UnknownNameError as error:
        known = ", ".join(guesses) or "none"
        raise ValueError(
            f"{label} asks for {error}; the unknowns are {known}: use one of them, or declare it in"
            " unknowns={...}"
        ) from error
    except Exception as error:
        hint = _hint(error, coordinates)
        text = str(error).splitlines()[0] if hint and str(error) else str(error)
        kind = type(error).__name__
        raise ValueError(f"{label} failed at a trial point: {kind}: {text}{hint}") from error
    return [part.shape for part in result]


def describe_shapes(shapes: list[tuple[int, ...]]) -> str:
    """Return shapes in words, for an error message."""
    return "arrays of shape " + ", ".join(map(str, shapes)) if shapes else "nothing"


class _UnknownNameError(KeyError):
    """An equation asked for an unknown that the problem does not have."""


class _Named(dict[str, Any]):
    """The unknowns in a trial; a missing one raises an error of its own."""

    def __missing__(self, name: str) -> Any:
        raise _UnknownNameError(name)


def _hint(error: Exception, names: tuple[str, ...]) -> str:
    """Return the likely mistake in a function that cannot be traced, or nothing."""
    text = str(error)
    if isinstance(error, AttributeError) and len(names) == 1 and "Tracer" in text:
        name = names[0]
        return (
            f" (with one coordinate the point is the plain number {name}: write at, not at.{name})"
        )
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return " (write jnp.where(condition, a, b) in place of if)"
    arrays = jax.errors.TracerArrayConversionError | jax.errors.ConcretizationTypeError
    if isinstance(error, arrays):
        return " (use functions of jax.numpy, such as jnp.exp, in place of those of numpy or math)"
    if "callable" in text.lower():
        return " (give derivatives the field itself, derivative(u, x), not its value u(x))"
    if "NoneType" in text or "None" in text:
        return " (does it return its value?)"
    return ""
