"""Gaussian errors that are correlated between nearby points."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown, Positive
from ._linear_gaussian import AbstractLinearGaussian, SiteIndex
from .base import NoiseParameters

_STEP = 1.2
"""Factor by which an unknown length is tried longer and shorter in each estimate."""
_SHORTEST = 0.1
"""Smallest length, in distances of neighbours: their errors are then independent."""
_LONGEST = 5.0
"""Largest length, in ranges of the points: their errors are then almost one number."""
_SMALLEST_SIZE = 1e-6
"""Smallest estimate of the error size, relative to the data; it keeps the weights of an
interpolating fit finite.
"""
_INDEPENDENT = 0.02
"""Share of the variance that is independent between measurements, which keeps
covariances well conditioned.
"""


class Correlated(AbstractLinearGaussian):
    """Errors of one size whose correlation decays as ``exp(-sum |distance| / length)``
    over named coordinates.

    Replicates of a point belong to different series of measurements (the first of each
    point form one series, the second another, and so on), which are independent.

    Arguments:
        over: names of the coordinates; errors that differ in any other coordinate are
            independent.
        sd: known standard deviation; None to infer it.
        length: known correlation length along each of the coordinates, one number or a
            mapping; None to estimate them.

    An unknown size is inferred with its uncertainty. Unknown lengths are estimated by
    maximum likelihood given the fit and then fixed: intervals do not account for their
    uncertainty. Where the solution is flexible enough to follow slow variations of the
    errors, lengths and size are underestimated; give them where they are known.

    Example:
        >>> Correlated(over=("t",), length=0.5)
        Correlated(over=('t',), sd=None, length={'t': 0.5})
    """

    over: tuple[str, ...]
    _sd: float | None
    length: dict[str, float] | None

    def __init__(
        self,
        over: Sequence[str],
        sd: float | None = None,
        length: float | Mapping[str, float] | None = None,
    ):
        if isinstance(over, str) or not over:
            raise TypeError(
                f"Correlated(over={over!r}): give names of coordinates, such as over=('t',)"
            )
        self.over = tuple(over)
        if sd is not None and not (np.isfinite(sd) and sd > 0):
            raise ValueError(
                f"Correlated(sd={sd!r}): the standard deviation must be positive; leave it out to"
                " infer it"
            )
        self._sd = None if sd is None else float(sd)
        given = dict.fromkeys(self.over, length) if isinstance(length, int | float) else length
        if given is not None and (
            set(given) != set(self.over)
            or not all(np.isfinite(v) and v > 0 for v in given.values())
        ):
            raise ValueError(
                f"Correlated(length={length!r}): give a positive length for each of"
                f" {', '.join(self.over)}, or leave it out to estimate them"
            )
        self.length = None if given is None else {c: float(v) for c, v in given.items()}

    def __repr__(self) -> str:
        return f"Correlated(over={self.over}, sd={self._sd}, length={self.length})"

    def check(self, shape: tuple[int, ...], label: str) -> None:
        if math.prod(shape) < 2:
            raise ValueError(
                f"{label}: one observation has no correlation with others; use Gaussian(sd=...)"
            )

    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        missing = [c for c in self.over if c not in points.names]
        if missing:
            raise ValueError(
                f"Correlated(over={self.over}): there is no coordinate {missing[0]}; give some of"
                f" {', '.join(points.names)}"
            )
        found: dict[str, AbstractUnknown] = {}
        if self._sd is None:
            found["sd"] = Positive(guess=0.1 * float(np.std(y)) or 1.0)
        if self.length is None:
            for c in self.over:
                values = np.unique(points.coordinates()[c])
                if len(values) < 2:
                    raise ValueError(
                        f"Correlated(over={self.over}): all observations have the same {c}, so no"
                        f" length along it can be estimated; leave {c} out, or give the length"
                    )
                found[f"length_{c}"] = Positive(guess=2 * float(np.ptp(values)) / (len(values) - 1))
        return found

    def _lengths(self, parameters: NoiseParameters) -> list[Any]:
        return [
            parameters[f"length_{c}"] if self.length is None else self.length[c] for c in self.over
        ]

    def _size(self, parameters: NoiseParameters) -> Any:
        return parameters["sd"] if self._sd is None else self._sd

    def _factor(self, points: Points, lengths: Sequence[Any]) -> Array:
        """Return the Cholesky factor of the correlations between observations."""
        series = _series_of(points)
        decay: Any = 0.0
        correlated = series[:, None] == series
        for c, values in points.coordinates().items():
            distance = abs(values[:, None] - values)
            if c in self.over:
                decay = decay + distance / lengths[self.over.index(c)]
            else:
                correlated = correlated & (distance == 0)
        shared = jnp.where(correlated, jnp.exp(-decay), 0.0)
        independent = _INDEPENDENT * jnp.eye(len(points))
        return jnp.linalg.cholesky((1 - _INDEPENDENT) * shared + independent)

    def _own_factor(self, points: Points, parameters: NoiseParameters) -> Array:
        """Return the Cholesky factor of the covariance of the observations."""
        return self._size(parameters) * self._factor(points, self._lengths(parameters))

    def sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        return jnp.broadcast_to(jnp.asarray(self._size(parameters)), (len(points),))

    def push(self, mean: Array, z: Array, points: Points, parameters: NoiseParameters) -> Array:
        return mean + self._own_factor(points, parameters) @ z

    def pull(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        return jsl.solve_triangular(self._own_factor(points, parameters), y - mean, lower=True)

    def log_prob(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        factor = self._own_factor(points, parameters)
        z = jsl.solve_triangular(factor, y - mean, lower=True)
        return -jnp.sum(0.5 * z**2 + jnp.log(jnp.diagonal(factor)) + 0.5 * jnp.log(2 * jnp.pi))

    def _collapse(
        self, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> tuple[Array, Array, Array]:
        """Return the Cholesky factor ``L`` of the covariance, the whitened design
        ``L^-1 A`` with the matrix ``A`` that repeats means for their observations, and
        the Cholesky factor of its Gram matrix.
        """
        factor = self._own_factor(points, parameters)
        design = jsl.solve_triangular(
            factor, jax.nn.one_hot(index, k, dtype=factor.dtype), lower=True
        )
        return factor, design, jnp.linalg.cholesky(design.T @ design)

    def whiten_data(
        self, y: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        factor, design, root = self._collapse(points, index, k, parameters)
        return jsl.solve_triangular(
            root, design.T @ jsl.solve_triangular(factor, y, lower=True), lower=True
        )

    def whiten_mean(
        self, mean: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        root = self._collapse(points, index, k, parameters)[2]
        return (root.T.astype(mean.dtype) @ mean.reshape(k, -1)).reshape(mean.shape)

    def estimate(
        self, mean: Array, y: Array, points: Points, parameters: NoiseParameters
    ) -> NoiseParameters:
        """Return the most likely size, for lengths that are one step closer to their
        most likely values; a fit makes an estimate in each of its steps.
        """

        def cost(lengths: Array) -> tuple[Array, Array]:
            """Return the negative log-likelihood, up to a constant, and the mean square
            of the decorrelated residuals.
            """
            factor = self._factor(points, list(lengths))
            variance = jnp.mean(jsl.solve_triangular(factor, y - mean, lower=True) ** 2)
            size = variance if self._sd is None else jnp.asarray(self._sd**2)
            return (
                0.5 * y.size * (jnp.log(size) + variance / size)
                + jnp.sum(jnp.log(jnp.diagonal(factor))),
                variance,
            )

        now = jnp.stack([jnp.asarray(v, y.dtype) for v in self._lengths(parameters)])
        tried = now[None]
        if self.length is None:
            tried = now * jnp.asarray(
                _STEP ** np.array(list(product((-1, 0, 1), repeat=len(self.over))), float)
            )
            tried = jnp.clip(tried, *self._reach(points))
        values, variances = jax.lax.map(cost, tried)
        best = jnp.argmin(values)
        found = {}
        if self._sd is None:
            floor = _SMALLEST_SIZE * jnp.sqrt(jnp.mean(y**2)) + jnp.finfo(y.dtype).tiny
            found["sd"] = jnp.maximum(jnp.sqrt(variances[best]), floor)
        if self.length is None:
            found |= {f"length_{c}": tried[best, i] for i, c in enumerate(self.over)}
        return found

    def _reach(self, points: Points) -> tuple[Array, Array]:
        """Return the shortest and the longest length along each coordinate."""
        values = jnp.stack([jnp.sort(points.coordinates()[c]) for c in self.over])
        gaps = jnp.diff(values)
        nearest = jnp.min(jnp.where(gaps > 0, gaps, jnp.inf), axis=1)
        return _SHORTEST * nearest, _LONGEST * (values[:, -1] - values[:, 0])

    def resize(self, parameters: NoiseParameters, factor: Array) -> NoiseParameters:
        return {
            name: value * factor if name == "sd" else value for name, value in parameters.items()
        }

    def describe(self) -> dict[str, Any]:
        return {
            "noise": "Correlated",
            "over": list(self.over),
            "sd": self._sd,
            "length": self.length,
        }


def _series_of(points: Points) -> Array:
    """Return the series of measurements to which each belongs: the number of equal
    points before it. Unlike ``Points.replicate_numbers`` it can be traced.
    """
    rows = jnp.asarray(points.array)
    equal = jnp.all(rows[:, None] == rows, axis=2)
    return jnp.sum(jnp.tril(equal, -1), axis=1)
