"""Passes through a trained network with hidden units left out at random."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.dropout import kept_units, rate_per_unit
from .base import AbstractPhase, Drawn, Info


class PassState(NamedTuple):
    """State between two passes.

    Attributes:
        theta: parameters of the trained network.
        rates: rates of the hidden layers.
        shown: parameters of the network of the last pass.
    """

    theta: Float[Array, " p"]
    rates: Float[Array, " layers"]
    shown: Float[Array, " p"]


class DropoutPasses(AbstractPhase):
    """Give one draw a step: the network with fresh units left out, the same ones at all
    points, so that a draw is a whole solution.

    Arguments:
        steps: number of passes.
        rates: gives the rates of the hidden layers from the logits that the training
            learnt.
    """

    steps: int
    rates: Callable[[Array], Array]
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> PassState:
        theta = model.estimate_noise(previous.theta.astype(jnp.float64), data)
        rates = self.rates(previous.logits).astype(jnp.float64)
        return PassState(theta, rates, shown=theta)

    def step(
        self, model: Model, data: Data, state: PassState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[PassState, Info]:
        units = kept_units(rate_per_unit(model, state.rates), (), key)
        shown = model.layers.scale_hidden_units(state.theta, units)
        return state._replace(shown=shown), {"left out": jnp.mean(units == 0)}

    def draw(self, state: PassState) -> Drawn:
        return Drawn(state.shown[None], {})
