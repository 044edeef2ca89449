"""Which derivatives of a function a user's quantity depends on, found by trying it."""

import itertools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..device import run_once
from .taylor import AskedIndices, Coefficients, Index, derivative_at, with_lower

_TRIALS = 4
"""Number of random functions that a quantity is tried with at each point."""
_HIGHEST = 6
"""Order of the highest derivative that is looked for."""
_TOLERANCE = 1e-8
"""Relative difference up to which two values of a quantity count as equal."""

PointFunction = Callable[[tuple[Array, ...]], Array]
"""A function of the coordinates of a point."""
AtPoint = Callable[[PointFunction, Array, Array], Array]
"""A quantity ``(function, row, seed) -> number`` of a function at the point ``row``; the
seed is for random numbers that it needs besides.
"""


def all_indices(coordinates: int, order: int) -> tuple[Index, ...]:
    """Return the indices of all derivatives up to an order.

    Example:
        >>> all_indices(2, 1)
        ((0, 0), (0, 1), (1, 0))
    """
    return tuple(
        i for i in itertools.product(range(order + 1), repeat=coordinates) if sum(i) <= order
    )


def indices_used(quantity: AtPoint, rows: np.ndarray, outputs: int) -> tuple[Index, ...] | None:
    """Return the derivatives of a function that a quantity at a point depends on, or
    None if it also evaluates the function elsewhere.

    The derivatives are those that it asks for. It is then compared for random Taylor
    polynomials and for functions that share only these derivatives with them: where
    its values differ, it evaluates the function elsewhere.

    Arguments:
        quantity: the quantity.
        rows: coordinates of the points, one point a row.
        outputs: number of values of the function.
    """
    asked = _indices_asked(quantity, rows[0], outputs)
    if asked is None:
        return None
    used = with_lower(asked)
    of_polynomial, of_other = _trial_values(quantity, rows, used, outputs)
    defined = np.isfinite(of_polynomial) & np.isfinite(of_other)
    largest = np.max(np.abs(of_polynomial), where=defined, initial=0.0)
    same = np.isclose(of_polynomial, of_other, rtol=_TOLERANCE, atol=_TOLERANCE * largest)
    return used if defined.any() and same[defined].all() else None


def _indices_asked(quantity: AtPoint, row: np.ndarray, outputs: int) -> list[Index] | None:
    """Return the derivatives that a quantity asks for, that of order zero included;
    None if one of them is of higher order than ``_HIGHEST``.
    """
    zero = (0,) * row.size
    asked = AskedIndices()

    def value(coefficients: Coefficients, row: Array, seed: Array) -> Array:
        return quantity(lambda at: derivative_at(zero, asked, coefficients, at), row, seed)

    every = all_indices(row.size, _HIGHEST)
    shapes = {index: jax.ShapeDtypeStruct((outputs,), jnp.float64) for index in every}
    try:
        jax.eval_shape(value, shapes, jnp.asarray(row), jnp.asarray(0))
    except KeyError:
        return None
    return [zero, *asked.indices]


def _trial_values(
    quantity: AtPoint, rows: np.ndarray, used: tuple[Index, ...], outputs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a quantity's values for random Taylor polynomials, and for functions that
    have the same derivatives at the point and differ elsewhere.
    """
    points, coordinates = rows.shape
    zero = (0,) * coordinates
    generator = np.random.default_rng(0)
    sizes = 10.0 ** generator.uniform(-1, 1, (_TRIALS, points, 1))
    drawn = {
        index: jnp.asarray(sizes * generator.standard_normal((_TRIALS, points, outputs)))
        for index in used
    }
    slopes = jnp.asarray(generator.standard_normal((_TRIALS, points, coordinates)))

    def both(
        coefficients: Coefficients, slope: Array, row: Array, seed: Array
    ) -> tuple[Array, Array]:
        def other(at: tuple[Array, ...]) -> Array:
            # By products: the derivative of a power of zero is not a number.
            off = [a - b for a, b in zip(at, row, strict=True)]
            along = sum(s * o for s, o in zip(slope, off, strict=True))
            total = math.prod([along] * (_HIGHEST + 1))
            for index, value in coefficients.items():
                total = total + value * math.prod(
                    o for o, count in zip(off, index, strict=True) for _ in range(count)
                )
            return total

        def polynomial(at: tuple[Array, ...]) -> Array:
            return derivative_at(zero, None, coefficients, at)

        return quantity(polynomial, row, seed), quantity(other, row, seed)

    over_points = jax.vmap(both, (0, 0, 0, None))
    over_trials = jax.vmap(over_points, (0, 0, None, 0))
    return run_once(over_trials, drawn, slopes, jnp.asarray(rows), jnp.arange(_TRIALS))
