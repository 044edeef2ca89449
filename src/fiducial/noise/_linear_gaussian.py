"""Gaussian errors that enter the data linearly, with any covariance."""

import abc

import numpy as np
from jaxtyping import Array, Float, Int

from ..posing.coordinates import Points
from .base import AbstractNoise, NoiseParameters

SiteIndex = Int[Array | np.ndarray, " n"]
"""For each observation the position of its point among the sites."""


class AbstractLinearGaussian(AbstractNoise):
    """Errors ``L z`` with z standard normal and a matrix ``L`` that does not depend on
    the means, for n observations at k sites.

    Means and data can then be whitened: mapped linearly to rows of unit variance, in
    which replicates collapse without loss of information. All methods serve such
    errors. ``index`` has the position of each observation's point among the sites.
    """

    @property
    def independent(self) -> bool:
        return False

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

    def spread(
        self, mean: Float[Array, " n"], points: Points, parameters: NoiseParameters
    ) -> Float[Array, " n"]:
        return self.sd(points, parameters)
