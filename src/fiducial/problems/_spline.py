"""A profile given by its values at a few places."""

from typing import Any

import jax.numpy as jnp
import numpy as np


class Spline:
    """A cubic spline through values at evenly spaced knots, flat at both ends, linear in the values.

    Arguments:
        lower: first knot.
        upper: last knot.
        count: number of knots.
    """

    def __init__(self, lower: float, upper: float, count: int):
        from scipy.interpolate import CubicSpline

        self.knots = np.linspace(lower, upper, count)
        each = CubicSpline(self.knots, np.eye(count), bc_type="clamped")
        self._coefficients = each.c  # (power, piece, value)

    def __call__(self, x: Any, values: Any) -> Any:
        piece = jnp.clip(jnp.searchsorted(jnp.asarray(self.knots), x) - 1, 0, len(self.knots) - 2)
        beyond = x - jnp.asarray(self.knots)[piece]
        c = jnp.asarray(self._coefficients)[:, piece] @ values
        return ((c[0] * beyond + c[1]) * beyond + c[2]) * beyond + c[3]
