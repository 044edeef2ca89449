"""Draws of a Hamiltonian chain."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.hamiltonian import HamiltonianState, Mover
from ..numerics.linearisation import probe
from .base import AbstractPhase, Drawn, Info


class DrawState(NamedTuple):
    """State between two moves.

    Attributes:
        chain: state of the chain.
        theta: its parameters.
        probe: quantities by which chains are compared.
        best: parameters of the highest log-density so far.
        density: their log-density.
    """

    chain: HamiltonianState
    theta: Float[Array, " p"]
    probe: Float[Array, " q"]
    best: Float[Array, " p"]
    density: Float[Array, ""]


class HamiltonianDraws(AbstractPhase):
    """Moves with step size and mass as the warm-up left them, every ``thin``-th of
    which is kept as a draw.

    Arguments:
        steps: number of moves.
        thin: moves from one draw to the next.
        mover: how the chain moves.
    """

    steps: int
    thin: int
    mover: Mover
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "sampling"

    @property
    def record_every(self) -> int:
        return self.thin

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> DrawState:
        return DrawState(
            chain=previous,
            theta=previous.theta,
            probe=probe(model, previous.theta),
            best=previous.theta,
            density=previous.chain.logdensity,
        )

    def step(
        self, model: Model, data: Data, state: DrawState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[DrawState, Info]:
        chain = self.mover.move(state.chain, data, key)
        number = jnp.round(progress * self.steps).astype(int)
        is_draw = (number + 1) % self.thin == 0
        probed = jax.lax.cond(is_draw, lambda: probe(model, chain.theta), lambda: state.probe)
        density = chain.chain.logdensity
        better = density > state.density
        after = DrawState(
            chain=chain,
            theta=chain.theta,
            probe=probed,
            best=jnp.where(better, chain.theta, state.best),
            density=jnp.where(better, density, state.density),
        )
        return after, {"acceptance": chain.accepted, "divergent": chain.diverged}

    def draw(self, state: DrawState) -> Drawn:
        extra = {
            "probe": state.probe,
            "accepted": state.chain.accepted,
            "divergent": state.chain.diverged,
        }
        return Drawn(state.theta[None], {name: v[None] for name, v in extra.items()})
