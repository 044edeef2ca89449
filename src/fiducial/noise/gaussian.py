"""Independent Gaussian errors, of known or unknown size, the same everywhere or not."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown, Positive
from .base import AbstractNoise, NoiseParameters


class Gaussian(AbstractNoise):
    """Errors ``sd * h(at) * z`` with z standard normal.

    Arguments:
        sd: known standard deviation, one number or one per observation (of the shape of
            the observed values); None when it is unknown and to be inferred.
        h: known positive function of the point that scales the errors, such as
            ``lambda t: jnp.sqrt(t)``; constant by default.

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
                " for exact values, or give sd=None to infer it"
            )
        if h is not None and not callable(h):
            raise TypeError(
                f"Gaussian(h={h!r}): h must be a function of the point, such as lambda t:"
                " jnp.sqrt(t)"
            )

    def __repr__(self) -> str:
        size = self._sd if self._sd is None or self._sd.ndim else float(self._sd)
        return f"Gaussian(sd={size}{'' if self.h is None else ', h=...'})"

    @property
    def known(self) -> bool:
        """Whether the size of the errors was given."""
        return self._sd is not None

    def check(self, shape: tuple[int, ...], label: str) -> None:
        n = math.prod(shape)
        if self._sd is not None and self._sd.ndim and self._sd.size != n:
            raise ValueError(
                f"{label}: sd has {self._sd.size} values for {n} observations; give one for each,"
                " or a single number"
            )
        if self._sd is not None and self._sd.ndim > 1 and self._sd.shape != shape:
            raise ValueError(
                f"{label}: sd has shape {self._sd.shape}, the values have {shape}; give them in the"
                " same shape"
            )

    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        shape = np.asarray(self._shape(points))
        if not (np.isfinite(shape).all() and (shape > 0).all()):
            place = points.array[np.argmax(~(np.isfinite(shape) & (shape > 0)))]
            raise ValueError(
                "Gaussian(h=...): h must be positive wherever there are observations, which it is"
                f" not at {', '.join(map(str, place))}"
            )
        if self.known:
            return {}
        scaled = y / shape
        counts = np.bincount(index)
        means = np.bincount(index, weights=scaled) / counts
        free = len(y) - len(counts)
        within = float(np.sqrt(np.sum((scaled - means[index]) ** 2) / free)) if free > 0 else 0.0
        spread = 0.1 * float(np.std(scaled)) or 0.1 * float(np.abs(scaled).max()) or 1.0
        return {"sd": Positive(guess=within or spread)}

    def _shape(self, points: Points) -> Array:
        if self.h is None:
            return jnp.ones(len(points), dtype=points.array.dtype)
        return jnp.broadcast_to(points.map(self.h), (len(points),))

    def _size(self, parameters: NoiseParameters) -> Any:
        return (
            parameters["sd"]
            if self._sd is None
            else self._sd.reshape(-1)
            if self._sd.ndim
            else float(self._sd)
        )

    def sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        if self._sd is not None and self._sd.ndim:
            raise ValueError(
                "the noise sd was given per observation, so it is not known elsewhere; give one sd,"
                " and h(at) to say how it varies"
            )
        return self._own_sd(points, parameters)

    def _own_sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        """Standard deviations of the observations themselves."""
        return self._size(parameters) * self._shape(points)

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
        self, points: Points, index: np.ndarray, k: int, parameters: NoiseParameters
    ) -> tuple[Array, Array]:
        weight = 1.0 / self._own_sd(points, parameters) ** 2
        return weight, jnp.sqrt(jax.ops.segment_sum(weight, index, k))

    def whiten_data(
        self, y: Array, points: Points, index: np.ndarray, k: int, parameters: NoiseParameters
    ) -> Array:
        weight, root = self._precision(points, index, k, parameters)
        return jax.ops.segment_sum(weight * y, index, k) / root

    def whiten_mean(
        self, mean: Array, points: Points, index: np.ndarray, k: int, parameters: NoiseParameters
    ) -> Array:
        _, root = self._precision(points, index, k, parameters)
        return root.reshape((-1,) + (1,) * (mean.ndim - 1)).astype(mean.dtype) * mean

    def estimate(
        self, mean: Array, y: Array, points: Points, parameters: NoiseParameters
    ) -> NoiseParameters:
        if self.known:
            return {}
        # A floor keeps the weights of an interpolating fit finite.
        scaled = (y - mean) / self._shape(points)
        floor = 1e-6 * jnp.sqrt(jnp.mean((y / self._shape(points)) ** 2)) + jnp.finfo(y.dtype).tiny
        return {"sd": jnp.maximum(jnp.sqrt(jnp.mean(scaled**2)), floor)}

    def resize(self, parameters: NoiseParameters, factor: Array) -> NoiseParameters:
        return {name: size * factor for name, size in parameters.items()}

    def describe(self) -> dict[str, Any]:
        size = None if self._sd is None else self._sd.tolist()
        return {"noise": "Gaussian", "sd": size, "h": self.h is not None}
