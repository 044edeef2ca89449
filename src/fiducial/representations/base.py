"""What a model needs of the representation of a solution. Each representation is one
file or folder in ``representations/``.

A representation turns parameters into a solution: a network, a series, or the result of
an ODE solver. The parameters are one flat vector ``theta``, which also holds the unknown
constants and noise sizes; ``parts(theta)`` takes it apart.
"""

import abc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..posing.coordinates import user_point
from ..posing.fields import Field
from ..posing.problem import Problem

if TYPE_CHECKING:
    from ..checks import Check

Parts = Callable[[Float[Array, " p"]], dict[str, Any]]
"""A function that maps a parameter vector to a dictionary with the representation's own
parameters as ``field``, and the unconstrained ``noise`` and ``unknowns``.
"""

Quantity = Callable[[Any, Any, Any], Any]
"""A function ``(field, at, p) -> number`` of the solution, a point and the constants.
"""

Sites = Mapping[str, Float[Array, "k d"]]
"""Coordinates of the sites of groups by the group's name, one site a row."""


class AbstractRepresentation(abc.ABC):
    """The solution of a problem as a function of a flat parameter vector ``theta``.

    Attributes:
        size: number of parameters in ``theta``.
        name: name of the representation, such as ``"network"``.
        recipe: class of the recipes in a problem that ask for it.
        points_may_move: whether an equation that is met at fixed points in a plane may
            be violated between them, so that its points should move while fitting.
    """

    size: int
    name: ClassVar[str] = ""
    recipe: ClassVar[type]
    points_may_move: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def initial(cls, problem: Problem, key: PRNGKeyArray) -> Any:
        """Return the representation's own parameters to start from, a tree of arrays in
        double precision.
        """

    @classmethod
    @abc.abstractmethod
    def of(cls, problem: Problem, *, size: int, parts: Parts) -> "AbstractRepresentation":
        """Return the representation for a problem.

        Call when nothing is being traced: quantities may be tried to find out which
        derivatives they use.

        Arguments:
            problem: the problem.
            size: number of parameters in ``theta``.
            parts: takes a parameter vector apart.
        """

    @classmethod
    def held(cls, problem: Problem) -> frozenset[str]:
        """Return the names of the problem's groups that hold by construction, for which
        a model then has no rows: none, unless a representation solves the equation.
        """
        del problem
        return frozenset()

    @abc.abstractmethod
    def field(self, theta: Float[Array, " p"]) -> Field:
        """Return the solution that the parameters stand for."""

    @abc.abstractmethod
    def means(self, theta: Float[Array, " p"], sites: Sites) -> dict[str, Float[Array, " k"]]:
        """Return the quantity of each group that ``sites`` names, at the sites given."""

    def means_and_jacobians(
        self, theta: Float[Array, " p"], sites: Sites
    ) -> dict[str, tuple[Float[Array, " k"], Float[Array, "k p"]]]:
        """Return the means and their derivatives by the parameters, by default by one
        forward pass for each parameter.
        """
        means, push = jax.linearize(lambda t: self.means(t, sites), theta)
        columns = jax.vmap(push, out_axes=1)(jnp.eye(theta.size, dtype=theta.dtype))
        return {name: (mean, columns[name]) for name, mean in means.items()}

    def linear_around(self, theta: Float[Array, " p"]) -> "AbstractRepresentation":
        """Return the representation linearised in the parameters around ``theta``."""
        return _Linearised(self, theta)

    def traced(self) -> Any:
        """Return the numbers that may differ between data sets of one problem, such as
        scales, as a tree of arrays.
        """
        return None

    def with_traced(self, numbers: Any) -> "AbstractRepresentation":
        """Return the representation with other numbers in the place of ``traced()``."""
        del numbers
        return self

    def has_free_function(self, noisy_sites: int) -> bool:
        """Return whether the representation could follow all data where no equation
        holds it: by default, whether it has more parameters than there are places of
        noisy data.
        """
        return self.size > noisy_sites

    def judge(self, theta: Float[Array, " p"]) -> list["Check"]:
        """Return checks of the representation itself at a fit: whether it is fine
        enough for the solution. By default there are none.
        """
        del theta
        return []


class _Linearised(AbstractRepresentation):
    """A representation linearised in its parameters."""

    def __init__(self, whole: AbstractRepresentation, around: Array):
        self.whole = whole
        self.around = around
        self.size = whole.size

    @classmethod
    def initial(cls, problem: Problem, key: PRNGKeyArray) -> Any:
        raise TypeError("a linearised representation is made from another one")

    @classmethod
    def of(cls, problem: Problem, *, size: int, parts: Parts) -> AbstractRepresentation:
        raise TypeError("a linearised representation is made from another one")

    def field(self, theta: Float[Array, " p"]) -> Field:
        own = self.whole.field(theta)

        def evaluate(row: Float[Array, " d"]) -> Float[Array, " outputs"]:
            at = user_point(own.coordinates, row)
            return self._extrapolated(lambda t: self.whole.field(t).all(at), theta)

        return Field(evaluate, own.coordinates, own.outputs)

    def means(self, theta: Float[Array, " p"], sites: Sites) -> dict[str, Float[Array, " k"]]:
        return self._extrapolated(lambda t: self.whole.means(t, sites), theta)

    def _extrapolated(self, fn: Callable[[Array], Any], theta: Array) -> Any:
        """Return the linear function that touches ``fn`` where this is linearised."""
        there = jnp.asarray(self.around, theta.dtype)
        value, change = jax.jvp(fn, (there,), (theta - there,))
        return jax.tree.map(jnp.add, value, change)
