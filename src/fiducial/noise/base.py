"""The interface of noise models. Each model is one file in ``noise/``.

A model describes a whole group of observations at once, because errors may be
correlated. Latent errors ``z`` are independent and standard normal, one for each
observation.
"""

import abc
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown

NoiseParameters = dict[str, Array]
"""Unknown parameters of a noise model by name, in the user's units."""

SiteIndex = Int[Array | np.ndarray, " n"]
"""For each observation the position of its point among the sites."""


class AbstractNoise(eqx.Module):
    """The distribution of the errors of a group of n observations at k sites.

    In all methods ``points`` has the point of each observation, repeated for
    replicates, ``index`` the position of each observation's point among the sites,
    and ``parameters`` the unknown parameters by name.
    """

    @property
    def independent(self) -> bool:
        """Whether errors are independent, and their distribution depends on the point
        only, not on the number of the observation.
        """
        return False

    @abc.abstractmethod
    def check(self, shape: tuple[int, ...], label: str) -> None:
        """Raise a ``ValueError`` with the fix if the model does not suit observations
        of this shape, ``(points,)`` or ``(points, replicates)``.

        Arguments:
            shape: the shape.
            label: the observations in words, to begin the message with.
        """

    @abc.abstractmethod
    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        """Return the unknown parameters, with guesses from the data ``y``."""

    @abc.abstractmethod
    def push(
        self,
        mean: Float[Array, " n"],
        z: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """Return the data with means ``mean`` and errors ``z``."""

    @abc.abstractmethod
    def pull(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """Return the errors ``z`` of data ``y``: the inverse of ``push``."""

    @abc.abstractmethod
    def log_prob(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, ""]:
        """Return the log-density of the data."""

    @abc.abstractmethod
    def sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        """Return the standard deviation of a new measurement at any points; raise a
        ``ValueError`` where it is not known.
        """

    @abc.abstractmethod
    def whiten_data(
        self,
        y: Float[Array, " n"],
        points: Points,
        index: SiteIndex,
        k: int,
        parameters: NoiseParameters,
    ) -> Float[Array, " m"]:
        """Return the data as m independent rows of unit variance, without loss of
        information about the means; replicates collapse to one row for each site.
        """

    @abc.abstractmethod
    def whiten_mean(
        self,
        mean: Float[Array, "k *columns"],
        points: Points,
        index: SiteIndex,
        k: int,
        parameters: NoiseParameters,
    ) -> Float[Array, "m *columns"]:
        """Return means at the sites, or columns of their Jacobian, mapped to the rows
        of ``whiten_data``.
        """

    @abc.abstractmethod
    def estimate(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> NoiseParameters:
        """Return the maximum-likelihood values of the unknown parameters, given the
        means.
        """

    @abc.abstractmethod
    def resize(self, parameters: NoiseParameters, factor: Float[Array, ""]) -> NoiseParameters:
        """Return the unknown parameters for errors larger by a factor."""

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
