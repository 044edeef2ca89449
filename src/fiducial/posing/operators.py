"""Derivatives of fields at one point, so that equations read like mathematics.

Every operator takes a function of a point (a field, one of its outputs, or a lambda
built from them) and the point, so that operators compose: a flux is a lambda, and its
divergence is ``divergence(flux, at)``. Derivatives are nested in forward mode (``jvp``
of ``jvp``), which is cheap for a few coordinates and leaves reverse mode to the
parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .coordinates import TIME_NAMES, Point

PointFunction = Callable[[Any], Any]
"""A function of one point."""


def derivative(f: PointFunction, at: Any, *names: str, order: int = 1) -> Any:
    """Return a derivative of any order, pure or mixed.

    Arguments:
        f: a function of one point.
        at: the point.
        names: the coordinates to differentiate by; several give a mixed derivative. May
            be left out when there is only one coordinate.
        order: the order, when at most one coordinate is named.

    Returns:
        The derivative, of the shape of ``f(at)``.

    Example:
        >>> float(derivative(lambda x: x**3, 2.0, order=2))
        12.0
        >>> at = Point(("x", "t"), (2.0, 3.0))
        >>> float(derivative(lambda at: at.x**2 * at.t, at, "x", "t"))
        4.0
    """
    if not (isinstance(order, int) and order >= 0):
        raise ValueError(
            f"derivative(..., order={order!r}): the order must be a whole number of at least 0"
        )
    if len(names) > 1 and order != 1:
        raise ValueError(
            "derivative: name a coordinate twice for a repeated mixed derivative, such as"
            f" derivative(f, at, '{names[0]}', '{names[0]}', '{names[1]}'), instead of order="
        )
    path = list(names) * order if len(names) == 1 else list(names)
    if isinstance(at, Point):
        if not names:
            raise TypeError(
                f"derivative(f, at): name one of the coordinates {', '.join(at.names)}, such as"
                f" derivative(f, at, '{at.names[0]}')"
            )
        for name in names:
            at[name]
    else:
        coordinates = getattr(f, "coordinates", None)
        for name in names:
            if coordinates is not None and name not in coordinates:
                raise KeyError(f"no coordinate '{name}'; the only coordinate is {coordinates[0]}")
        path = path or [""] * order
    for name in path:
        f = _along(f, name)
    return f(at)


def _along(f: PointFunction, name: str) -> PointFunction:
    """Return the first derivative of a function by one coordinate, as a function."""

    def differentiated(at: Any) -> Any:
        along = (lambda c: f(at.replace(**{name: c}))) if isinstance(at, Point) else f
        here = jnp.asarray(at[name] if isinstance(at, Point) else at)
        here = here if jnp.issubdtype(here.dtype, jnp.inexact) else here.astype(float)
        return jax.jvp(along, (here,), (jnp.ones_like(here),))[1]

    return differentiated


def _space(at: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the named coordinates, by default those of space."""
    if names or not isinstance(at, Point):
        return names or ("",)
    return tuple(n for n in at.names if n not in TIME_NAMES)


def gradient(f: PointFunction, at: Any, *names: str) -> Float[Array, " d"]:
    """Return the first derivatives by the named coordinates, by default all of space.

    Example:
        >>> at = Point(("x", "y"), (1.0, 2.0))
        >>> gradient(lambda at: at.x * at.y, at).tolist()
        [2.0, 1.0]
    """
    return jnp.stack([_along(f, name)(at) for name in _space(at, names)])


def divergence(f: PointFunction, at: Any, *names: str) -> Float[Array, ""]:
    """Return the divergence of a vector-valued function with a component for each of
    the named coordinates, by default all of space.

    Example:
        >>> at = Point(("x", "y"), (1.0, 2.0))
        >>> float(divergence(lambda at: (at.x**2, at.x * at.y), at))
        3.0
    """
    along = _space(at, names)
    size = len(jax.eval_shape(lambda: jnp.atleast_1d(_stack(f(at)))))
    if size != len(along):
        raise ValueError(
            f"divergence: the function has {size} components, but there are {len(along)}"
            f" coordinates ({', '.join(along)}); return one component for each"
        )

    def component(i: int) -> PointFunction:
        return lambda at: jnp.atleast_1d(_stack(f(at)))[i]

    parts = [_along(component(i), name)(at) for i, name in enumerate(along)]
    return sum(parts[1:], start=parts[0])


def _stack(value: Any) -> Any:
    return (
        jnp.stack([jnp.asarray(v) for v in value])
        if isinstance(value, tuple | list)
        else jnp.asarray(value)
    )


def laplacian(f: PointFunction, at: Any, *names: str) -> Any:
    """Return the sum of the second derivatives by the named coordinates, by default all
    of space.

    Example:
        >>> at = Point(("x", "y", "t"), (1.0, 2.0, 0.0))
        >>> float(laplacian(lambda at: at.x**2 + at.y**2, at))
        4.0
    """
    parts = [_along(_along(f, name), name)(at) for name in _space(at, names)]
    return sum(parts[1:], start=parts[0])


def time_derivative(f: PointFunction, at: Any, *, order: int = 1) -> Any:
    """Return the derivative by the coordinate called ``t`` or ``time``, or by the only
    coordinate.

    Example:
        >>> at = Point(("x", "t"), (1.0, 2.0))
        >>> float(time_derivative(lambda at: at.x * at.t**2, at))
        4.0
    """
    if not isinstance(at, Point):
        return derivative(f, at, order=order)
    named = [n for n in at.names if n in TIME_NAMES]
    if not named:
        raise KeyError(
            f"time_derivative: none of {', '.join(at.names)} is called t or time; use derivative(f,"
            " at, name)"
        )
    return derivative(f, at, named[0], order=order)
