"""What only networks of layers can do: leave out hidden units, hold their first layers.

Methods that need it ask whether a model's representation is an ``AbstractLayered``.
"""

import abc
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from .base import AbstractRepresentation, Sites


class AbstractLayered(AbstractRepresentation):
    """A representation by a network; it may be a fully connected one, with hidden units
    in layers.
    """

    @property
    @abc.abstractmethod
    def hidden_widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers; empty for a network that is not fully connected."""

    @abc.abstractmethod
    def means_of_units(
        self, theta: Float[Array, " p"], sites: Sites, hidden_factors: Float[Array, "k u"]
    ) -> dict[str, Float[Array, " k"]]:
        """Return means as ``means`` does, with the outputs of all hidden units
        multiplied by factors, one row of them for each site.
        """

    @abc.abstractmethod
    def weight_matrices(self, theta: Float[Array, " p"]) -> list[Array]:
        """Return the weight matrices, the first layer's first."""

    @abc.abstractmethod
    def scale_hidden_units(
        self, theta: Float[Array, " p"], factors: Float[Array, " u"]
    ) -> Float[Array, " p"]:
        """Return parameters that act as ``theta`` does with the outputs of the hidden
        units multiplied by ``factors``.
        """

    @abc.abstractmethod
    def last_layers_mask(self, layers: int) -> np.ndarray:
        """Return one for every parameter except those of earlier layers, zero for
        these.
        """

    @abc.abstractmethod
    def unit_factors(self) -> Any:
        """Return factors that turn the parameters into those of a network that takes
        inputs and gives outputs in the user's units, offsets left aside.

        They are one for networks that are not fully connected.
        """
