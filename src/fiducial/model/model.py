"""A problem made computable: means of every group, their Jacobians and residual rows,
as functions of one flat parameter vector ``theta``.

All functions are for one data set and one ``theta``; the driver batches them."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..noise.base import NoiseParameters
from ..posing.coordinates import Points
from ..posing.fields import Field
from ..posing.groups import Group
from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown
from ..representations.base import AbstractRepresentation
from ..representations.layered import AbstractLayered
from .collocation_points import points_may_move, shift_points, thin_points
from .flat import ravel
from .initial import initial_tree
from .layout import Layout
from .noise_sizes import data_precision, noise_parameters, replace_noise
from .placement import Placement, placed_groups, placement_of
from .residuals import (
    estimated_noise,
    resized_noise,
    standardised_errors,
    whitened_residuals,
    whitened_rows,
)
from .whitening import whiten_data, whiten_mean

Data = dict[str, Any]
"""Observed values by group, flat."""

_UNBOUNDED = 1e4
"""Prior scale of an unknown constant, in its own unconstrained units: so wide that the
prior does not matter.
"""


@dataclass(frozen=True, eq=False)
class Model:
    """A problem as methods compute with it; made by [`bind`][fiducial.extend.bind].

    Attributes:
        problem: the problem.
        groups: its groups of observations, without those that the representation holds
            by construction.
        layout: what a parameter vector ``theta`` holds where.
        representation: the solution as a function of the parameters.
        scales: for each group the size of its residual for random networks, in its own
            unit, which makes residuals of any unit comparable.
        free_layers: how many of the network's last layers may move; None for all.
    """

    problem: Problem
    groups: tuple[Group, ...]
    layout: Layout
    representation: AbstractRepresentation
    scales: Mapping[str, Any]
    free_layers: int | None = None

    @property
    def size(self) -> int:
        """Number of parameters in ``theta``."""
        return self.layout.size

    @property
    def constant_count(self) -> int:
        """Number of unknown constants, each component of a vector counted."""
        return self.layout.constant_count

    @property
    def constant_slice(self) -> slice:
        """Where ``theta`` holds the unknown constants, unconstrained."""
        return self.layout.constants

    @property
    def noise_slice(self) -> slice:
        """Where ``theta`` holds the unknown noise parameters, unconstrained."""
        return self.layout.noise

    def locate(self, name: str) -> tuple[slice, AbstractUnknown]:
        """Return where ``theta`` holds an unknown constant, or a noise parameter such
        as ``sd_u``, and the unknown itself.
        """
        return self.layout.locate(name)

    def init(self, key: PRNGKeyArray, dtype: Any = jnp.float64) -> Float[Array, " p"]:
        """Return parameters to start from, with unknowns at their guesses."""
        with jax.enable_x64(True):
            tree = initial_tree(self.problem, self.layout.noise_unknowns, key)
            return ravel(tree).astype(dtype)

    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        """Return the unknown constants in the user's units."""
        return self.problem.constrain(self.layout.parts(theta)["unknowns"])

    def noise(self, theta: Float[Array, " p"]) -> dict[str, NoiseParameters]:
        """Return the unknown noise parameters of every noisy group, in the user's
        units.
        """
        return noise_parameters(self.layout, theta)

    def with_noise(
        self, theta: Float[Array, " p"], noise: Mapping[str, NoiseParameters]
    ) -> Float[Array, " p"]:
        """Return the parameters with other noise parameters, in the user's units."""
        return replace_noise(self.layout, theta, noise)

    def resize_noise(
        self, theta: Float[Array, " p"], fit: Float[Array, " p"], factors: Mapping[str, Array]
    ) -> Float[Array, " p"]:
        """Return the parameters with each group's errors larger than those of ``fit``
        by a factor.
        """
        return self.with_noise(theta, resized_noise(self, fit, factors))

    def estimate_noise(self, theta: Float[Array, " p"], data: Data) -> Float[Array, " p"]:
        """Return the parameters with unknown noise sizes at their maximum-likelihood
        values.
        """
        if not any(self.layout.noise_unknowns.values()):
            return theta
        return self.with_noise(theta, estimated_noise(self, theta, data))

    @property
    def data(self) -> Data:
        """The problem's own observed values."""
        return {g.name: np.asarray(g.y) for g in self.groups}

    def split_by_group(self, numbers: Any) -> dict[str, Any]:
        """Return numbers for all noisy observations, joined along the last axis, by
        group.
        """
        parts, end = {}, 0
        for g in self.groups:
            if not g.exact:
                parts[g.name] = numbers[..., end : end + g.size]
                end += g.size
        return parts

    def size_unknown(self, group: Group) -> bool:
        """Return whether the size of a group's errors is to be inferred."""
        unknowns = self.layout.noise_unknowns.get(group.name, {})
        return group.noise is not None and bool(group.noise.sizes(unknowns))

    @property
    def has_free_function(self) -> bool:
        """Whether a whole function is free: no equation holds exactly, and the
        representation could follow all data.
        """
        physics = [g for g in self.problem.groups if g.physics]
        if physics and all(g.exact for g in physics):
            return False
        sites = sum(len(g.sites) for g in self.groups if not g.exact)
        return self.representation.has_free_function(sites)

    @property
    def prior_scale(self) -> np.ndarray:
        """How far each parameter may move at a cost of one squared standard error.

        Where a function is free the data do not determine the network between them, and
        a ridge does: a change of a weight by one costs as much as one standard error.
        Random weights are of that size, whatever the units of the problem. Unknown
        constants move freely. Where the equation holds exactly there is no ridge, and
        the scale is one everywhere."""
        scale = np.ones(self.size)
        if self.has_free_function:
            scale[self.constant_slice] = _UNBOUNDED
        return scale * self.free_mask

    @property
    def free_mask(self) -> np.ndarray:
        """One for parameters that may move, zero for those of layers that are held."""
        if self.free_layers is None:
            return np.ones(self.size)
        return self.layers.last_layers_mask(self.free_layers)

    @property
    def unit_factors(self) -> Any:
        """Factors that turn an MLP's parameters into those of a network that takes
        inputs and gives outputs in the user's units, offsets left aside; ones for
        everything else.
        """
        own = self.representation
        return own.unit_factors() if isinstance(own, AbstractLayered) else np.ones(self.size)

    @property
    def layers(self) -> AbstractLayered:
        """The representation, where it is a network of layers.

        Raises:
            TypeError: when it is not.
        """
        if not isinstance(self.representation, AbstractLayered):
            raise TypeError(
                f"the solution is represented by {self.representation.name}, which has no layers;"
                " use representation='network'"
            )
        return self.representation

    @property
    def placement(self) -> Placement:
        """The numbers that may differ between data sets in one compiled program."""
        return Placement(
            groups=tuple(placement_of(g) for g in self.groups),
            scales={name: np.asarray(scale) for name, scale in self.scales.items()},
            representation=self.representation.traced(),
        )

    def placed(self, placement: Placement) -> "Model":
        """Return the model with the numbers of another data set."""
        return dataclasses.replace(
            self,
            groups=placed_groups(self.groups, placement.groups),
            scales=placement.scales,
            representation=self.representation.with_traced(placement.representation),
        )

    def thinned(self, most: int) -> "Model":
        """Return the model with at most ``most`` points for each equation that holds
        exactly.
        """
        return dataclasses.replace(self, groups=thin_points(self.groups, most))

    @property
    def points_may_move(self) -> bool:
        """Whether ``with_moved_points`` moves any points."""
        movable = self.representation.points_may_move
        return movable and points_may_move(self.groups, self.problem.domain)

    def with_moved_points(self, key: PRNGKeyArray) -> "Model":
        """Return the model with the points of the equation shifted at random.

        A network can satisfy an equation at fixed points in a plane or a space and bend
        between them; it cannot where they move. Points on a line are dense enough to
        stay, and points with a right-hand side of their own stay, too."""
        if not self.points_may_move:
            return self
        groups = shift_points(self.groups, self.problem.domain, key)
        return dataclasses.replace(self, groups=groups)

    def with_free_layers(self, layers: int | None) -> "Model":
        """Return the model with only the network's last layers, the constants and the
        noise sizes free to move; None for all layers.
        """
        return dataclasses.replace(self, free_layers=layers)

    def linear_around(self, theta: Float[Array, " p"]) -> "Model":
        """Return the model linearised in the parameters around ``theta``."""
        return dataclasses.replace(self, representation=self.representation.linear_around(theta))

    def field(self, theta: Float[Array, " p"]) -> Field:
        """Return the solution that the parameters stand for."""
        return self.representation.field(theta)

    def evaluate(self, theta: Float[Array, " p"], points: Points) -> Float[Array, "n outputs"]:
        """Return all outputs at any points."""
        return points.map(self.field(theta).all, theta.dtype)

    def means(
        self, theta: Float[Array, " p"], groups: Iterable[Group] | None = None
    ) -> dict[str, Float[Array, " k"]]:
        """Return the quantity of each group at the group's sites, for all groups or for
        those given.
        """
        return self.representation.means(theta, self._sites(theta, groups))

    def mean(
        self, theta: Float[Array, " p"], group: Group, points: Points | None = None
    ) -> Float[Array, " k"]:
        """Return one group's quantity at its sites, or at other points."""
        where = group.sites if points is None else points
        rows = jnp.asarray(where.array, theta.dtype)
        return self.representation.means(theta, {group.name: rows})[group.name]

    def observed_means(
        self, theta: Float[Array, " p"], groups: Iterable[Group] | None = None
    ) -> dict[str, Float[Array, " n"]]:
        """Return the mean of each observation, for all groups or for those given."""
        groups = self.groups if groups is None else tuple(groups)
        means = self.means(theta, groups)
        return {g.name: means[g.name][g.index] for g in groups}

    def means_and_jacobians(
        self, theta: Float[Array, " p"], groups: Iterable[Group] | None = None
    ) -> dict[str, tuple[Float[Array, " k"], Float[Array, "k p"]]]:
        """Return the means of each group at its sites, and their derivatives by the
        parameters.
        """
        return self.representation.means_and_jacobians(theta, self._sites(theta, groups))

    def _sites(
        self, theta: Float[Array, " p"], groups: Iterable[Group] | None
    ) -> dict[str, Float[Array, "k d"]]:
        every = self.groups if groups is None else groups
        return {g.name: jnp.asarray(g.sites.array, theta.dtype) for g in every}

    def whiten(
        self, group: Group, mean: Float[Array, "k *columns"], noise: NoiseParameters
    ) -> Float[Array, "m *columns"]:
        """Return means, or columns of their Jacobian, in units of the errors (for exact
        groups in units of their ``scales``).
        """
        return whiten_mean(group, mean, noise, self.scales[group.name])

    def targets(
        self, group: Group, y: Float[Array, " n"], noise: NoiseParameters
    ) -> Float[Array, " m"]:
        """Return data in the units of ``whiten``, replicates collapsed to means."""
        return whiten_data(group, y, noise, self.scales[group.name])

    def residuals(self, theta: Float[Array, " p"], data: Data) -> dict[str, Float[Array, " m"]]:
        """Return the whitened residuals of every group, data minus mean."""
        return whitened_residuals(self, theta, data)

    def rows_and_jacobians(
        self, theta: Float[Array, " p"], data: Data
    ) -> dict[str, tuple[Float[Array, " m"], Float[Array, "m p"]]]:
        """Return the whitened residuals of every group and the Jacobian of its whitened
        means, at fixed noise parameters.
        """
        return whitened_rows(self, theta, data)

    def errors(self, theta: Float[Array, " p"], data: Data) -> dict[str, Float[Array, " n"]]:
        """Return the error of every noisy observation, in units of its noise."""
        return standardised_errors(self, theta, data)

    def precision(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the size of the most precise data in standard errors of their means;
        100 when all data are exact.
        """
        others = [g for g in self.groups if not (g.exact or g.linear_gaussian)]
        means = self.observed_means(theta, others) if others else {}
        return data_precision(self.groups, self.noise(theta), self.scales, means)
