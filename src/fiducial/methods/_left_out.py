"""A noise model with some of its observations left out."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..noise._linear_gaussian import AbstractLinearGaussian, SiteIndex
from ..noise.base import NoiseParameters
from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown


class LeftOut(AbstractLinearGaussian):
    """A noise model whose rows count only where ``kept`` is one, so that one compiled
    program serves every choice of observations.

    Errors must be independent. Each replicate is a row of its own.

    Attributes:
        whole: the noise model of all observations.
        kept: one for observations that count, zero for those that are left out.
    """

    whole: AbstractLinearGaussian
    kept: Float[Array, " n"]

    def check(self, shape: tuple[int, ...], label: str) -> None:
        self.whole.check(shape, label)

    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        return self.whole.unknowns(y, points, index)

    def push(self, mean: Array, z: Array, points: Points, parameters: NoiseParameters) -> Array:
        return self.whole.push(mean, z, points, parameters)

    def pull(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        return self.whole.pull(mean, y, points, parameters)

    def log_prob(self, mean: Array, y: Array, points: Points, parameters: NoiseParameters) -> Array:
        return self.whole.log_prob(mean, y, points, parameters)

    def sd(self, points: Points, parameters: NoiseParameters) -> Array:
        return self.whole.sd(points, parameters)

    def _factors(self, points: Points, parameters: NoiseParameters) -> Array:
        n = len(points)
        return self.kept * self.whole.pull(jnp.zeros(n), jnp.ones(n), points, parameters)

    def whiten_data(
        self, y: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        return y * self._factors(points, parameters)

    def whiten_mean(
        self, mean: Array, points: Points, index: SiteIndex, k: int, parameters: NoiseParameters
    ) -> Array:
        return (mean[index].T * self._factors(points, parameters)).T

    def estimate(
        self, mean: Array, y: Array, points: Points, parameters: NoiseParameters
    ) -> NoiseParameters:
        z = self.whole.pull(mean, y, points, parameters)
        return self.whole.resize(
            parameters, jnp.sqrt(jnp.sum(self.kept * z**2) / jnp.sum(self.kept))
        )

    def resize(self, parameters: NoiseParameters, factor: Array) -> NoiseParameters:
        return self.whole.resize(parameters, factor)

    def describe(self) -> dict[str, Any]:
        return self.whole.describe()
