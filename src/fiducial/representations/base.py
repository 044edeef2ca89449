"""What a model needs of the representation of a solution."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from ..posing.coordinates import Points
from ..posing.fields import Field

Quantity = Callable[[Any, Any, Any], Any]
"""A function ``(field, at, p) -> number`` of the solution, a point and the constants."""

Evaluate = Callable[[Array, Any, Array, Any], Array]
"""A function ``(theta, around, coordinates, hidden_factors) -> value``, where the last
three are as in ``AbstractRepresentation.field``.
"""


class Evaluation(NamedTuple):
    """One quantity as compiled functions of the parameters.

    Attributes:
        at_one: its value at a point, given the vector of the point's coordinates.
        at_many: its values at n points, given an (n, d) array of coordinates.
    """

    at_one: Evaluate
    at_many: Evaluate


class AbstractRepresentation(abc.ABC):
    """The solution as a function of a flat parameter vector ``theta``."""

    @abc.abstractmethod
    def unknowns(self, theta: Float[Array, " p"]) -> dict[str, Array]:
        """Return the unknown constants in the user's units."""

    @abc.abstractmethod
    def field(
        self,
        theta: Float[Array, " p"],
        hidden_factors: Float[Array, " u"] | None = None,
        around: Any = None,
    ) -> Field:
        """Return the solution that the parameters stand for.

        Arguments:
            theta: the parameters.
            hidden_factors: factors for the outputs of an MLP's hidden units, which
                dropout sets to zero at random; None for ones.
            around: parameters around which the solution is linearised; None for the
                solution itself.
        """

    @abc.abstractmethod
    def evaluation(self, quantity: Quantity, sites: Points) -> Evaluation:
        """Return a quantity of the solution as compiled functions of the parameters.

        Call when nothing is being traced: the quantity is tried at some of the sites to
        find out which derivatives it uses.
        """

    @abc.abstractmethod
    def weight_matrices(self, theta: Float[Array, " p"]) -> list[Array]:
        """Return the weight matrices of an MLP, the first layer's first."""

    @abc.abstractmethod
    def scale_hidden_units(
        self, theta: Float[Array, " p"], factors: Float[Array, " u"]
    ) -> Float[Array, " p"]:
        """Return parameters of an MLP that act as ``theta`` does with the outputs of
        its hidden units multiplied by ``factors``.
        """

    @abc.abstractmethod
    def last_layers_mask(self, layers: int) -> np.ndarray:
        """Return one for every parameter except those of an MLP's earlier layers, zero
        for these.
        """

    @abc.abstractmethod
    def unit_factors(self) -> np.ndarray:
        """Return factors that turn an MLP's parameters into those of a network that
        takes inputs and gives outputs in the user's units, offsets left aside.

        They are one for the parameters of other networks.
        """
