"""A problem made computable: one flat parameter vector, means of every group, residual
rows.

Every method works on ``theta``, a flat vector that holds the network's weights, the
unconstrained unknowns and the unconstrained noise parameters. All functions here are
for one data set and one ``theta``; batching is the driver's business."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..noise.base import NoiseParameters
from ..posing.coordinates import Points, user_point
from ..posing.fields import Field
from ..posing.groups import Group
from ..posing.networks import MLP
from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown
from ..representations.ansatz import Ansatz
from ..representations.taylor import Coefficients
from .flat import ravel
from .start import start_tree

Data = dict[str, Any]
"""Observed values by group, flat."""

_SITES_ASKED = 256
"""Sites at which a quantity is asked what it uses."""
_FREE = 1e4
"""How far an unknown may move, in its own unconstrained units, before a ridge on the
weights would notice.
"""


class _Traced(NamedTuple):
    """A quantity of parameters, what to be linear around, and points: at one of them
    and at many.
    """

    at_one: Callable[[Array, Any, Array, Any], Array]
    at_many: Callable[[Array, Any, Array, Any], Array]


@dataclass(frozen=True, eq=False)
class Model:
    """What methods compute with; made from a problem by [`bind`][fiducial.extend.bind].

    Attributes:
        problem: the problem.
        groups: its groups of observations.
        size: number of parameters in ``theta``.
        ansatz: what a parameter vector stands for.
        scales: for each group the size of its residual for random networks, in its own
            unit, which makes residuals of any unit comparable.
        free_layers: how many of the network's last layers may move; None for all.
        around: parameters around which fields are linear in the parameters; None for
            fields as they are.
    """

    problem: Problem
    groups: tuple[Group, ...]
    size: int
    ansatz: Ansatz
    scales: dict[str, float]
    _noise_unknowns: dict[str, dict[str, AbstractUnknown]]
    _traced: dict[str, _Traced] = dataclasses.field(default_factory=dict)
    free_layers: int | None = None
    around: Any = None

    @property
    def data(self) -> Data:
        """The problem's own observed values."""
        return {g.name: np.asarray(g.y) for g in self.groups}

    def size_unknown(self, group: Group) -> bool:
        """Whether the size of a group's errors is to be inferred."""
        return group.noise is not None and bool(group.noise.sizes(self._noise_unknowns[group.name]))

    def split_by_group(self, numbers: Any) -> dict[str, Any]:
        """Numbers for all noisy observations, joined along the last axis, by group."""
        parts, end = {}, 0
        for g in self.groups:
            if not g.exact:
                parts[g.name] = numbers[..., end : end + g.y.size]
                end += g.y.size
        return parts

    @property
    def has_free_function(self) -> bool:
        """Whether a whole function is free: no equation holds exactly, and the
        network could follow all data.
        """
        physics = [g for g in self.groups if g.physics]
        firm = bool(physics) and all(g.exact for g in physics)
        return not firm and self.size > sum(len(g.sites) for g in self.groups if not g.exact)

    @property
    def prior_scale(self) -> np.ndarray:
        """How far each parameter may move at a cost of one squared standard error.

        Where a function is free the data do not pin down the network between them, and
        a ridge does: a change of a weight by one costs as much as one standard error.
        Fresh weights are of that size, whatever the units of the problem. Unknown
        constants move freely. Where the equation holds exactly there is no ridge, and
        this is one everywhere."""
        reach = np.ones(self.size)
        if self.has_free_function:
            reach[self.size - self.constant_count :] = _FREE
        return reach * self.free_mask

    @property
    def constant_count(self) -> int:
        """Number of unknown constants, components of vectors counted."""
        return sum(int(u.guess.size) for u in self.problem.unknowns.values())

    @property
    def noise_slice(self) -> slice:
        """Where a parameter vector holds the unknown noise parameters,
        unconstrained.
        """
        count = sum(int(u.guess.size) for us in self._noise_unknowns.values() for u in us.values())
        end = (
            self.size - self.constant_count
        )  # a tree is flattened by name: network, noise, unknowns
        return slice(end - count, end)

    def locate(self, name: str) -> tuple[slice, AbstractUnknown]:
        """Where a parameter vector holds an unknown constant, or a noise parameter
        such as ``sd_u``, and what that is.
        """
        noise = {
            f"{n}_{g}": u
            for g, own in sorted(self._noise_unknowns.items())
            for n, u in sorted(own.items())
        }
        start = self.noise_slice.start
        for own, unknown in [
            *noise.items(),
            *sorted(self.problem.unknowns.items()),
        ]:  # a tree is flattened by name
            end = start + int(unknown.guess.size)
            if own == name:
                return slice(start, end), unknown
            start = end
        raise ValueError(
            f"there is no unknown called '{name}'; there are"
            f" {', '.join([*self.problem.unknowns, *noise]) or 'none'}"
        )

    def raw_constants(self, columns: Float[Array, "p *columns"]) -> Float[Array, "c *columns"]:
        """The part of a parameter vector, or of columns like it, that holds the
        unknown constants, unconstrained.
        """
        return columns[self.size - self.constant_count :]

    def thinned(self, most: int) -> "Model":
        """The same model with each equation asked at no more than so many points,
        where it holds exactly.
        """
        return dataclasses.replace(
            self, groups=tuple(g.thinned(most) if g.exact and g.physics else g for g in self.groups)
        )

    @property
    def points_may_move(self) -> bool:
        """Whether there are points of the equation that may move, see
        ``with_moved_points``.
        """
        return len(self.problem.domain.names) > 1 and any(g.may_move for g in self.groups)

    def with_moved_points(self, key: PRNGKeyArray) -> "Model":
        """The same model with the equation asked at other points, all shifted alike and
        coming back in at the opposite side.

        A network can meet an equation at fixed points in a plane or a space and bend
        between them; it cannot where they move. Points on a line are dense enough to
        stay, and so do those where the equation has a right-hand side of its own."""
        if not self.points_may_move:
            return self
        box = self.problem.domain
        way = jax.random.uniform(key, (len(box.names),), jnp.float64)
        size = box.upper - box.lower

        def move(group: Group) -> Group:
            if not group.may_move:
                return group
            array = box.lower + size * (((group.sites.array - box.lower) / size + way) % 1.0)
            return dataclasses.replace(group, sites=Points(box.names, array))

        return dataclasses.replace(self, groups=tuple(move(g) for g in self.groups))

    def with_free_layers(self, layers: int | None) -> "Model":
        """The same model with only the network's last layers free to move, and the
        constants and noise sizes; None for all.
        """
        return dataclasses.replace(self, free_layers=layers)

    def linear_around(self, theta: Any) -> "Model":
        """The same model with fields that are linear in the parameters, tangent to
        this one at ``theta``.
        """
        return dataclasses.replace(self, around=theta)

    def network_weights(self, theta: Float[Array, " p"]) -> list[Array]:
        """The weight matrices of an MLP, the first layer's first."""
        return self.ansatz.parts(theta)["network"].weights

    def scale_units(
        self, theta: Float[Array, " p"], units: Float[Array, " u"]
    ) -> Float[Array, " p"]:
        """Parameters of an MLP that act as ``theta`` does with the outputs of hidden
        units multiplied by ``units``.
        """
        parts, start, scaled = self.ansatz.parts(theta), 0, []
        for weight in parts["network"].weights[1:]:
            scaled.append(weight * units[start : start + weight.shape[1]])
            start += weight.shape[1]
        return ravel(eqx.tree_at(lambda tree: tree["network"].weights[1:], parts, scaled))

    @property
    def free_mask(self) -> np.ndarray:
        """One for parameters that may move, zero for those of layers that are held."""

        def factor(layer: int, layers: int, shape: tuple[int, ...]) -> np.ndarray:
            return np.full(
                shape, float(self.free_layers is None or layer >= layers - self.free_layers)
            )

        return self._by_layer(factor)

    @property
    def unit_factors(self) -> np.ndarray:
        """What a fully connected network's parameters must be multiplied with to act on
        inputs and outputs in the user's units.

        Its first matrix takes scaled inputs and its last layer gives scaled outputs.
        Ones for other networks; shifts are left aside."""

        def factor(layer: int, layers: int, shape: tuple[int, ...]) -> np.ndarray:
            first = 1 / self.ansatz.input[1] if layer == 0 and len(shape) == 2 else 1.0
            last = (
                self.ansatz.output[1].reshape((-1,) + (1,) * (len(shape) - 1))
                if layer == layers - 1
                else 1.0
            )
            return np.ones(shape) * first * last

        return self._by_layer(factor)

    def _by_layer(self, factor: Callable[[int, int, tuple[int, ...]], np.ndarray]) -> np.ndarray:
        """A number for each parameter: by layer, number of layers and shape for
        those of an MLP, one for all others.
        """
        numbers = np.ones(self.size)
        if isinstance(self.problem.recipe, MLP):
            leaves = jax.tree.leaves(
                jax.eval_shape(
                    self.ansatz.unravel, jax.ShapeDtypeStruct((self.size,), jnp.float64)
                )["network"]
            )
            layers = len(leaves) // 2  # all matrices, then all shifts
            parts = [
                factor(i % layers, layers, leaf.shape).ravel() for i, leaf in enumerate(leaves)
            ]
            numbers[: sum(part.size for part in parts)] = np.concatenate(parts)
        return numbers

    def init(self, key: PRNGKeyArray, dtype: Any = jnp.float64) -> Float[Array, " p"]:
        """A fresh parameter vector: a random network, unknowns at their guesses."""
        return ravel(start_tree(self.problem, self._noise_unknowns, key)).astype(dtype)

    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        """The unknown constants in the user's units."""
        return self.ansatz.unknowns(theta)

    def noise(self, theta: Float[Array, " p"]) -> dict[str, NoiseParameters]:
        """The unknown noise parameters of every noisy group."""
        raw = self.ansatz.parts(theta)["noise"]
        return {
            g: {n: u.constrain(raw[g][n]) for n, u in us.items()}
            for g, us in self._noise_unknowns.items()
        }

    def with_noise(
        self, theta: Float[Array, " p"], noise: dict[str, NoiseParameters]
    ) -> Float[Array, " p"]:
        """The same parameters with other noise parameters."""
        parts = self.ansatz.parts(theta)
        raw = {
            g: {n: u.unconstrain(noise[g][n]) for n, u in us.items()}
            for g, us in self._noise_unknowns.items()
        }
        return ravel({**parts, "noise": raw}).astype(theta.dtype)

    def resize_noise(
        self, theta: Float[Array, " p"], fit: Float[Array, " p"], factors: Mapping[str, Array]
    ) -> Float[Array, " p"]:
        """The same parameters with the errors of each group so many times as large
        as those of the fit.
        """
        noise = self.noise(fit)
        return self.with_noise(
            theta,
            {
                g.name: g.noise.resize(noise[g.name], factors[g.name])
                for g in self.groups
                if g.noise is not None
            },
        )

    def field(self, theta: Float[Array, " p"], units: Float[Array, " u"] | None = None) -> Field:
        """The solution that the parameters stand for.

        Arguments:
            theta: the parameters.
            units: factors for the outputs of an MLP's hidden units, which dropout sets
                to zero at random; None for ones.
        """
        return self.ansatz.field(theta, units, self.around)

    def evaluate(self, theta: Float[Array, " p"], points: Points) -> Float[Array, "n outputs"]:
        """All outputs at any points."""
        return points.map(self.field(theta).all, theta.dtype)

    def mean(
        self,
        theta: Float[Array, " p"],
        group: Group,
        points: Points | None = None,
        units: Float[Array, "k u"] | None = None,
    ) -> Float[Array, " k"]:
        """The group's quantity at its distinct sites, or at other points; ``units``
        as in ``field``, one row a point.
        """
        sites = group.sites if points is None else points
        return self._traced_quantity(group).at_many(
            theta, self.around, jnp.asarray(sites.array, theta.dtype), units
        )

    def mean_jacobian(
        self, theta: Float[Array, " p"], group: Group
    ) -> tuple[Float[Array, " k"], Float[Array, "k p"]]:
        """The means at the sites and their gradients, by one reverse pass per point."""
        rows = jnp.asarray(group.sites.array, theta.dtype)
        return jax.vmap(
            jax.value_and_grad(self._traced_quantity(group).at_one), (None, None, 0, None)
        )(theta, self.around, rows, None)

    def _traced_quantity(self, group: Group) -> _Traced:
        """The group's quantity as functions that are traced once: derivatives of
        networks are long programs.
        """
        if group.name not in self._traced:
            ansatz, some = (
                self.ansatz,
                np.linspace(0, len(group.sites) - 1, min(len(group.sites), _SITES_ASKED))
                .round()
                .astype(int),
            )
            used = ansatz.used_by(group.quantity, group.sites.array[some])

            def of_field(field: Field, theta: Array, row: Array) -> Array:
                return jnp.asarray(
                    group.quantity(
                        field, user_point(group.sites.names, row), ansatz.unknowns(theta)
                    ),
                    theta.dtype,
                )

            def of_series(series: Coefficients, theta: Array, row: Array) -> Array:
                return of_field(ansatz.local_field(series, ansatz.unknowns(theta)), theta, row)

            def at_one(theta: Array, around: Any, row: Array, units: Any) -> Array:
                if around is not None or used is None:
                    return of_field(ansatz.field(theta, units, around), theta, row)
                return of_series(ansatz.series(theta, row, used, units), theta, row)

            def at_many(theta: Array, around: Any, rows: Array, units: Any) -> Array:
                if around is not None or used is None:
                    return jax.vmap(at_one, (None, None, 0, None if units is None else 0))(
                        theta, around, rows, units
                    )
                # one pass through the network for all points, features first: the
                # matrix products are then as large as can be
                series = ansatz.series(theta, rows.T, used, None if units is None else units.T)
                series = jax.tree.map(lambda v: jnp.broadcast_to(v, (len(v), len(rows))), series)
                return jax.vmap(of_series, (-1, None, 0))(series, theta, rows)

            self._traced[group.name] = _Traced(jax.jit(at_one), jax.jit(at_many))
        return self._traced[group.name]

    def whiten(
        self, group: Group, mean: Float[Array, "k *columns"], noise: NoiseParameters
    ) -> Float[Array, "m *columns"]:
        """Means, or columns of their Jacobian, in units of the errors (of ``scales``
        for exact groups).
        """
        if group.noise is None:
            return mean / self.scales[group.name]
        return group.noise.whiten_mean(mean, group.points, group.index, len(group.sites), noise)

    def targets(
        self, group: Group, y: Float[Array, " n"], noise: NoiseParameters
    ) -> Float[Array, " m"]:
        """Data in the same units; replicates are collapsed to their means."""
        if group.noise is None:
            # Exact replicates can only repeat one value: the first of each site stands
            # for all.
            return y[group.first] / self.scales[group.name]
        return group.noise.whiten_data(y, group.points, group.index, len(group.sites), noise)

    def residuals(self, theta: Float[Array, " p"], data: Data) -> dict[str, Float[Array, " m"]]:
        """Whitened residual rows of every group, data minus mean."""
        noise = self.noise(theta)
        return {
            g.name: (
                self.targets(g, data[g.name], noise.get(g.name, {}))
                - self.whiten(g, self.mean(theta, g), noise.get(g.name, {}))
            )
            for g in self.groups
        }

    def rows_and_jacobians(
        self, theta: Float[Array, " p"], data: Data
    ) -> dict[str, tuple[Float[Array, " m"], Float[Array, "m p"]]]:
        """Residual rows and the Jacobian of the whitened means, at fixed noise
        parameters.
        """
        noise = jax.lax.stop_gradient(self.noise(theta))
        rows = {}
        for g in self.groups:
            mean, jacobian = self.mean_jacobian(theta, g)
            own = noise.get(g.name, {})
            rows[g.name] = (
                self.targets(g, data[g.name], own) - self.whiten(g, mean, own),
                self.whiten(g, jacobian, own),
            )
        return rows

    def estimate_noise(self, theta: Float[Array, " p"], data: Data) -> Float[Array, " p"]:
        """The same parameters with unknown noise sizes set to their
        maximum-likelihood values.
        """
        if not any(self._noise_unknowns.values()):
            return theta
        now = self.noise(theta)
        for g in self.groups:
            if g.noise is not None and now[g.name]:
                now[g.name] = g.noise.estimate(
                    self.mean(theta, g)[g.index], data[g.name], g.points, now[g.name]
                )
        return self.with_noise(theta, now)

    def errors(self, theta: Float[Array, " p"], data: Data) -> dict[str, Float[Array, " n"]]:
        """The standardised errors that ``theta`` implies for every noisy
        observation.
        """
        noise = self.noise(theta)
        return {
            g.name: g.noise.pull(
                self.mean(theta, g)[g.index], data[g.name], g.points, noise[g.name]
            )
            for g in self.groups
            if g.noise is not None
        }

    def precision(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """The size of the most precise data in standard errors of their means; 100
        when all data are exact.
        """
        noise = self.noise(theta)
        sizes = []
        for g in self.groups:
            if g.noise is not None:
                unit = g.noise.pull(
                    jnp.zeros(g.y.size), jnp.ones(g.y.size), g.points, noise[g.name]
                )
                sizes.append(
                    self.scales[g.name] * jnp.sqrt(jnp.mean(unit**2) * g.y.size / len(g.sites))
                )
        return jnp.maximum(1.0, jnp.max(jnp.stack(sizes))) if sizes else jnp.asarray(100.0)
