"""What a parameter vector stands for: the solution, as a function of a point, and
the unknown constants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Point, user_point
from ..posing.fields import Field
from ..posing.problem import Problem
from .derivatives_used import indices_used
from .taylor import Coefficients, Index, coordinate_series, derivative_at

Quantity = Callable[[Any, Any, Any], Any]
"""``(field, at, p) -> number``."""


@dataclass(frozen=True, eq=False)
class Ansatz:
    """A network between scaled inputs and outputs, with whatever a constraint adds.

    Attributes:
        problem: the problem.
        size: number of parameters.
        static: what a network has besides its parameters.
        unravel: from a parameter vector to ``network``, ``noise`` and ``unknowns``.
        input: middle and unit of each coordinate.
        output: offset, unit and sign of each output.
    """

    problem: Problem
    size: int
    static: Any
    unravel: Callable[[Array], Any]
    input: tuple[np.ndarray, np.ndarray]
    output: tuple[np.ndarray, np.ndarray, np.ndarray]

    def parts(self, theta: Float[Array, " p"]) -> dict[str, Any]:
        """The parameters by what they are for."""
        if theta.shape != (self.size,):
            raise ValueError(
                f"expected {self.size} parameters, got an array of shape {theta.shape}"
            )
        return self.unravel(theta)

    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        """The unknown constants in the user's units."""
        return self._constrained(self.parts(theta)["unknowns"])

    def field(
        self, theta: Float[Array, " p"], units: Float[Array, " u"] | None = None, around: Any = None
    ) -> Field:
        """The solution that the parameters stand for.

        Arguments:
            theta: the parameters.
            units: factors for the outputs of an MLP's hidden units, which dropout sets
                to zero at random; None for ones.
            around: parameters around which it is to be linear in them; None for the
                solution as it is.
        """

        def evaluate(
            theta: Float[Array, " p"], row: Float[Array, " d"]
        ) -> Float[Array, " outputs"]:
            center, unit = (jnp.asarray(v, theta.dtype) for v in self.input)
            raw = self._network(theta)((row - center) / unit, *([] if units is None else [units]))
            return self._in_units(
                raw, user_point(self.problem.domain.names, row), self.unknowns(theta)
            )

        def linear(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
            there = jnp.asarray(around, theta.dtype)
            value, change = jax.jvp(lambda t: evaluate(t, row), (there,), (theta - there,))
            return value + change

        return Field(
            (lambda row: evaluate(theta, row)) if around is None else linear,
            self.problem.domain.names,
            tuple(self.problem.outputs),
        )

    def series(
        self,
        theta: Float[Array, " p"],
        places: Float[Array, "d *points"],
        used: tuple[Index, ...],
        units: Any = None,
    ) -> Coefficients:
        """Outputs of the network around a point, or around each of many, as
        polynomials that have the derivatives ``used``.
        """
        center, unit = (jnp.asarray(v, theta.dtype) for v in self.input)
        inputs = ((places.T - center) / unit).T
        return self._network(theta).series(coordinate_series(inputs, unit, used), used, units)

    def local_field(self, series: Coefficients, p: dict[str, Array]) -> Field:
        """The solution around one point, for derivatives there that are in
        ``series``.
        """
        zero = min(series)  # the index of the value itself
        return self._as_field(lambda at: derivative_at(zero, None, series, at), p)

    def used_by(self, quantity: Quantity, rows: np.ndarray) -> tuple[Index, ...] | None:
        """Derivatives of the network that a quantity at a point uses; None if it
        looks beyond the point, or the network cannot tell.
        """
        if not hasattr(self.static, "series"):
            return None
        start = self.parts(jnp.zeros(self.size))["unknowns"]

        def of_function(
            raw: Callable[[tuple[Array, ...]], Array], row: Array, seed: Array
        ) -> Array:
            keys = jax.random.split(jax.random.key(seed), max(1, len(start)))
            moved = {
                name: jax.random.normal(key, v.shape)
                for key, (name, v) in zip(keys, start.items(), strict=False)
            }
            p = self._constrained(moved)
            return jnp.asarray(
                quantity(self._as_field(raw, p), user_point(self.problem.domain.names, row), p)
            )

        return indices_used(of_function, rows, len(self.problem.outputs))

    def _network(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.parts(theta)["network"], self.static)

    def _constrained(self, raw: dict[str, Array]) -> dict[str, Array]:
        return {name: u.constrain(raw[name]) for name, u in self.problem.unknowns.items()}

    def _as_field(self, raw: Callable[[tuple[Array, ...]], Array], p: dict[str, Array]) -> Field:
        """The solution from outputs of a network as a function of the coordinates."""
        names = self.problem.domain.names

        def evaluate(values: tuple[Array, ...]) -> Float[Array, " outputs"]:
            return self._in_units(
                raw(values), values[0] if len(names) == 1 else Point(names, values), p
            )

        return Field.of_coordinates(evaluate, names, tuple(self.problem.outputs))

    def _in_units(
        self, raw: Float[Array, " outputs"], at: Any, p: dict[str, Array]
    ) -> Float[Array, " outputs"]:
        """Outputs of the network in the user's units, and as a constraint makes
        them.
        """
        offset, scale = (jnp.asarray(v, raw.dtype) for v in self.output[:2])
        positive, names, constraint = (
            self.output[2],
            tuple(self.problem.outputs),
            self.problem.constraint,
        )
        value = offset + scale * raw
        if positive.any():
            value = jnp.where(positive, scale * jax.nn.softplus(raw), value)
        if constraint is None:
            return value
        if len(names) == 1:
            return jnp.reshape(constraint(value[0], at, p), (1,))
        changed = constraint({n: value[i] for i, n in enumerate(names)}, at, p)
        return jnp.stack([jnp.asarray(changed[n]) for n in names])
