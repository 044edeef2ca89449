"""Derivatives of fields, written for one point, so that equations read like the
mathematics.

Every operator takes a function of a point (a field, one output of it, or a lambda built
from them) and the point, so they compose: a flux is a lambda, and its divergence is
``divergence(flux, at)``. Derivatives are nested forward-mode (``jvp`` of ``jvp``),
which is the cheap direction for a handful of coordinates and leaves reverse mode to the
parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .coordinates import TIME_NAMES, Point

PointFunction = Callable[[Any], Any]


def derivative(f: PointFunction, at: Any, *names: str, order: int = 1) -> Any:
    """A derivative of any order, plain or mixed.

    Arguments:
        f: a function of one point.
        at: the point.
        names: the coordinates to differentiate by; several give a mixed derivative. Not
            needed when there is only one coordinate.
        order: how often, when a single coordinate is named.

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
            "derivative: name a coordinate twice for a repeated mixed derivative, instead of order="
        )
    path = list(names) * order if len(names) == 1 else list(names)
    if isinstance(at, Point):
        if not names:
            raise TypeError(
                f"derivative(f, at): say by which of {', '.join(at.names)}, such as derivative(f,"
                f" at, '{at.names[0]}')"
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
    def differentiated(at: Any) -> Any:
        along = (lambda c: f(at.replace(**{name: c}))) if isinstance(at, Point) else f
        here = jnp.asarray(at[name] if isinstance(at, Point) else at)
        here = here if jnp.issubdtype(here.dtype, jnp.inexact) else here.astype(float)
        return jax.jvp(along, (here,), (jnp.ones_like(here),))[1]

    return differentiated


def _space(at: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    if names or not isinstance(at, Point):
        return names or ("",)
    return tuple(n for n in at.names if n not in TIME_NAMES)


def gradient(f: PointFunction, at: Any, *names: str) -> Float[Array, " d"]:
    """First derivatives by the named coordinates, by default all of space.

    Example:
        >>> at = Point(("x", "y"), (1.0, 2.0))
        >>> gradient(lambda at: at.x * at.y, at).tolist()
        [2.0, 1.0]
    """
    return jnp.stack([_along(f, name)(at) for name in _space(at, names)])


def divergence(f: PointFunction, at: Any, *names: str) -> Float[Array, ""]:
    """Divergence of a vector-valued function with one component per coordinate, by
    default of space.

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
            f" coordinates ({', '.join(along)})"
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
    """Sum of the second derivatives by the named coordinates, by default all of space.

    Example:
        >>> at = Point(("x", "y", "t"), (1.0, 2.0, 0.0))
        >>> float(laplacian(lambda at: at.x**2 + at.y**2, at))
        4.0
    """
    parts = [_along(_along(f, name), name)(at) for name in _space(at, names)]
    return sum(parts[1:], start=parts[0])


def time_derivative(f: PointFunction, at: Any, *, order: int = 1) -> Any:
    """Derivative by the coordinate called ``t`` or ``time`` (or by the only one there
    is).

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
