"""Independent Gaussian errors of known or unknown size."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown, Positive
from ._linear_gaussian import AbstractLinearGaussian, SiteIndex
from .base import NoiseParameters

_SMALLEST_SIZE = 1e-6
"""Smallest estimate of an error size, relative to the data; it keeps the weights of an
interpolating fit finite.
"""
_GUESS = 0.1
"""Guess of an error size without replicates, relative to the variation of the data."""


class Gaussian(AbstractLinearGaussian):
    """Errors ``sd * h(at) * z`` with z standard normal.

    Arguments:
        sd: known standard deviation, one number or one for each observation (in the
            shape of the observed values); None to infer it.
        h: known positive function of the point by which the errors are scaled, such as
            ``lambda t: jnp.sqrt(t)``; one by default.

    Example:
        >>> Gaussian(sd=0.05)
        Gaussian(sd=0.05)
        >>> Gaussian(h=jnp.sqrt).known
        False
    """

    _sd: np.ndarray | None
    h: Callable[[Any], Any] | None

    def __init__(
        self,
        sd: float | Sequence[float] | np.ndarray | None = None,
        h: Callable[[Any], Any] | None = None,
    ):
        self._sd = None if sd is None else np.asarray(sd, dtype=float)
        self.h = h
        if self._sd is not None and not (np.isfinite(self._sd).all() and (self._sd > 0).all()):
            raise ValueError(
                f"Gaussian(sd={sd!r}): the standard deviation must be positive; leave the noise out"
                " for exact values, or leave sd out to infer it"
            )
        if h is not None and not callable(h):
            raise TypeError(
                f"Gaussian(h={h!r}): h must be a function of the point, such as"
                " h=lambda t: jnp.sqrt(t)"
            )

    def __repr__(self) -> str:
        size = self._sd if self._sd is None or self._sd.ndim else float(self._sd)
        return f"Gaussian(sd={size}{'' if self.h is None else ', h=...'})"

    @property
    def known(self) -> bool:
        """Whether the size of the errors was given."""
        return self._sd is not None

    @property
    def independent(self) -> bool:
        return self._sd is None or not self._sd.ndim

    def check(self, shape: tuple[int, ...], label: str) -> None:
        n = math.prod(shape)
        if self._sd is not None and self._sd.ndim and self._sd.size != n:
            raise ValueError(
                f"{label}: sd has {self._sd.size} values for {n} observations; give one for each"
                " observation, or a single number"
            )
        if (
            self._sd is not None
            and self._sd.ndim > 1
            and _long_axes(self._sd.shape) != _long_axes(shape)
        ):
            raise ValueError(
                f"{label}: sd has shape {self._sd.shape}, the values have {shape}; give them in the"
                " same shape"
            )

    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        h = np.asarray(self._h(points))
        allowed = np.isfinite(h) & (h > 0)
        if not allowed.all():
            i = int(np.argmin(allowed))
            place = ", ".join(map(str, points.array[i]))
            raise ValueError(
                "Gaussian(h=...): h must be positive wherever there are observations, which it is"
                f" not at {place}, where it is {h[i]:g}; give another function"
            )
        if self.known:
            return {}
        scaled = y / h
        counts = np.bincount(index)
        means = np.bincount(index, weights=scaled) / counts
        freedom = len(y) - len(counts)
        among_replicates = 0.0
        if freedom > 0:
            among_replicates = float(np.sqrt(np.sum((scaled - means[index]) ** 2) / freedom))
        variation = float(np.std(scaled))
        largest = float(np.abs(scaled).max())
        guess = among_replicates or _GUESS * variation or _GUESS * largest or 1.0
        return {"sd": Positive(guess=guess)}

    def _h(self, points: Points) -> Array:
        """Return ``h`` at the points."""
        if self.h is None:
            return jnp.ones(len(points), dtype=points.array.dtype)
        return jnp.broadcast_to(points.map(self.h), (len(points),))

    def _size(self, parameters: NoiseParameters) -> Any:
        """Return the known or the unknown ``sd``, a number or a vector."""
        if self._sd is None:
            return parameters["sd"]
        return self._sd.reshape(-1) if self._sd.ndim else float(self._sd)

    def sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        if self._sd is not None and self._sd.ndim:
            raise ValueError(
                "the noise sd was given per observation, so it is not known for new ones; give one"
                " sd, and h(at) for how it varies"
            )
        return self._own_sd(points, parameters)

    def spread(self, mean: Array, points: Points, parameters: NoiseParameters) -> Array:
        return jnp.broadcast_to(self._own_sd(points, parameters), mean.shape)

    def _own_sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        """Return the standard deviations of the observations."""
        return self._size(parameters) * self._h(points)

    def push(self, mean: Array, z: Array, points: Points, parameters: NoiseParameters) -> Array:
        return mean + self._own_sd(points, parameters) * z

    def pull(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        return (y - mean) / self._own_sd(points, parameters)

    def log_prob(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        z = self.pull(mean, y, points, parameters)
        return -jnp.sum(
            0.5 * z**2 + jnp.log(self._own_sd(points, parameters)) + 0.5 * jnp.log(2 * jnp.pi)
        )

    def _precision(
        self, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> tuple[Array, Array]:
        """Return the precision of each observation, and the square root of that of each
        site's mean.
        """
        weight = 1.0 / self._own_sd(points, parameters) ** 2
        return weight, jnp.sqrt(jax.ops.segment_sum(weight, index, k))

    def whiten_data(
        self, y: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        weight, root = self._precision(points, index, k, parameters)
        return jax.ops.segment_sum(weight * y, index, k) / root

    def whiten_mean(
        self, mean: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        _, root = self._precision(points, index, k, parameters)
        return root.reshape((-1,) + (1,) * (mean.ndim - 1)).astype(mean.dtype) * mean

    def estimate(
        self, mean: Array, y: Array, points: Points, parameters: NoiseParameters
    ) -> NoiseParameters:
        if self.known:
            return {}
        scaled = (y - mean) / self._h(points)
        size = jnp.sqrt(jnp.mean((y / self._h(points)) ** 2))
        floor = _SMALLEST_SIZE * size + jnp.finfo(y.dtype).tiny
        return {"sd": jnp.maximum(jnp.sqrt(jnp.mean(scaled**2)), floor)}

    def resize(self, parameters: NoiseParameters, factor: Array) -> NoiseParameters:
        return {name: size * factor for name, size in parameters.items()}

    def describe(self) -> dict[str, Any]:
        size = None if self._sd is None else self._sd.tolist()
        return {"noise": "Gaussian", "sd": size, "h": self.h is not None}


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Leave out axes of length one, so that a column is as good as a vector."""
    return tuple(length for length in shape if length > 1)
