"""The interface of noise models. Each model is one file in ``noise/``.

A model describes a whole group of observations at once. Its errors ``z`` are normal
scores: independent and standard normal, one for each observation.
"""

import abc
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown
from ._inversion import invert_increasing

NoiseParameters = dict[str, Array]
"""Unknown parameters of a noise model by name, in the user's units."""

_QUARTILE = 0.6744897501960817
"""The upper quartile of a standard normal distribution."""
_NEWTON_STEPS = 6
"""Newton steps of an estimate, which a fit repeats in each of its steps (convention)."""
_REACHED = 1e-6
"""Largest distance of a datum from what its error gives, relative to its size and to
that of the errors, at which it counts as possible: rounding is far smaller.
"""
_FLAT = 1e-9
"""Smallest curvature by which a Newton step divides."""
_LONGEST_STEP = 1.0
"""Largest change of the logarithm of a parameter in one of them (convention)."""


class AbstractNoise(eqx.Module):
    """The distribution of the errors of a group of n observations.

    A model of independent errors needs ``push``, and ``unknowns`` if it has any.
    Everything else follows from ``push`` by inversion and automatic differentiation;
    where there is a formula, it is faster. Gaussian errors that enter the data linearly
    derive from ``AbstractLinearGaussian``.

    In all methods ``points`` has the point of each observation, repeated for
    replicates, and ``parameters`` the unknown parameters by name.
    """

    @property
    def independent(self) -> bool:
        """Whether errors are independent, and their distribution depends on mean and
        point only, not on the number of the observation.
        """
        return True

    def check(self, shape: tuple[int, ...], label: str) -> None:
        """Raise a ``ValueError`` with the fix if the model does not suit observations
        of this shape, ``(points,)`` or ``(points, replicates)``; by default it suits
        all.

        Arguments:
            shape: the shape.
            label: the observations in words, to begin the message with.
        """
        del shape, label

    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        """Return the unknown parameters, with guesses from the data ``y``; by default
        none. Raise a ``ValueError`` if the data are impossible under the model.

        Arguments:
            y: the data.
            points: the point of each.
            index: the position of each observation's point among the sites.
        """
        del y, points, index
        return {}

    @abc.abstractmethod
    def push(
        self,
        mean: Float[Array, " n"],
        z: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """Return the data for means ``mean``, the model's values, and errors ``z``: the
        quantile of each datum at the probability ``Phi(z)``. It must increase strictly
        and smoothly with ``z``, which leaves out counts.
        """

    def pull(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """Return the errors ``z`` of data ``y``: the inverse of ``push``."""
        return invert_increasing(lambda z: self.push(mean, z, points, parameters), y)

    def log_prob(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, ""]:
        """Return the log-density of the data."""
        return jnp.sum(self.log_densities(mean, y, points, parameters))

    def log_densities(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """Return the log-density of each datum, for independent errors."""
        z = self.pull(mean, y, points, parameters)
        made, slope = jax.jvp(
            lambda z: self.push(mean, z, points, parameters), (z,), (jnp.ones_like(z),)
        )
        found = -0.5 * z**2 - 0.5 * jnp.log(2 * jnp.pi) - jnp.log(slope)
        # data outside the range of the distribution have no error
        reached = jnp.abs(made - y) <= _REACHED * (jnp.abs(y) + slope)
        return jnp.where(reached, found, -jnp.inf)

    def spread(
        self, mean: Float[Array, " n"], points: Points, parameters: NoiseParameters
    ) -> Float[Array, " n"]:
        """Return the size of the errors at each point: a standard deviation, or by
        default the range between the quartiles divided by that of N(0, 1).
        """
        upper, lower = (
            self.push(mean, jnp.full_like(mean, z), points, parameters)
            for z in (_QUARTILE, -_QUARTILE)
        )
        return (upper - lower) / (2 * _QUARTILE)

    def estimate(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> NoiseParameters:
        """Return the maximum-likelihood values of the unknown parameters, given the
        means; by default by Newton steps in the logarithms of the present values, which
        must then be positive.
        """
        return most_likely(self, mean, y, points, parameters, jnp.ones_like(y))

    def resize(self, parameters: NoiseParameters, factor: Float[Array, ""]) -> NoiseParameters:
        """Return the unknown parameters for errors larger by a factor; by default all
        parameters are sizes.
        """
        return {name: size * factor for name, size in parameters.items()}

    def sizes(self, unknown: Iterable[str]) -> set[str]:
        """Return those unknown parameters that are sizes of the errors, found by
        ``resize``.
        """
        ones: Any = dict.fromkeys(unknown, np.ones(()))
        two: Any = np.full((), 2.0)
        larger = self.resize(ones, two)
        return {name for name, value in larger.items() if value != 1}

    def describe(self) -> dict[str, Any]:
        """Return the settings, in types that JSON can hold."""
        return {"noise": type(self).__name__}


def most_likely(
    noise: AbstractNoise,
    mean: Float[Array, " n"],
    y: Float[Array, " n"],
    points: Points,
    parameters: NoiseParameters,
    weights: Float[Array, " n"],
) -> NoiseParameters:
    """Return parameters of independent errors with a larger likelihood of the data, in
    which each datum has a weight: the largest, after a few calls.
    """
    if not parameters:
        return {}
    start, names = jnp.stack(list(parameters.values())), list(parameters)

    def cost(logs: Array) -> Array:
        values = dict(zip(names, start * jnp.exp(logs), strict=True))
        return -jnp.sum(weights * noise.log_densities(mean, y, points, values))

    def improve(_: Any, logs: Array) -> Array:
        values, vectors = jnp.linalg.eigh(jax.jacfwd(jax.jacfwd(cost))(logs))
        along = vectors.T @ jax.jacfwd(cost)(logs) / jnp.maximum(jnp.abs(values), _FLAT)
        step = jnp.clip(vectors @ along, -_LONGEST_STEP, _LONGEST_STEP)
        return jnp.where(cost(logs - step) < cost(logs), logs - step, logs)

    found = jax.lax.fori_loop(0, _NEWTON_STEPS, improve, jnp.zeros_like(start))
    return dict(zip(names, start * jnp.exp(found), strict=True))
