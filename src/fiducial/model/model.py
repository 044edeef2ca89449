"""A problem made computable: means of every group, their Jacobians and residual rows, as
functions of one flat parameter vector ``theta``.

All functions are for one data set and one ``theta``; the driver batches them."""

import dataclasses
from collections.abc import Mapping
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
from ..representations.base import AbstractRepresentation, Evaluation
from .collocation_points import points_may_move, shift_points, thin_points
from .flat import ravel
from .initial import initial_tree
from .layout import Layout
from .noise_sizes import data_precision, noise_parameters, replace_noise
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
        groups: its groups of observations.
        layout: what a parameter vector ``theta`` holds where.
        ansatz: the solution as a function of the parameters.
        evaluations: the quantity of each group as compiled functions.
        scales: for each group the size of its residual for random networks, in its own
            unit, which makes residuals of any unit comparable.
        free_layers: how many of the network's last layers may move; None for all.
        around: parameters around which the solution is linearised; None for the
            solution itself.
    """

    problem: Problem
    groups: tuple[Group, ...]
    layout: Layout
    ansatz: AbstractRepresentation
    evaluations: Mapping[str, Evaluation]
    scales: Mapping[str, float]
    free_layers: int | None = None
    around: Any = None

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
        """Return where ``theta`` holds an unknown constant, or a noise parameter such as
        ``sd_u``, and the unknown itself.
        """
        if name not in self.layout.named:
            known = ", ".join(self.layout.named) or "none"
            raise ValueError(f"there is no unknown called '{name}'; there are {known}")
        return self.layout.named[name]

    def init(self, key: PRNGKeyArray, dtype: Any = jnp.float64) -> Float[Array, " p"]:
        """Return a random network's parameters, with unknowns at their guesses."""
        with jax.enable_x64(True):
            tree = initial_tree(self.problem, self.layout.noise_unknowns, key)
            return ravel(tree).astype(dtype)

    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        """Return the unknown constants in the user's units."""
        return self.ansatz.unknowns(theta)

    def noise(self, theta: Float[Array, " p"]) -> dict[str, NoiseParameters]:
        """Return the unknown noise parameters of every noisy group, in the user's units."""
        return noise_parameters(self.layout, theta)

    def with_noise(
        self, theta: Float[Array, " p"], noise: Mapping[str, NoiseParameters]
    ) -> Float[Array, " p"]:
        """Return the parameters with other noise parameters, given in the user's units."""
        return replace_noise(self.layout, theta, noise)

    def resize_noise(
        self, theta: Float[Array, " p"], fit: Float[Array, " p"], factors: Mapping[str, Array]
    ) -> Float[Array, " p"]:
        """Return the parameters with each group's errors larger than those of ``fit`` by
        a factor.
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
                parts[g.name] = numbers[..., end : end + g.y.size]
                end += g.y.size
        return parts

    def size_unknown(self, group: Group) -> bool:
        """Return whether the size of a group's errors is to be inferred."""
        if group.noise is None:
            return False
        return bool(group.noise.sizes(self.layout.noise_unknowns[group.name]))

    @property
    def has_free_function(self) -> bool:
        """Whether a whole function is free: no equation holds exactly, and the network
        could follow all data.
        """
        physics = [g for g in self.groups if g.physics]
        if physics and all(g.exact for g in physics):
            return False
        return self.size > sum(len(g.sites) for g in self.groups if not g.exact)

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
        return self.ansatz.last_layers_mask(self.free_layers)

    @property
    def unit_factors(self) -> np.ndarray:
        """Factors that turn an MLP's parameters into those of a network that takes
        inputs and gives outputs in the user's units, offsets left aside.
        """
        return self.ansatz.unit_factors()

    def thinned(self, most: int) -> "Model":
        """Return the model with at most ``most`` points for each equation that holds
        exactly.
        """
        return dataclasses.replace(self, groups=thin_points(self.groups, most))

    @property
    def points_may_move(self) -> bool:
        """Whether ``with_moved_points`` moves any points."""
        return points_may_move(self.groups, self.problem.domain)

    def with_moved_points(self, key: PRNGKeyArray) -> "Model":
        """Return the model with the points of the equation shifted at random.

        A network can satisfy an equation at fixed points in a plane or a space and bend
        between them; it cannot where they move. Points on a line are dense enough to
        stay, and points with a right-hand side of their own stay, too."""
        groups = shift_points(self.groups, self.problem.domain, key)
        return dataclasses.replace(self, groups=groups)

    def with_free_layers(self, layers: int | None) -> "Model":
        """Return the model with only the network's last layers, the constants and the
        noise sizes free to move; None for all layers.
        """
        return dataclasses.replace(self, free_layers=layers)

    def linear_around(self, theta: Any) -> "Model":
        """Return the model linearised in the parameters around ``theta``."""
        return dataclasses.replace(self, around=theta)

    def field(
        self, theta: Float[Array, " p"], hidden_factors: Float[Array, " u"] | None = None
    ) -> Field:
        """Return the solution that the parameters stand for.

        Arguments:
            theta: the parameters.
            hidden_factors: factors for the outputs of an MLP's hidden units, which
                dropout sets to zero at random; None for ones.
        """
        return self.ansatz.field(theta, hidden_factors, self.around)

    def evaluate(self, theta: Float[Array, " p"], points: Points) -> Float[Array, "n outputs"]:
        """Return all outputs at any points."""
        return points.map(self.field(theta).all, theta.dtype)

    def mean(
        self,
        theta: Float[Array, " p"],
        group: Group,
        points: Points | None = None,
        hidden_factors: Float[Array, "k u"] | None = None,
    ) -> Float[Array, " k"]:
        """Return the group's quantity at its sites, or at other points; factors as for
        ``field``, one row for each point.
        """
        rows = jnp.asarray((group.sites if points is None else points).array, theta.dtype)
        return self.evaluations[group.name].at_many(theta, self.around, rows, hidden_factors)

    def mean_jacobian(
        self, theta: Float[Array, " p"], group: Group
    ) -> tuple[Float[Array, " k"], Float[Array, "k p"]]:
        """Return the means at the sites and their gradients, by one reverse pass for
        each site.
        """
        rows = jnp.asarray(group.sites.array, theta.dtype)
        gradient = jax.value_and_grad(self.evaluations[group.name].at_one)
        return jax.vmap(gradient, (None, None, 0, None))(theta, self.around, rows, None)

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
        """Return data in the units of ``whiten``, replicates collapsed to their means."""
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
        """Return the standardised errors that ``theta`` implies for every noisy
        observation.
        """
        return standardised_errors(self, theta, data)

    def precision(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the size of the most precise data in standard errors of their means;
        100 when all data are exact.
        """
        return data_precision(self.groups, self.noise(theta), self.scales)
