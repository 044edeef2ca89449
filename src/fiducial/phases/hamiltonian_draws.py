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
    """The chain, its parameters, what it is compared by, and the best parameters so
    far with their log-density.
    """

    chain: HamiltonianState
    theta: Float[Array, " p"]
    probe: Float[Array, " q"]
    best: Float[Array, " p"]
    density: Float[Array, ""]


class HamiltonianDraws(AbstractPhase):
    """Moves with everything as the warm-up left it, some of which are kept.

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
            previous,
            previous.theta,
            probe(model, previous.theta),
            previous.theta,
            previous.chain.logdensity,
        )

    def step(
        self, model: Model, data: Data, state: DrawState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[DrawState, Info]:
        chain = self.mover.move(state.chain, data, key)
        step = jnp.round(progress * self.steps).astype(int)
        shown = jax.lax.cond(
            (step + 1) % self.thin == 0, lambda: probe(model, chain.theta), lambda: state.probe
        )
        better = chain.chain.logdensity > state.density
        best, density = (
            jnp.where(better, new, old)
            for new, old in ((chain.theta, state.best), (chain.chain.logdensity, state.density))
        )
        return DrawState(chain, chain.theta, shown, best, density), {
            "acceptance": chain.accepted,
            "divergent": chain.diverged,
        }

    def draw(self, state: DrawState) -> Drawn:
        noisy = {
            "probe": state.probe,
            "accepted": state.chain.accepted,
            "divergent": state.chain.diverged,
        }
        return Drawn(state.theta[None], {name: v[None] for name, v in noisy.items()})
