"""A network between scaled inputs and outputs as the solution of a problem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Point, Points, user_point
from ..posing.fields import Field
from ..posing.networks import MLP
from ..posing.problem import Problem
from .base import AbstractRepresentation, Evaluation, Quantity
from .derivatives_used import indices_used
from .layers import join_layers, scaled_hidden_units
from .taylor import Coefficients, Index, coordinate_series, derivative_at

_TRIAL_SITES = 256
"""Largest number of sites at which a quantity is tried for the derivatives it uses."""


class InputScaling(NamedTuple):
    """The coordinates as a network sees them: ``(coordinate - middle) / unit``."""

    middle: np.ndarray
    unit: np.ndarray


class OutputScaling(NamedTuple):
    """The outputs of a field: ``offset + unit * network``, or ``unit *
    softplus(network)`` for those that are positive.
    """

    offset: np.ndarray
    unit: np.ndarray
    positive: np.ndarray


@dataclass(frozen=True, eq=False)
class Ansatz(AbstractRepresentation):
    """A network between scaled inputs and outputs, with the problem's constraint.

    Attributes:
        problem: the problem.
        size: number of parameters.
        static: the network without its parameters.
        parts: maps a parameter vector to a dictionary with its ``network``, ``noise``
            and ``unknowns``.
        input: middle and unit of each coordinate.
        output: offset, unit and sign of each output.
    """

    problem: Problem
    size: int
    static: Any
    parts: Callable[[Array], dict[str, Any]]
    input: InputScaling
    output: OutputScaling

    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        return self._constrained(self.parts(theta)["unknowns"])

    def field(
        self,
        theta: Float[Array, " p"],
        hidden_factors: Float[Array, " u"] | None = None,
        around: Any = None,
    ) -> Field:
        own = [] if hidden_factors is None else [hidden_factors]

        def evaluate(
            theta: Float[Array, " p"], row: Float[Array, " d"]
        ) -> Float[Array, " outputs"]:
            middle, unit = (jnp.asarray(v, theta.dtype) for v in self.input)
            raw = self._network(theta)((row - middle) / unit, *own)
            at = user_point(self.problem.domain.names, row)
            return self._in_units(raw, at, self.unknowns(theta))

        def linear(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
            there = jnp.asarray(around, theta.dtype)
            value, change = jax.jvp(lambda t: evaluate(t, row), (there,), (theta - there,))
            return value + change

        return Field(
            (lambda row: evaluate(theta, row)) if around is None else linear,
            self.problem.domain.names,
            tuple(self.problem.outputs),
        )

    def evaluation(self, quantity: Quantity, sites: Points) -> Evaluation:
        number = len(sites)
        tried = np.linspace(0, number - 1, min(number, _TRIAL_SITES)).round().astype(int)
        used = self.derivatives_used(quantity, sites.array[tried])

        def of_field(field: Field, theta: Array, row: Array) -> Array:
            at = user_point(sites.names, row)
            return jnp.asarray(quantity(field, at, self.unknowns(theta)), theta.dtype)

        def of_series(series: Coefficients, theta: Array, row: Array) -> Array:
            return of_field(self._local_field(series, self.unknowns(theta)), theta, row)

        def at_one(theta: Array, around: Any, row: Array, hidden_factors: Any) -> Array:
            if around is not None or used is None:
                return of_field(self.field(theta, hidden_factors, around), theta, row)
            return of_series(self._series(theta, row, used, hidden_factors), theta, row)

        def at_many(theta: Array, around: Any, rows: Array, hidden_factors: Any) -> Array:
            if around is not None or used is None:
                axes = (None, None, 0, None if hidden_factors is None else 0)
                return jax.vmap(at_one, axes)(theta, around, rows, hidden_factors)
            # One pass through the network for all points, features first: the matrix
            # products are then as large as can be.
            factors = None if hidden_factors is None else hidden_factors.T
            series = self._series(theta, rows.T, used, factors)
            series = jax.tree.map(lambda v: jnp.broadcast_to(v, (len(v), len(rows))), series)
            return jax.vmap(of_series, (-1, None, 0))(series, theta, rows)

        # Compiled functions are traced once: derivatives of networks are long programs.
        return Evaluation(at_one=jax.jit(at_one), at_many=jax.jit(at_many))

    def derivatives_used(self, quantity: Quantity, rows: np.ndarray) -> tuple[Index, ...] | None:
        """Return the derivatives of the network that a quantity at a point uses; None
        if it also evaluates the solution elsewhere, or the network has no ``series``.

        Arguments:
            quantity: the quantity.
            rows: coordinates of the points at which it is tried, one point a row.
        """
        if not hasattr(self.static, "series"):
            return None
        zeros = self.parts(jnp.zeros(self.size))["unknowns"]

        def of_function(
            raw: Callable[[tuple[Array, ...]], Array], row: Array, seed: Array
        ) -> Array:
            keys = jax.random.split(jax.random.key(seed), max(1, len(zeros)))
            drawn = {
                name: jax.random.normal(key, v.shape)
                for key, (name, v) in zip(keys, zeros.items(), strict=False)
            }
            p = self._constrained(drawn)
            at = user_point(self.problem.domain.names, row)
            return jnp.asarray(quantity(self._as_field(raw, p), at, p))

        return indices_used(of_function, rows, len(self.problem.outputs))

    def weight_matrices(self, theta: Float[Array, " p"]) -> list[Array]:
        return self.parts(theta)["network"].weights

    def scale_hidden_units(
        self, theta: Float[Array, " p"], factors: Float[Array, " u"]
    ) -> Float[Array, " p"]:
        parts = self.parts(theta)
        scaled = {**parts, "network": scaled_hidden_units(parts["network"], factors)}
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(scaled)])

    def last_layers_mask(self, layers: int) -> np.ndarray:
        def mask(layer: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
            return np.full(shape, float(layer >= count - layers))

        return self._by_layer(mask)

    def unit_factors(self) -> np.ndarray:
        def factor(layer: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
            is_matrix = len(shape) == 2
            first = 1 / self.input.unit if layer == 0 and is_matrix else 1.0
            last: Any = 1.0
            if layer == count - 1:
                last = self.output.unit.reshape((-1,) + (1,) * (len(shape) - 1))
            return np.ones(shape) * first * last

        return self._by_layer(factor)

    def _by_layer(self, number: Callable[[int, int, tuple[int, ...]], np.ndarray]) -> np.ndarray:
        """Return ``number(layer, number of layers, shape)`` for the parameters of an
        MLP, and one for all others.
        """
        numbers = np.ones(self.size)
        if isinstance(self.problem.recipe, MLP):
            theta = jax.ShapeDtypeStruct((self.size,), jnp.float64)
            own = join_layers(jax.eval_shape(self.parts, theta)["network"], number)
            numbers[: own.size] = own
        return numbers

    def _series(
        self,
        theta: Float[Array, " p"],
        places: Float[Array, "d *points"],
        used: tuple[Index, ...],
        hidden_factors: Any = None,
    ) -> Coefficients:
        """Return the network's Taylor polynomials around a point, or around each of many
        points, with the derivatives ``used``.
        """
        middle, unit = (jnp.asarray(v, theta.dtype) for v in self.input)
        inputs = ((places.T - middle) / unit).T
        return self._network(theta).series(
            coordinate_series(inputs, unit, used), used, hidden_factors
        )

    def _local_field(self, series: Coefficients, p: dict[str, Array]) -> Field:
        """Return the solution at one point, with the derivatives there that are in
        ``series``.
        """
        zero = min(series)  # the index of the value itself
        return self._as_field(lambda at: derivative_at(zero, None, series, at), p)

    def _network(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.parts(theta)["network"], self.static)

    def _constrained(self, raw: dict[str, Array]) -> dict[str, Array]:
        return {name: u.constrain(raw[name]) for name, u in self.problem.unknowns.items()}

    def _as_field(self, raw: Callable[[tuple[Array, ...]], Array], p: dict[str, Array]) -> Field:
        """Return the solution for a network's outputs as a function of the coordinates."""
        names = self.problem.domain.names

        def evaluate(values: tuple[Array, ...]) -> Float[Array, " outputs"]:
            at = values[0] if len(names) == 1 else Point(names, values)
            return self._in_units(raw(values), at, p)

        return Field.of_coordinates(evaluate, names, tuple(self.problem.outputs))

    def _in_units(
        self, raw: Float[Array, " outputs"], at: Any, p: dict[str, Array]
    ) -> Float[Array, " outputs"]:
        """Return a network's outputs in the user's units, with the constraint applied."""
        offset = jnp.asarray(self.output.offset, raw.dtype)
        unit = jnp.asarray(self.output.unit, raw.dtype)
        positive = self.output.positive
        value = offset + unit * raw
        if positive.any():
            value = jnp.where(positive, unit * jax.nn.softplus(raw), value)
        names = tuple(self.problem.outputs)
        constraint = self.problem.constraint
        if constraint is None:
            return value
        if len(names) == 1:
            return jnp.reshape(constraint(value[0], at, p), (1,))
        changed = constraint({n: value[i] for i, n in enumerate(names)}, at, p)
        return jnp.stack([jnp.asarray(changed[n]) for n in names])
