"""Schedules: settings that change with the progress of a run, a number from 0 to 1.

The shapes are those of the paper's table of notations. A schedule is a plain function,
so any ``callable(progress) -> value`` can stand in for one.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

Schedule = Callable[[Float[Array, ""]], Float[Array, ""]]


def constant(value: float) -> Schedule:
    """Return the schedule that keeps one value.

    Example:
        >>> float(constant(0.1)(0.7))
        0.1
    """
    return lambda progress: value + 0.0 * progress


def linear(start: float, end: float) -> Schedule:
    """Return the straight line from ``start`` to ``end`` (the paper's ``linear_x_y``).

    Example:
        >>> float(linear(50.0, 500.0)(0.5))
        275.0
    """
    return lambda progress: start + (end - start) * progress


def exponential(start: float, end: float) -> Schedule:
    """Return the geometric interpolation from ``start`` to ``end`` (the paper's
    ``exp_x_y``); both must be positive.

    Example:
        >>> round(float(exponential(1.0, 100.0)(0.5)), 4)
        10.0
    """
    if not (start > 0 and end > 0):
        raise ValueError(f"exponential({start}, {end}): both ends must be positive; use linear")
    return lambda progress: start * (end / start) ** progress


def polynomial(start: float, c: float, k: float) -> Schedule:
    """Return the polynomial decay ``start / (1 + (c * progress)**k)`` (the paper's
    ``poly_x_c_k``).

    Example:
        >>> float(polynomial(1.0, 3.0, 1.0)(1.0))
        0.25
    """
    return lambda progress: start / (1.0 + (c * jnp.asarray(progress)) ** k)


def early(schedule: Schedule, part: float) -> Schedule:
    """Return a schedule that runs through another one in the first part of a run, and
    is constant after.

    Example:
        >>> float(early(linear(0.0, 1.0), 0.5)(0.25)), float(early(linear(0.0, 1.0), 0.5)(0.75))
        (0.5, 1.0)
    """
    return lambda progress: schedule(jnp.minimum(jnp.asarray(progress) / part, 1.0))


def parse(text: str | float) -> Schedule:
    """Return the schedule that a text of the paper's tables names; a plain number is
    constant.

    Example:
        >>> float(parse("linear_50_500")(1.0)), float(parse("poly_1_3_1")(1.0))
        (500.0, 0.25)
    """
    kind, *numbers = str(text).split("_")
    shapes: dict[str, Callable[..., Schedule]] = {
        "linear": linear,
        "exp": exponential,
        "log": exponential,
        "poly": polynomial,
    }
    try:
        return shapes[kind](*map(float, numbers)) if kind in shapes else constant(float(text))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"schedule {text!r}: write a number, linear_x_y, exp_x_y or poly_x_c_k"
        ) from error
