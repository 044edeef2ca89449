"""A walk on the solutions that the data-generating equations have."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.chord_steps import take_chord_steps, take_tangent_steps
from ..numerics.linearisation import Linearisation, linearise, normal_errors, probe
from ..numerics.nearby_solutions import LARGEST_MISS, MOST_POINTS, NearbySolutions
from .base import AbstractPhase, Drawn, Info

_ACCEPTANCE = 0.3
"""Share of moves to accept, about the best for a random walk in a few dimensions
(Gelman, Roberts, Gilks 1996: 0.44 in one dimension, 0.23 in many).
"""
_BEST_LENGTH = 2.4
"""Length of moves in d dimensions, times the square root of d, in standard deviations
(Gelman, Roberts, Gilks 1996).
"""
_ADAPTATION = 0.2
"""Change of the logarithm of the length by a move in the warm-up, for each unit by
which the acceptance is off (convention).
"""
_CHORD_STEPS = 4
"""Largest number of chord steps to a proposed solution (convention)."""
_TANGENT_STEPS = 6
"""Largest number of further steps with the tangent there (convention)."""


class Position(NamedTuple):
    """Where a chain is.

    Attributes:
        theta: the solution.
        goal: its coordinates.
        log_density: logarithm of the fiducial density there.
        rss: residual sum of squares of each noisy group.
    """

    theta: Float[Array, " p"]
    goal: Float[Array, " k"]
    log_density: Array
    rss: dict[str, Array]


class WalkState(NamedTuple):
    """A chain.

    Attributes:
        position: where it is.
        log_length: logarithm of the length of moves, relative to the best one of a
            normal distribution.
        fit: the fit, linearised.
        drawn: the position with noise sizes of its own, as a draw.
    """

    position: Position
    log_length: Array
    fit: Linearisation
    drawn: Drawn


class _Walked(NamedTuple):
    """A chain within a step.

    Attributes:
        position: where it is.
        log_length: logarithm of the length of moves.
        accepted: share of the step's moves that were accepted so far.
        lost: share that led to no solution so far.
    """

    position: Position
    log_length: Array
    accepted: Array
    lost: Array


class ManifoldWalk(AbstractPhase):
    """A random walk over the solutions, kept on them by Gauss-Newton steps.

    This is the paper's algorithm in the limit that it aims at: the energy is zero, so
    the errors stay on the manifold on which the equations can be solved, and the
    parameters follow them exactly. Moves are proposed in the informed coordinates, the
    solution is tracked from where it is by Gauss-Newton steps with the tangent there,
    and a move is accepted by the fiducial density (Metropolis). Moves that lead to no
    solution are rejected and counted. Unknown noise sizes given the solution follow
    independent chi-square distributions, and are drawn from these.

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
        solutions = NearbySolutions(model, fit)
        rss = solutions.sums_of_squares(theta, data)
        position = Position(
            theta=theta,
            goal=jnp.zeros_like(fit.noisy),
            log_density=solutions.log_density(solutions.view(theta), rss),
            rss=rss,
        )
        begin = _Walked(
            position, jnp.asarray(0.0), accepted=jnp.asarray(1.0), lost=jnp.asarray(0.0)
        )
        return WalkState(position, begin.log_length, fit, self._drawn(model, begin, fit, key))

    def step(
        self, model: Model, data: Data, state: WalkState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[WalkState, Info]:
        model = model.thinned(MOST_POINTS)
        fit = state.fit
        solutions = NearbySolutions(model, fit)
        warming_up = progress * self.steps < self.warm_up

        def move(i: Array, now: _Walked) -> _Walked:
            return self._move(solutions, data, now, warming_up, jax.random.fold_in(key, i))

        none = jnp.asarray(0.0)
        begin = _Walked(state.position, state.log_length, accepted=none, lost=none)
        walked = jax.lax.fori_loop(0, self.moves, move, begin)
        drawn = self._drawn(model, walked, fit, jax.random.fold_in(key, self.moves))
        info = {
            "accepted": walked.accepted,
            "lost": walked.lost,
            "length": jnp.exp(walked.log_length),
            "parameters": jnp.sum(fit.share),
            "sensitivity": fit.sensitivity,
        }
        return WalkState(walked.position, walked.log_length, fit, drawn), info

    def _move(
        self,
        solutions: NearbySolutions,
        data: Data,
        now: _Walked,
        warming_up: Array,
        key: PRNGKeyArray,
    ) -> _Walked:
        """Propose a move, and accept it by the fiducial density."""
        towards, chance = jax.random.split(key)
        position = now.position
        dimensions = jnp.maximum(1, jnp.sum(solutions.informed))
        length = jnp.exp(now.log_length) * _BEST_LENGTH / jnp.sqrt(dimensions)
        normal = jax.random.normal(towards, position.goal.shape, jnp.float64)
        change = jnp.where(solutions.informed, length * normal, 0.0)
        goal = position.goal + change
        theta = position.theta + solutions.fit.along @ change
        theta = take_chord_steps(solutions, theta, goal, steps=_CHORD_STEPS)
        theta = take_tangent_steps(solutions, theta, goal, steps=_TANGENT_STEPS)
        view = solutions.view(theta)
        rss = solutions.sums_of_squares(theta, data)
        proposed = Position(theta, goal, solutions.log_density(view, rss), rss)
        solved = solutions.miss(view.noisy, view.exact, goal) <= LARGEST_MISS
        uniform = jax.random.uniform(chance, (), jnp.float64)
        accept = solved & (jnp.log(uniform) < proposed.log_density - position.log_density)
        return _Walked(
            position=jax.tree.map(lambda a, b: jnp.where(accept, a, b), proposed, position),
            log_length=now.log_length
            + jnp.where(warming_up, _ADAPTATION * (accept - _ACCEPTANCE), 0.0),
            accepted=now.accepted + accept / self.moves,
            lost=now.lost + ~solved / self.moves,
        )

    def draw(self, state: WalkState) -> Drawn:
        return state.drawn

    def _drawn(self, model: Model, walked: _Walked, fit: Linearisation, key: PRNGKeyArray) -> Drawn:
        """Return the position as a draw, with unknown noise sizes drawn given it."""
        errors = normal_errors(model, key)
        factors = {name: jnp.asarray(1.0) for name in errors}
        for g in model.groups:
            if model.size_unknown(g):
                chi_square = jnp.sum(errors[g.name] ** 2)
                factors[g.name] = jnp.sqrt(walked.position.rss[g.name] / chi_square)
        theta = model.resize_noise(walked.position.theta, fit.theta, factors)
        extra = {
            "probe": probe(model, theta)[None],
            "accepted": walked.accepted[None],
            "lost": walked.lost[None],
        }
        return Drawn(theta[None], extra)
