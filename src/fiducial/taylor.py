"""Local Taylor polynomials: every derivative that an equation uses, in one pass through a network.

A nested derivative of order k carries 2^k copies of a point through the network, and each has a reverse
pass of its own. The coefficients of a Taylor polynomial are only k + 1. So an equation is evaluated with
the polynomial around its point in place of the network: the user's derivatives, however they are nested, then
choose among a few numbers.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

Index = tuple[int, ...]
"""How often a coefficient's derivative is taken by each coordinate."""
Coefficients = dict[Index, Array]
"""Derivatives over the factorials of their index."""
_DRAWS = 4
_HIGHEST = 6
"""Order of the highest derivative that is looked for."""


def all_indices(coordinates: int, order: int) -> tuple[Index, ...]:
    """Those of all derivatives up to an order.

    Example:
        >>> all_indices(2, 1)
        ((0, 0), (0, 1), (1, 0))
    """
    return tuple(i for i in itertools.product(range(order + 1), repeat=coordinates) if sum(i) <= order)


def with_lower(indices: Iterable[Index]) -> tuple[Index, ...]:
    """The same with all that are needed on the way to them, lowest orders first.

    Example:
        >>> with_lower([(2, 0)])
        ((0, 0), (1, 0), (2, 0))
    """
    found = {low for index in indices for low in itertools.product(*(range(n + 1) for n in index))}
    return tuple(sorted(found, key=lambda i: (sum(i), i)))


def coordinate_series(row: Float[Array, " d"], unit: Float[Array, " d"], indices: tuple[Index, ...]) -> Coefficients:
    """The coordinates themselves, in some unit, as polynomials of how far they are from a point."""
    zero = (0,) * row.size
    first = {tuple(int(i == j) for j in range(row.size)): jnp.zeros_like(row).at[i].set(1 / unit[i]) for i in range(row.size)}
    return {zero: row} | {index: v for index, v in first.items() if index in indices}


def compose(function: Callable[[Array], Array], inner: Coefficients, indices: tuple[Index, ...]) -> Coefficients:
    """The polynomial of an elementwise function of a polynomial.

    Example:
        >>> found = compose(jnp.exp, {(0,): jnp.zeros(1), (1,): jnp.ones(1)}, ((0,), (1,), (2,)))
        >>> float(found[(2,)][0])
        0.5
    """
    zero = min(inner)
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


class Seen:
    """Notes which coefficients are asked for."""

    def __init__(self) -> None:
        self.indices: set[Index] = set()


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def derivative_at(index: Index, seen: Seen | None, coefficients: Coefficients, at: tuple[Array, ...]) -> Array:
    """A coefficient as a function of the point that the polynomial is around, whose derivatives are the next coefficients."""
    del at
    if seen is not None:
        seen.indices.add(index)
    return coefficients[index]


def _next_order(index: Index, seen: Seen | None, primals: Any, tangents: Any) -> tuple[Array, Any]:
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


Quantity = Callable[[Callable[[tuple[Array, ...]], Array], Array, Array], Array]
"""``(function, row, number) -> number``: made of a function of the coordinates at a point; the number is a seed for what else it needs."""


def indices_used(quantity: Quantity, rows: np.ndarray, outputs: int) -> tuple[Index, ...] | None:
    """Which derivatives of a function a quantity at a point is made of, or None if it looks beyond the point.

    The derivatives are those it asks for. Then it is given random functions, and polynomials that have these derivatives in common
    with them and no others; if they make a difference, it evaluates the function elsewhere.

    Arguments:
        quantity: the quantity.
        rows: points, one a row.
        outputs: number of values of the function.
    """
    coordinates, seen = rows.shape[1], Seen()
    zero = (0,) * coordinates
    every = all_indices(coordinates, _HIGHEST)
    shapes = {index: jax.ShapeDtypeStruct((outputs,), jnp.float64) for index in every}

    def of_coefficients(coefficients: Coefficients, row: Array, seed: Array, seen: Seen | None = None) -> Array:
        return quantity(lambda at: derivative_at(zero, seen, coefficients, at), row, seed)

    try:
        jax.eval_shape(partial(of_coefficients, seen=seen), shapes, jnp.asarray(rows[0]), jnp.asarray(0))
    except KeyError:  # of higher order than any we look for
        return None
    used = with_lower([zero, *seen.indices])
    generator = np.random.default_rng(0)
    sizes = 10.0 ** generator.uniform(-1, 1, (_DRAWS, len(rows), 1))
    drawn = {index: jnp.asarray(sizes * generator.standard_normal((_DRAWS, len(rows), outputs))) for index in used}
    bends = jnp.asarray(generator.standard_normal((_DRAWS, len(rows), coordinates)))

    def differ(coefficients: Coefficients, bend: Array, row: Array, seed: Array) -> tuple[Array, Array]:
        def elsewhere(at: tuple[Array, ...]) -> Array:
            # the same derivatives at the point, and not the same function: by products, as a power of zero has no derivative
            off = [a - b for a, b in zip(at, row, strict=True)]
            total = math.prod([sum(b * o for b, o in zip(bend, off, strict=True))] * (_HIGHEST + 1))
            for index, value in coefficients.items():
                total = total + value * math.prod(o for o, count in zip(off, index, strict=True) for _ in range(count))
            return total

        return of_coefficients(coefficients, row, seed), quantity(elsewhere, row, seed)

    here, there = jax.jit(jax.vmap(jax.vmap(differ, (0, 0, 0, None)), (0, 0, None, 0)))(drawn, bends, jnp.asarray(rows), jnp.arange(_DRAWS))
    defined = np.isfinite(here) & np.isfinite(there)
    same = np.isclose(here, there, rtol=1e-8, atol=1e-8 * np.max(np.abs(here), where=defined, initial=0.0))
    return used if defined.any() and same[defined].all() else None
