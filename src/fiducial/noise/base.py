"""What a noise model must be able to do. Each model is one file in ``noise/``.

A model speaks for a whole group of observations at once, so that errors may be
correlated: nothing here assumes one error per observation to be independent of the
rest. Latent errors ``z`` are standardised: independent N(0, 1), one per observation.
"""

import abc
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.unknowns import AbstractUnknown

NoiseParameters = dict[str, Array]


class AbstractNoise(eqx.Module):
    """The distribution of a group of errors.

    ``points`` are those of the observations, one for each of n, replicates repeated;
    ``index`` maps every observation to its distinct location among k, where means are
    evaluated once.
    """

    @abc.abstractmethod
    def check(self, shape: tuple[int, ...], label: str) -> None:
        """Raise a ``ValueError`` with the fix if the model cannot serve observations
        in this shape: points, or points and replicates.
        """

    @abc.abstractmethod
    def unknowns(
        self, y: np.ndarray, points: Points, index: np.ndarray
    ) -> dict[str, AbstractUnknown]:
        """Unknown parameters of the noise, with pilot guesses from the data."""

    @abc.abstractmethod
    def push(
        self,
        mean: Float[Array, " n"],
        z: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """The data that errors ``z`` make of ``mean``."""

    @abc.abstractmethod
    def pull(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, " n"]:
        """The errors that make ``y`` of ``mean``: the inverse of ``push``."""

    @abc.abstractmethod
    def log_prob(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> Float[Array, ""]:
        """Log-density of the data."""

    @abc.abstractmethod
    def sd(self, points: Points, parameters: NoiseParameters) -> Float[Array, " n"]:
        """Standard deviation of a new measurement at any points; raises where it is
        not known.
        """

    @abc.abstractmethod
    def whiten_data(
        self,
        y: Float[Array, " n"],
        points: Points,
        index: np.ndarray,
        k: int,
        parameters: NoiseParameters,
    ) -> Float[Array, " m"]:
        """The data as m rows with unit variance; replicates collapse to one row for
        each distinct location, so that m is k.
        """

    @abc.abstractmethod
    def whiten_mean(
        self,
        mean: Float[Array, "k *columns"],
        points: Points,
        index: np.ndarray,
        k: int,
        parameters: NoiseParameters,
    ) -> Float[Array, "m *columns"]:
        """The same linear map for means at distinct locations, or for columns of
        their Jacobian.
        """

    @abc.abstractmethod
    def estimate(
        self,
        mean: Float[Array, " n"],
        y: Float[Array, " n"],
        points: Points,
        parameters: NoiseParameters,
    ) -> NoiseParameters:
        """Maximum-likelihood values of the unknown parameters given the means."""

    @abc.abstractmethod
    def resize(self, parameters: NoiseParameters, factor: Float[Array, ""]) -> NoiseParameters:
        """The unknown parameters for errors larger by a factor."""

    def sizes(self, unknown: Iterable[str]) -> set[str]:
        """Those of the unknown parameters that are sizes of errors, which grow with
        the errors.
        """
        ones = dict.fromkeys(unknown, np.ones(()))
        return {name for name, value in self.resize(ones, np.full((), 2.0)).items() if value != 1}  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        """Settings for the record, as JSON can hold them."""
        return {"noise": type(self).__name__}
