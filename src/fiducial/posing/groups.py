"""One group of observations, resolved against its problem."""

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
        filling: whether a rule that fills the domain chose the points, and not a user.
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
    filling: bool = False
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
        """Return a group from values at points, one value or a row of replicates each."""
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
        )

    @property
    def exact(self) -> bool:
        """Whether the values carry no error."""
        return self.noise is None

    @property
    def has_constant_value(self) -> bool:
        """Whether an equation holds exactly, with one right-hand side at all points."""
        return self.exact and self.physics and bool(np.ptp(self.y) == 0)

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
            y=self.y[first],
            shape=(most,),
            first=first,
        )

    def noise_unknowns(self) -> dict[str, AbstractUnknown]:
        """Return the unknown parameters of the noise, with guesses from the data."""
        if self.noise is None:
            return {}
        with jax.enable_x64(True):
            return self.noise.unknowns(self.y, self.points, self.index)
