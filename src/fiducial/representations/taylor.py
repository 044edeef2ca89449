"""Taylor polynomials: all derivatives that an equation uses, in one pass through a
network.

A nested derivative of order k carries 2^k copies of a point through the network, and
each has a reverse pass of its own. A Taylor polynomial has k + 1 coefficients. So an
equation is evaluated with the polynomial around its point in place of the network: the
user's derivatives, however they are nested, then select among a few numbers. (Taylor-mode
automatic differentiation: Griewank and Walther, 2008, Evaluating Derivatives, chapter
13.)"""

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

Index = tuple[int, ...]
"""Order of a derivative by each coordinate: ``(2, 1)`` is twice by the first."""

Coefficients = dict[Index, Array]
"""Coefficients of a Taylor polynomial: derivatives over the factorials of their orders."""


def with_lower(indices: Iterable[Index]) -> tuple[Index, ...]:
    """Return the indices with those of all lower derivatives, lowest orders first.

    Example:
        >>> with_lower([(2, 0)])
        ((0, 0), (1, 0), (2, 0))
    """
    found = {low for index in indices for low in itertools.product(*(range(n + 1) for n in index))}
    return tuple(sorted(found, key=lambda i: (sum(i), i)))


def coordinate_series(
    places: Float[Array, "d *points"], unit: Float[Array, " d"], indices: tuple[Index, ...]
) -> Coefficients:
    """Return the coefficients of the coordinates themselves.

    Arguments:
        places: the coordinates of a point, or of many, in units of ``unit``.
        unit: unit of each coordinate.
        indices: the coefficients in use.
    """
    d = len(places)
    slopes = jnp.diag(1 / unit).reshape(d, d, *(1 for _ in places.shape[1:]))
    first = {tuple(int(i == j) for j in range(d)): slopes[i] for i in range(d)}
    return {(0,) * d: places} | {index: v for index, v in first.items() if index in indices}


def compose(
    function: Callable[[Array], Array], inner: Coefficients, indices: tuple[Index, ...]
) -> Coefficients:
    """Return the coefficients of an elementwise function of a polynomial.

    Example:
        >>> found = compose(jnp.exp, {(0,): jnp.zeros(1), (1,): jnp.ones(1)}, ((0,), (1,), (2,)))
        >>> float(found[(2,)][0])
        0.5
    """
    zero = min(inner)  # the index of the value itself
    step = {index: v for index, v in inner.items() if index != zero}
    value = function(inner[zero])
    derivative = function
    outer = {zero: value}
    power = {zero: jnp.ones((), value.dtype)}
    for order in range(1, max(map(sum, indices)) + 1):
        derivative = _slope(derivative)
        rate = derivative(inner[zero]) / math.factorial(order)
        power = _product(power, step, indices)
        for index, v in power.items():
            outer[index] = outer[index] + rate * v if index in outer else rate * v
    return outer


def _slope(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),))[1]


def _product(a: Coefficients, b: Coefficients, indices: tuple[Index, ...]) -> Coefficients:
    found: Coefficients = {}
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        index = tuple(m + n for m, n in zip(i, j, strict=True))
        if index in indices:
            found[index] = found[index] + x * y if index in found else x * y
    return found


class AskedIndices:
    """A record of the coefficients that were asked for."""

    def __init__(self) -> None:
        self.indices: set[Index] = set()


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def derivative_at(
    index: Index, asked: AskedIndices | None, coefficients: Coefficients, at: tuple[Array, ...]
) -> Array:
    """Return a coefficient as a function of the point around which the polynomial is;
    its derivatives are the coefficients of the next order.

    Arguments:
        index: the coefficient.
        asked: where to record it; None not to.
        coefficients: the coefficients.
        at: the point.
    """
    del at
    if asked is not None:
        asked.indices.add(index)
    return coefficients[index]


def _next_order(
    index: Index, asked: AskedIndices | None, primals: Any, tangents: Any
) -> tuple[Array, Any]:
    (coefficients, at), (changes, steps) = primals, tangents
    value = derivative_at(index, asked, coefficients, at)
    change = None if isinstance(changes[index], SymbolicZero) else changes[index]
    for i, step in enumerate(steps):
        if not isinstance(step, SymbolicZero):
            above = tuple(n + (i == j) for j, n in enumerate(index))
            part = above[i] * step * derivative_at(above, asked, coefficients, at)
            change = part if change is None else change + part
    return value, jnp.zeros_like(value) if change is None else change


derivative_at.defjvp(_next_order, symbolic_zeros=True)
