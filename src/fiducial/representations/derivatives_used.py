"""Which derivatives of a function a user's quantity is made of, found out by asking
it.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..device import run_once
from .taylor import Coefficients, Index, UsedIndices, derivative_at, with_lower

_DRAWS = 4
_HIGHEST = 6
"""Order of the highest derivative that is looked for."""

AtPoint = Callable[[Callable[[tuple[Array, ...]], Array], Array, Array], Array]
"""``(function, row, number) -> number``: made of a function of the coordinates at a
point; the number is a seed for what else it needs.
"""


def all_indices(coordinates: int, order: int) -> tuple[Index, ...]:
    """Those of all derivatives up to an order.

    Example:
        >>> all_indices(2, 1)
        ((0, 0), (0, 1), (1, 0))
    """
    return tuple(
        i for i in itertools.product(range(order + 1), repeat=coordinates) if sum(i) <= order
    )


def indices_used(quantity: AtPoint, rows: np.ndarray, outputs: int) -> tuple[Index, ...] | None:
    """Which derivatives of a function a quantity at a point is made of, or None if it
    looks beyond the point.

    The derivatives are those it asks for. Then it is given random functions, and
    polynomials that have these derivatives in common with them and no others; if they
    make a difference, it evaluates the function elsewhere.

    Arguments:
        quantity: the quantity.
        rows: points, one a row.
        outputs: number of values of the function.
    """
    coordinates, seen = rows.shape[1], UsedIndices()
    zero = (0,) * coordinates
    every = all_indices(coordinates, _HIGHEST)
    shapes = {index: jax.ShapeDtypeStruct((outputs,), jnp.float64) for index in every}

    def of_coefficients(
        coefficients: Coefficients, row: Array, seed: Array, seen: UsedIndices | None = None
    ) -> Array:
        return quantity(lambda at: derivative_at(zero, seen, coefficients, at), row, seed)

    try:
        jax.eval_shape(
            partial(of_coefficients, seen=seen), shapes, jnp.asarray(rows[0]), jnp.asarray(0)
        )
    except KeyError:  # of higher order than any we look for
        return None
    used = with_lower([zero, *seen.indices])
    generator = np.random.default_rng(0)
    sizes = 10.0 ** generator.uniform(-1, 1, (_DRAWS, len(rows), 1))
    drawn = {
        index: jnp.asarray(sizes * generator.standard_normal((_DRAWS, len(rows), outputs)))
        for index in used
    }
    bends = jnp.asarray(generator.standard_normal((_DRAWS, len(rows), coordinates)))

    def differ(
        coefficients: Coefficients, bend: Array, row: Array, seed: Array
    ) -> tuple[Array, Array]:
        def elsewhere(at: tuple[Array, ...]) -> Array:
            # the same derivatives at the point, and not the same function: by products,
            # as a power of zero has no derivative
            off = [a - b for a, b in zip(at, row, strict=True)]
            total = math.prod([sum(b * o for b, o in zip(bend, off, strict=True))] * (_HIGHEST + 1))
            for index, value in coefficients.items():
                total = total + value * math.prod(
                    o for o, count in zip(off, index, strict=True) for _ in range(count)
                )
            return total

        return of_coefficients(coefficients, row, seed), quantity(elsewhere, row, seed)

    here, there = run_once(
        jax.vmap(jax.vmap(differ, (0, 0, 0, None)), (0, 0, None, 0)),
        drawn,
        bends,
        jnp.asarray(rows),
        jnp.arange(_DRAWS),
    )
    defined = np.isfinite(here) & np.isfinite(there)
    same = np.isclose(
        here, there, rtol=1e-8, atol=1e-8 * np.max(np.abs(here), where=defined, initial=0.0)
    )
    return used if defined.any() and same[defined].all() else None
