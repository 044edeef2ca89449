"""A walk on the solutions that the data-generating equations have."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.chord_steps import chord_steps, tangent_steps
from ..numerics.linearisation import Linearisation, linearise, normal_errors, probe
from ..numerics.nearby_solutions import LARGEST_MISS, MOST_POINTS, NearbySolutions
from .base import AbstractPhase, Drawn, Info

_WANTED = 0.3
"""Share of moves to accept, about the best for a random walk in a few dimensions."""


class Place(NamedTuple):
    """Where a chain is.

    Attributes:
        theta: the solution.
        goal: its coordinates.
        log_density: of the fiducial distribution there.
        rss: residual sum of squares of each noisy group.
    """

    theta: Float[Array, " p"]
    goal: Float[Array, " k"]
    log_density: Array
    rss: dict[str, Array]


class WalkState(NamedTuple):
    """A chain.

    Attributes:
        place: where it is.
        log_length: logarithm of the length of moves.
        fit: the fit, linearised.
        drawn: the place with error sizes of its own, as a draw.
    """

    place: Place
    log_length: Array
    fit: Linearisation
    drawn: Drawn


class ManifoldWalk(AbstractPhase):
    """A random walk over the solutions, kept on them by Gauss-Newton steps.

    This is the paper's algorithm in the limit that it aims at: the energy is zero, so
    the errors stay on the manifold on which the equations can be solved, and the
    parameters follow them exactly. Moves are proposed in the informed coordinates, the
    solution is tracked from where it is by Gauss-Newton steps with the tangent there,
    and a move is accepted by the fiducial density (Metropolis). Moves that lead to no
    solution are counted. Unknown error sizes given the solution are independent
    chi-squares, and drawn as such.

    Arguments:
        steps: records, those of the warm-up included.
        warm_up: records in which the length of moves is adapted.
        moves: moves for each record.
    """

    steps: int
    warm_up: int
    moves: int = 5
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "sampling"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> WalkState:
        theta = previous.theta.astype(jnp.float64)
        model = model.thinned(MOST_POINTS)
        fit = linearise(model, theta, data)
        manifold = NearbySolutions(model, fit)
        rss = manifold.sums_of_squares(theta, data)
        place = Place(
            theta, jnp.zeros_like(fit.noisy), manifold.log_density(manifold.view(theta), rss), rss
        )
        return WalkState(
            place,
            jnp.asarray(0.0),
            fit,
            self._drawn(model, place, fit, jnp.asarray(1.0), jnp.asarray(0.0), key),
        )

    def step(
        self, model: Model, data: Data, state: WalkState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[WalkState, Info]:
        model = model.thinned(MOST_POINTS)
        fit = state.fit
        manifold = NearbySolutions(model, fit)
        warming = progress * self.steps < self.warm_up

        def move(
            i: Array, carry: tuple[Place, Array, Array, Array]
        ) -> tuple[Place, Array, Array, Array]:
            place, log_length, taken, lost = carry
            towards, chance = jax.random.split(jax.random.fold_in(key, i))
            length = (
                jnp.exp(log_length) * 2.4 / jnp.sqrt(jnp.maximum(1, jnp.sum(manifold.informed)))
            )
            change = jnp.where(
                manifold.informed,
                length * jax.random.normal(towards, place.goal.shape, jnp.float64),
                0.0,
            )
            goal = place.goal + change
            theta = chord_steps(manifold, place.theta + fit.along @ change, goal, steps=4)
            theta = tangent_steps(manifold, theta, goal, steps=6)
            view = manifold.view(theta)
            rss = manifold.sums_of_squares(theta, data)
            there = Place(theta, goal, manifold.log_density(view, rss), rss)
            solved = manifold.miss(view.noisy, view.exact, goal) <= LARGEST_MISS
            accept = solved & (
                jnp.log(jax.random.uniform(chance, (), jnp.float64))
                < there.log_density - place.log_density
            )
            place = jax.tree.map(lambda a, b: jnp.where(accept, a, b), there, place)
            log_length += jnp.where(warming, 0.2 * (accept - _WANTED), 0.0)
            return place, log_length, taken + accept / self.moves, lost + ~solved / self.moves

        none = jnp.asarray(0.0)
        place, log_length, taken, lost = jax.lax.fori_loop(
            0, self.moves, move, (state.place, state.log_length, none, none)
        )
        drawn = self._drawn(model, place, fit, taken, lost, jax.random.fold_in(key, self.moves))
        info = {
            "accepted": taken,
            "lost": lost,
            "length": jnp.exp(log_length),
            "parameters": jnp.sum(fit.share),
            "sensitivity": fit.sensitivity,
        }
        return WalkState(place, log_length, fit, drawn), info

    def draw(self, state: WalkState) -> Drawn:
        return state.drawn

    def _drawn(
        self,
        model: Model,
        place: Place,
        fit: Linearisation,
        taken: Array,
        lost: Array,
        key: PRNGKeyArray,
    ) -> Drawn:
        errors = normal_errors(model, key)
        chi = {
            g.name: jnp.sqrt(place.rss[g.name] / jnp.sum(errors[g.name] ** 2))
            for g in model.groups
            if model.size_unknown(g)
        }
        theta = model.resize_noise(
            place.theta, fit.theta, {name: chi.get(name, jnp.asarray(1.0)) for name in errors}
        )
        return Drawn(
            theta[None],
            {"probe": probe(model, theta)[None], "accepted": taken[None], "lost": lost[None]},
        )
