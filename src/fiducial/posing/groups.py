"""One group of observations, resolved against its problem: what a method computes
with.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..noise.base import AbstractNoise
from .coordinates import Points
from .unknowns import AbstractUnknown


@dataclass(frozen=True, eq=False)
class Group:
    """Values of one scalar quantity with a common noise model.

    Attributes:
        name: what the group is called in results.
        quantity: ``(field, at, p) -> number``, the mean of the observations at a point.
        points: the point of each observation.
        sites: the distinct points, where the quantity is evaluated once.
        index: for each observation, the position of its point among ``sites``.
        y: the observed values, flat.
        shape: the shape in which the user gave them.
        noise: the noise model, or None for exact values.
        output: the output that is observed directly, or None.
        physics: whether the group states the equation.
        first: for each site, the position of its first observation among the data.
        filling: whether its points fill the domain by a rule, and were not chosen one
            by one.
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
    filling: bool = False

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
        """Match values to points, replicates included."""
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
            name,
            quantity,
            every,
            sites,
            index,
            y.reshape(-1),
            y.shape,
            noise,
            output,
            physics,
            first,
        )

    def shares_points(self, other: "Group") -> bool:
        """Whether another group has as many values at the same points, in the same
        order.
        """
        return self.points.names == other.points.names and np.array_equal(
            self.points.array, other.points.array
        )

    @property
    def exact(self) -> bool:
        """Whether the values carry no error."""
        return self.noise is None

    @property
    def has_constant_value(self) -> bool:
        """Whether it states an equation with the same value at all its points."""
        return self.exact and self.physics and bool(np.ptp(self.y) == 0)

    @property
    def may_move(self) -> bool:
        """Whether the equation may as well be asked at other points of the domain."""
        return self.has_constant_value and self.filling

    def thinned(self, most: int) -> "Group":
        """An exact group at some of its sites, chosen at random so that no pattern
        of the points is kept; the data remain those of all.
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
            y=self.y[first],
            shape=(most,),
            first=first,
        )

    def noise_unknowns(self) -> dict[str, AbstractUnknown]:
        """Unknown parameters of the noise, with pilot guesses from the data."""
        if self.noise is None:
            return {}
        with jax.enable_x64(True):
            return self.noise.unknowns(self.y, self.points, self.index)
