"""Local Taylor polynomials: every derivative that an equation uses, in one pass through
a network.

A nested derivative of order k carries 2^k copies of a point through the network, and
each has a reverse pass of its own. The coefficients of a Taylor polynomial are only k +
1. So an equation is evaluated with the polynomial around its point in place of the
network: the user's derivatives, however they are nested, then choose among a few
numbers."""

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
"""How often a coefficient's derivative is taken by each coordinate."""
Coefficients = dict[Index, Array]
"""Derivatives over the factorials of their index."""


def with_lower(indices: Iterable[Index]) -> tuple[Index, ...]:
    """The same with all that are needed on the way to them, lowest orders first.

    Example:
        >>> with_lower([(2, 0)])
        ((0, 0), (1, 0), (2, 0))
    """
    found = {low for index in indices for low in itertools.product(*(range(n + 1) for n in index))}
    return tuple(sorted(found, key=lambda i: (sum(i), i)))


def coordinate_series(
    places: Float[Array, "d *points"], unit: Float[Array, " d"], indices: tuple[Index, ...]
) -> Coefficients:
    """The coordinates themselves, in some unit, as polynomials of how far they are
    from a point, or from each of many.
    """
    d = len(places)
    slopes = jnp.diag(1 / unit).reshape(d, d, *(1 for _ in places.shape[1:]))
    first = {tuple(int(i == j) for j in range(d)): slopes[i] for i in range(d)}
    return {(0,) * d: places} | {index: v for index, v in first.items() if index in indices}


def compose(
    function: Callable[[Array], Array], inner: Coefficients, indices: tuple[Index, ...]
) -> Coefficients:
    """The polynomial of an elementwise function of a polynomial.

    Example:
        >>> found = compose(jnp.exp, {(0,): jnp.zeros(1), (1,): jnp.ones(1)}, ((0,), (1,), (2,)))
        >>> float(found[(2,)][0])
        0.5
    """
    zero = min(inner)  # the index of the value itself
    step = {index: v for index, v in inner.items() if index != zero}
    value, derivative = function(inner[zero]), function
    outer, power = {zero: value}, {zero: jnp.ones((), value.dtype)}
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


class UsedIndices:
    """Notes which coefficients are asked for."""

    def __init__(self) -> None:
        self.indices: set[Index] = set()


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def derivative_at(
    index: Index, seen: UsedIndices | None, coefficients: Coefficients, at: tuple[Array, ...]
) -> Array:
    """A coefficient as a function of the point that the polynomial is around, whose
    derivatives are the next coefficients.
    """
    del at
    if seen is not None:
        seen.indices.add(index)
    return coefficients[index]


def _next_order(
    index: Index, seen: UsedIndices | None, primals: Any, tangents: Any
) -> tuple[Array, Any]:
    (coefficients, at), (changes, steps) = primals, tangents
    value = derivative_at(index, seen, coefficients, at)
    change = None if isinstance(changes[index], SymbolicZero) else changes[index]
    for i, step in enumerate(steps):
        if not isinstance(step, SymbolicZero):
            above = tuple(n + (i == j) for j, n in enumerate(index))
            part = above[i] * step * derivative_at(above, seen, coefficients, at)
            change = part if change is None else change + part
    return value, jnp.zeros_like(value) if change is None else change


derivative_at.defjvp(_next_order, symbolic_zeros=True)
