"""One group of observations, resolved against its problem."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..noise._linear_gaussian import AbstractLinearGaussian
from ..noise.base import AbstractNoise
from .coordinates import Points
from .unknowns import AbstractUnknown


@dataclass(frozen=True, eq=False)
class Group:
    """Values of one scalar quantity with a common noise model.

    Attributes:
        name: name of the group in results.
        quantity: ``(field, at, p) -> number``, the mean of the observations at a point.
        points: the point of each observation.
        sites: the distinct points, where the quantity is evaluated once.
        index: for each observation, the position of its point among ``sites``.
        y: the observed values, flat.
        shape: the shape in which the user gave the values.
        noise: the noise model, or None for exact values.
        output: the output that is observed directly, or None.
        physics: whether the quantity is the residual of the equation.
        first: for each site, the position of its first observation among the data.
        has_constant_value: whether an equation holds exactly, with one right-hand side
            at all points.
        filling: whether a rule that fills the domain chose the points, and not a user.
        real: one for each observation, zero for those that only pad a data set to the
            size of others (see ``model.placement``); None where all are real.
        real_sites: the same for sites.
        observation: position among the problem's observations of the one that the group
            belongs to; None for collocation points.
    """

    name: str
    quantity: Callable[[Any, Any, Any], Any]
    points: Points
    sites: Points
    index: np.ndarray
    y: np.ndarray
    shape: tuple[int, ...]
    noise: AbstractNoise | None
    output: str | None
    physics: bool
    first: np.ndarray
    has_constant_value: bool = False
    filling: bool = False
    real: Any = None
    real_sites: Any = None
    observation: int | None = None

    @classmethod
    def resolve(
        cls,
        name: str,
        quantity: Callable[[Any, Any, Any], Any],
        points: Points,
        y: np.ndarray,
        noise: AbstractNoise | None,
        *,
        output: str | None = None,
        physics: bool = False,
    ) -> "Group":
        """Return a group from points with a value or replicates each."""
        label = f"observations of '{name}'"
        n = len(points)
        if y.ndim == 0:
            y = np.full(n, float(y))
        if y.shape[0] != n:
            raise ValueError(
                f"{label}: {n} points but {y.shape[0]} values; give one value (or one row of"
                " replicates) per point"
            )
        if y.size == 0:
            raise ValueError(
                f"{label}: there are no values; give at least one, or leave the group out"
            )
        every = Points(points.names, np.repeat(points.array, y.size // n, axis=0))
        if noise is not None:
            noise.check(y.shape, label)
        sites, index = every.distinct()
        first = np.unique(index, return_index=True)[1]
        return cls(
            name=name,
            quantity=quantity,
            points=every,
            sites=sites,
            index=index,
            y=y.reshape(-1),
            shape=y.shape,
            noise=noise,
            output=output,
            physics=physics,
            first=first,
            has_constant_value=noise is None and physics and bool(np.ptp(y) == 0),
        )

    @property
    def exact(self) -> bool:
        """Whether the values carry no error."""
        return self.noise is None

    @property
    def linear_gaussian(self) -> bool:
        """Whether errors are Gaussian and enter the data linearly."""
        return isinstance(self.noise, AbstractLinearGaussian)

    @property
    def size(self) -> int:
        """Length of arrays with a number for each observation, padded ones included."""
        return len(self.points)

    @property
    def count(self) -> Any:
        """Number of observations."""
        return self.size if self.real is None else jnp.sum(self.real)

    @property
    def site_count(self) -> Any:
        """Number of sites."""
        return len(self.sites) if self.real_sites is None else jnp.sum(self.real_sites)

    @property
    def row_count(self) -> Any:
        """Number of residual rows: one for each site where replicates collapse, else
        one for each observation.
        """
        return self.site_count if self.exact or self.linear_gaussian else self.count

    def only_real(self, numbers: Any) -> Any:
        """Return a number for each observation with zeros for padded ones."""
        return numbers if self.real is None else numbers * self.real.astype(numbers.dtype)

    def only_real_sites(self, rows: Any) -> Any:
        """Return a row for each site with zeros for padded ones."""
        if self.real_sites is None:
            return rows
        real = self.real_sites.astype(rows.dtype)
        return rows * real.reshape((-1,) + (1,) * (rows.ndim - 1))

    @property
    def may_move(self) -> bool:
        """Whether the equation may be imposed at other points of the domain instead."""
        return self.has_constant_value and self.filling

    def thinned(self, most: int) -> "Group":
        """Return an exact group at no more than ``most`` of its sites, chosen at random
        so that no pattern of the points remains.
        """
        if len(self.sites) <= most:
            return self
        kept = np.sort(np.random.default_rng(0).choice(len(self.sites), most, replace=False))
        sites = Points(self.sites.names, self.sites.array[kept])
        first = self.first[kept]
        return dataclasses.replace(
            self,
            points=sites,
            sites=sites,
            index=np.arange(most),
            real=None if self.real is None else self.real_sites[kept],
            real_sites=None if self.real_sites is None else self.real_sites[kept],
            y=_taken(self.y, first),
            shape=(most,),
            first=first,
        )

    def noise_unknowns(self) -> dict[str, AbstractUnknown]:
        """Return the unknown parameters of the noise, with guesses from the data."""
        if self.noise is None:
            return {}
        with jax.enable_x64(True):
            return self.noise.unknowns(self.y, self.points, self.index)


def _taken(values: np.ndarray, positions: Any) -> Any:
    """Return the values at some positions, which may be traced."""
    if isinstance(positions, np.ndarray):
        return values[positions]
    return jnp.asarray(values)[positions]
