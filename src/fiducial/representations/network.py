"""A network between scaled inputs and outputs as the solution of a problem."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..posing.coordinates import Point, Points, user_point
from ..posing.fields import Field
from ..posing.networks import MLP, NetworkRecipe
from ..posing.problem import Problem
from .base import Parts, Quantity, Sites
from .derivatives_used import indices_used
from .layered import AbstractLayered
from .layers import join_layers, scaled_hidden_units
from .output_units import OutputUnits, in_user_units, units_of_outputs
from .taylor import Coefficients, Index, coordinate_series, derivative_at

_TRIAL_SITES = 256
"""Largest number of sites at which a quantity is tried for the derivatives it uses."""
_INPUT_REACH = 3.0
"""Inputs are scaled to [-3, 3], where a random network with weights of size one bends.

On [-1, 1] it is nearly a straight line, and Adam hardly leaves that.
"""


class NetworkNumbers(NamedTuple):
    """Numbers of a network's problem that may differ between data sets.

    Attributes:
        middle: middle of each coordinate's range.
        unit: what each coordinate is divided by.
        output: offset and unit of each output.
        known: the known constants by name.
    """

    middle: Float[Array, " d"]
    unit: Float[Array, " d"]
    output: OutputUnits
    known: dict[str, Any]


class _Evaluation(NamedTuple):
    """One quantity as compiled functions ``(numbers, theta, around, coordinates,
    hidden_factors) -> value``.

    Attributes:
        at_one: its value at a point, given the vector of the point's coordinates.
        at_many: its values at n points, given an (n, d) array of coordinates.
    """

    at_one: Callable[..., Array]
    at_many: Callable[..., Array]


@dataclass(frozen=True, eq=False)
class NetworkRepresentation(AbstractLayered):
    """A network between scaled inputs and outputs, with the problem's constraint.

    Attributes:
        problem: the problem.
        size: number of parameters.
        parts: takes a parameter vector apart.
        static: the network without its parameters.
        numbers: scales and known constants.
        evaluations: the quantity of each group as compiled functions.
        around: parameters around which the network is linearised; None for the network
            itself.
    """

    problem: Problem
    size: int
    parts: Parts
    static: Any
    numbers: NetworkNumbers
    evaluations: Mapping[str, _Evaluation] = field(default_factory=dict)
    around: Any = None
    name: ClassVar[str] = "network"
    recipe: ClassVar[type] = NetworkRecipe
    points_may_move: ClassVar[bool] = True

    @classmethod
    def initial(cls, problem: Problem, key: PRNGKeyArray) -> Any:
        weights = eqx.filter(_build(problem, key), eqx.is_inexact_array)
        return jax.tree.map(lambda v: v.astype(jnp.float64), weights)

    @classmethod
    def of(cls, problem: Problem, *, size: int, parts: Parts) -> "NetworkRepresentation":
        _, static = eqx.partition(_build(problem, jax.random.key(0)), eqx.is_inexact_array)
        box = problem.domain
        numbers = NetworkNumbers(
            middle=(box.lower + box.upper) / 2,
            unit=(box.upper - box.lower) / (2 * _INPUT_REACH),
            output=units_of_outputs(problem),
            known=dict(problem.known),
        )
        bare = cls(problem=problem, size=size, parts=parts, static=static, numbers=numbers)
        evaluations = {g.name: bare._evaluation(g.quantity, g.sites) for g in problem.groups}
        return dataclasses.replace(bare, evaluations=evaluations)

    def field(self, theta: Float[Array, " p"]) -> Field:
        return self._field(self.numbers, theta, None, self.around)

    def means(self, theta: Float[Array, " p"], sites: Sites) -> dict[str, Float[Array, " k"]]:
        return {
            name: self.evaluations[name].at_many(self.numbers, theta, self.around, rows, None)
            for name, rows in sites.items()
        }

    def means_of_units(
        self, theta: Float[Array, " p"], sites: Sites, hidden_factors: Float[Array, "k u"]
    ) -> dict[str, Float[Array, " k"]]:
        return {
            name: self.evaluations[name].at_many(
                self.numbers, theta, self.around, rows, hidden_factors
            )
            for name, rows in sites.items()
        }

    def means_and_jacobians(
        self, theta: Float[Array, " p"], sites: Sites
    ) -> dict[str, tuple[Float[Array, " k"], Float[Array, "k p"]]]:
        def of_group(name: str, rows: Array) -> tuple[Array, Array]:
            gradient = jax.value_and_grad(self.evaluations[name].at_one, argnums=1)
            along_rows = jax.vmap(gradient, (None, None, None, 0, None))
            return along_rows(self.numbers, theta, self.around, rows, None)

        return {name: of_group(name, rows) for name, rows in sites.items()}

    def linear_around(self, theta: Float[Array, " p"]) -> "NetworkRepresentation":
        return dataclasses.replace(self, around=theta)

    def traced(self) -> NetworkNumbers:
        return self.numbers

    def with_traced(self, numbers: NetworkNumbers) -> "NetworkRepresentation":
        return dataclasses.replace(self, numbers=numbers)

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        recipe = self.problem.recipe
        return recipe.hidden if isinstance(recipe, MLP) else ()

    def weight_matrices(self, theta: Float[Array, " p"]) -> list[Array]:
        return self.parts(theta)["field"].weights

    def scale_hidden_units(
        self, theta: Float[Array, " p"], factors: Float[Array, " u"]
    ) -> Float[Array, " p"]:
        parts = self.parts(theta)
        scaled = {**parts, "field": scaled_hidden_units(parts["field"], factors)}
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(scaled)])

    def last_layers_mask(self, layers: int) -> np.ndarray:
        def mask(layer: int, count: int, shape: tuple[int, ...]) -> np.ndarray:
            return np.full(shape, float(layer >= count - layers))

        return self._by_layer(mask)

    def unit_factors(self) -> Any:
        def factor(layer: int, count: int, shape: tuple[int, ...]) -> Any:
            is_matrix = len(shape) == 2
            first = 1 / self.numbers.unit if layer == 0 and is_matrix else 1.0
            last: Any = 1.0
            if layer == count - 1:
                last = self.numbers.output.unit.reshape((-1,) + (1,) * (len(shape) - 1))
            return np.ones(shape) * first * last

        return self._by_layer(factor)

    def _field(
        self, numbers: NetworkNumbers, theta: Array, hidden_factors: Any, around: Any
    ) -> Field:
        """Return the solution, with factors for the outputs of hidden units (None for
        ones), linearised around given parameters (None for the solution itself).
        """
        own = [] if hidden_factors is None else [hidden_factors]

        def evaluate(
            theta: Float[Array, " p"], row: Float[Array, " d"]
        ) -> Float[Array, " outputs"]:
            middle, unit = (jnp.asarray(v, theta.dtype) for v in (numbers.middle, numbers.unit))
            raw = self._network(theta)((row - middle) / unit, *own)
            at = user_point(self.problem.domain.names, row)
            p = self._constants(numbers, self.parts(theta)["unknowns"])
            return in_user_units(self.problem, numbers.output, raw, at, p)

        def linear(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
            there = jnp.asarray(around, theta.dtype)
            value, change = jax.jvp(lambda t: evaluate(t, row), (there,), (theta - there,))
            return value + change

        return Field(
            (lambda row: evaluate(theta, row)) if around is None else linear,
            self.problem.domain.names,
            tuple(self.problem.outputs),
        )

    def _evaluation(self, quantity: Quantity, sites: Points) -> _Evaluation:
        """Return a quantity of the solution as compiled functions."""
        number = len(sites)
        tried = np.linspace(0, number - 1, min(number, _TRIAL_SITES)).round().astype(int)
        used = self.derivatives_used(quantity, sites.array[tried])

        def constants(numbers: NetworkNumbers, theta: Array) -> dict[str, Array]:
            return self._constants(numbers, self.parts(theta)["unknowns"])

        def of_field(field: Field, p: dict[str, Array], dtype: Any, row: Array) -> Array:
            return jnp.asarray(quantity(field, user_point(sites.names, row), p), dtype)

        def of_series(numbers: Any, series: Coefficients, theta: Array, row: Array) -> Array:
            p = constants(numbers, theta)
            return of_field(self._local_field(numbers, series, p), p, theta.dtype, row)

        def at_one(numbers: Any, theta: Array, around: Any, row: Array, factors: Any) -> Array:
            if around is not None or used is None:
                field = self._field(numbers, theta, factors, around)
                return of_field(field, constants(numbers, theta), theta.dtype, row)
            series = self._series(numbers, theta, row, used, factors)
            return of_series(numbers, series, theta, row)

        def at_many(numbers: Any, theta: Array, around: Any, rows: Array, factors: Any) -> Array:
            if around is not None or used is None:
                axes = (None, None, None, 0, None if factors is None else 0)
                return jax.vmap(at_one, axes)(numbers, theta, around, rows, factors)
            # One pass through the network for all points, features first: the matrix
            # products are then as large as can be.
            by_unit = None if factors is None else factors.T
            series = self._series(numbers, theta, rows.T, used, by_unit)
            series = jax.tree.map(lambda v: jnp.broadcast_to(v, (len(v), len(rows))), series)
            return jax.vmap(of_series, (None, -1, None, 0))(numbers, series, theta, rows)

        # Compiled functions are traced once: derivatives of networks are long programs.
        return _Evaluation(at_one=jax.jit(at_one), at_many=jax.jit(at_many))

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
        numbers = self.numbers

        def of_function(
            raw: Callable[[tuple[Array, ...]], Array], row: Array, seed: Array
        ) -> Array:
            keys = jax.random.split(jax.random.key(seed), max(1, len(zeros)))
            drawn = {
                name: jax.random.normal(key, v.shape)
                for key, (name, v) in zip(keys, zeros.items(), strict=False)
            }
            p = self._constants(numbers, drawn)
            at = user_point(self.problem.domain.names, row)
            return jnp.asarray(quantity(self._as_field(numbers, raw, p), at, p))

        return indices_used(of_function, rows, len(self.problem.outputs))

    def _by_layer(self, number: Callable[[int, int, tuple[int, ...]], Any]) -> Any:
        """Return ``number(layer, number of layers, shape)`` for the parameters of an
        MLP, and one for all others.
        """
        if not isinstance(self.problem.recipe, MLP):
            return np.ones(self.size)
        theta = jax.ShapeDtypeStruct((self.size,), jnp.float64)
        layers = jax.eval_shape(self.parts, theta)["field"]
        count = sum(leaf.size for leaf in jax.tree.leaves(layers))
        return join_layers(layers, number, self.size - count)

    def _series(
        self,
        numbers: NetworkNumbers,
        theta: Float[Array, " p"],
        places: Float[Array, "d *points"],
        used: tuple[Index, ...],
        hidden_factors: Any = None,
    ) -> Coefficients:
        """Return the network's Taylor polynomials around a point, or around each of
        many points, with the derivatives ``used``.
        """
        middle, unit = (jnp.asarray(v, theta.dtype) for v in (numbers.middle, numbers.unit))
        inputs = ((places.T - middle) / unit).T
        return self._network(theta).series(
            coordinate_series(inputs, unit, used), used, hidden_factors
        )

    def _local_field(
        self, numbers: NetworkNumbers, series: Coefficients, p: dict[str, Array]
    ) -> Field:
        """Return the solution at one point, with the derivatives there that are in
        ``series``.
        """
        zero = min(series)  # the index of the value itself
        return self._as_field(numbers, lambda at: derivative_at(zero, None, series, at), p)

    def _network(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.parts(theta)["field"], self.static)

    def _constants(self, numbers: NetworkNumbers, raw: dict[str, Array]) -> dict[str, Array]:
        """Return the constants of the equation, unknown and known."""
        return self.problem.constrain(raw) | numbers.known

    def _as_field(
        self,
        numbers: NetworkNumbers,
        raw: Callable[[tuple[Array, ...]], Array],
        p: dict[str, Array],
    ) -> Field:
        """Return the solution for a network's outputs as a function of coordinates."""
        names = self.problem.domain.names

        def evaluate(values: tuple[Array, ...]) -> Float[Array, " outputs"]:
            at = values[0] if len(names) == 1 else Point(names, values)
            return in_user_units(self.problem, numbers.output, raw(values), at, p)

        return Field.of_coordinates(evaluate, names, tuple(self.problem.outputs))


def _build(problem: Problem, key: PRNGKeyArray) -> Any:
    """Return a random network of the kind that the problem asks for."""
    return problem.recipe.build(len(problem.domain.names), len(problem.outputs), key=key)
