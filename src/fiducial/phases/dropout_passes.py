"""Many passes through a trained network with units left out."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.dropout import kept_units, per_unit
from .base import AbstractPhase, Drawn, Info


class PassState(NamedTuple):
    """The network, its rates, and the network of the present pass."""

    theta: Float[Array, " p"]
    rates: Float[Array, " layers"]
    shown: Float[Array, " p"]


class DropoutPasses(AbstractPhase):
    """Each step is a network with fresh units left out, the same ones at all points, so
    that a draw is a whole solution.

    Arguments:
        steps: number of passes.
        rates: makes the rates of the hidden layers of what the training learnt.
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
        return PassState(theta, self.rates(previous.logits).astype(jnp.float64), theta)

    def step(
        self, model: Model, data: Data, state: PassState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[PassState, Info]:
        units = kept_units(per_unit(model, state.rates), (), key)
        shown = model.ansatz.scale_hidden_units(state.theta, units)
        return state._replace(shown=shown), {"left out": jnp.mean(units == 0)}

    def draw(self, state: PassState) -> Drawn:
        return Drawn(state.shown[None], {})
