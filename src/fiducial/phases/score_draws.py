"""Draws from the fiducial distribution where errors are not Gaussian, or do not enter
the data linearly: proposals near the mode, with importance weights.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.generalised_density import GeneralisedDensity, NoisyMeans, freeze_noise
from ..numerics.linear_systems import solve_small
from ..numerics.linearisation import Linearisation, linearise, probe
from ..numerics.nearby_solutions import MOST_POINTS, NearbySolutions
from ..numerics.tangents import TangentView, informed_block
from ._direct_solving import BLOCK, AbstractDrawsAroundFit, Solved, solve_block
from .base import Drawn, Info

_FREEDOM = (2.0, 5.0)
"""Smallest and largest number of degrees of freedom of the proposals. Within, it is
what the data leave for an unknown noise size, on which the tails of the fiducial
distribution depend.
"""
_MODE_STEPS = 30
"""Newton steps towards the mode of the proposals (convention)."""
_SHARES_OF_STEP = (0.0, 1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Shares of a Newton step that are tried; the best is taken."""
_IMPOSSIBLE = -1e30
"""Logarithm of a weight that is zero."""
_SMALLEST_CURVATURE = 1e-3
"""Smallest curvature at the mode: a direction in which the density hardly falls gets
proposals that are at most thirty standard errors wide.
"""


class ScoreState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the fit.
        fit: the fit of the frozen model, linearised.
        mode: coordinates and noise parameters in the middle of the proposals.
        root: square root of the scale matrix of their t distribution.
        drawn: the last block of draws.
    """

    theta: Float[Array, " p"]
    fit: Linearisation
    mode: Float[Array, " d"]
    root: Float[Array, "d d"]
    drawn: Drawn


class _Proposal(NamedTuple):
    """Coordinates and noise parameters that were drawn.

    Attributes:
        goal: the coordinates, in units of the errors at the fit.
        noise: the unconstrained noise parameters.
        log_density: logarithm of the density from which both were drawn.
        linear_log_density: logarithm of the fiducial density of a linear model there.
    """

    goal: Float[Array, " k"]
    noise: Float[Array, " m"]
    log_density: Array
    linear_log_density: Array


class ScoreDraws(AbstractDrawsAroundFit):
    """Importance sampling in the coordinates of the solution and the noise parameters.

    Proposals have a t distribution around the mode of the fiducial density for a linear
    model, with its curvature there. For each the solution with these coordinates is
    found as in ``DirectDraws``; the weight is its fiducial density over that of the
    proposal. Of a noise model only the quantile function is needed.

    Arguments:
        steps: number of blocks of draws.
        chord_steps: largest number of steps towards the target with the tangent of the
            fit.
        newton_steps: largest number of further steps with the tangent where the draw
            is.
        linear: stay on the tangent of the fit, with the weights of a linear model.
    """

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ScoreState:
        theta = previous.theta.astype(jnp.float64)
        model = model.thinned(MOST_POINTS)
        frozen = freeze_noise(model, theta)
        fit = linearise(frozen, theta, data)
        density = GeneralisedDensity(model, NearbySolutions(frozen, fit), data)
        mode, root = _find_mode(density)
        none, probes = jnp.zeros(BLOCK), jnp.zeros((BLOCK, fit.probe.size))
        extra = {
            "log_weight": none,
            "linear_log_weight": none,
            "miss": none,
            "failed": none > 0,
            "probe": probes,
            "linear_probe": probes,
        }
        drawn = Drawn(jnp.zeros((BLOCK, theta.size)), extra)
        return ScoreState(theta, fit, mode, root, drawn)

    def step(
        self, model: Model, data: Data, state: ScoreState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[ScoreState, Info]:
        drawn = self._block(model.thinned(MOST_POINTS), data, state, key)
        info = {
            "miss": jnp.max(drawn.extra["miss"]),
            "parameters": jnp.sum(state.fit.share),
            "sensitivity": state.fit.sensitivity,
        }
        return state._replace(drawn=drawn), info

    def _block(self, model: Model, data: Data, state: ScoreState, key: PRNGKeyArray) -> Drawn:
        solutions = NearbySolutions(freeze_noise(model, state.theta), state.fit)
        density = GeneralisedDensity(model, solutions, data)
        keys = jax.random.split(key, BLOCK)
        proposals = jax.vmap(lambda own: _propose(density, state, own))(keys)

        def evaluate(
            proposal: _Proposal, theta: Array, view: TangentView, largest: float
        ) -> Solved:
            miss = solutions.miss(view.noisy, view.exact, proposal.goal)
            turn = solutions.turn(view)
            along_moves = density.at(NoisyMeans(view.noisy, view.tangent), proposal.noise)
            return Solved(
                theta=theta,
                miss=miss,
                found=miss <= largest,
                log_density=along_moves - solve_small(turn, turn[:, :0])[1],
                rss={},
            )

        if self.linear:
            solved = jax.vmap(
                lambda proposal, theta: Solved(
                    theta=theta,
                    miss=jnp.asarray(0.0),
                    found=jnp.asarray(True),
                    log_density=proposal.linear_log_density,
                    rss={},
                )
            )(proposals, state.fit.theta + proposals.goal @ state.fit.along.T)
        else:
            solved = solve_block(
                solutions,
                proposals,
                evaluate,
                chord_steps=self.chord_steps,
                newton_steps=self.newton_steps,
            )
        return jax.vmap(lambda proposal, one: _finish(model, solutions, proposal, one))(
            proposals, solved
        )


def _counted(density: GeneralisedDensity) -> Bool[Array, " d"]:
    """Return which coordinates and noise parameters are drawn."""
    return jnp.concatenate([density.solutions.followed, jnp.ones(density.noise_count, bool)])


def _freedom(density: GeneralisedDensity) -> Array:
    """Return the degrees of freedom of the proposals."""
    smallest, largest = _FREEDOM
    if not density.noise_count:
        return jnp.asarray(largest)
    count = sum(g.count for g in density.model.groups if not g.exact)
    return jnp.clip(1.0 * count - jnp.sum(density.solutions.followed), smallest, largest)


def _find_mode(density: GeneralisedDensity) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Return the mode of the fiducial density of a linear model, and the square root of
    the inverse of its curvature there.
    """
    r = density.solutions.r
    counted = _counted(density)
    noise = density.solutions.fit.theta[density.model.noise_slice]

    def cost(x: Array) -> Array:
        return -density.linear(x[:r], x[r:])

    def curvature(x: Array) -> tuple[Array, Array]:
        matrix = informed_block(jax.jacfwd(jax.jacfwd(cost))(x), counted)
        values, vectors = jnp.linalg.eigh(jnp.where(jnp.isfinite(matrix), matrix, 0.0))
        return jnp.maximum(jnp.abs(values), _SMALLEST_CURVATURE), vectors

    def improve(_: Any, x: Array) -> Array:
        values, vectors = curvature(x)
        gradient = jnp.where(counted, jax.jacfwd(cost)(x), 0.0)
        step = vectors @ ((vectors.T @ gradient) / values)
        step = jnp.where(jnp.isfinite(step), step, 0.0)
        tried = x - jnp.array(_SHARES_OF_STEP)[:, None] * step
        costs = jax.vmap(cost)(tried)
        return tried[jnp.argmin(jnp.where(jnp.isfinite(costs), costs, jnp.inf))]

    start = jnp.concatenate([jnp.zeros(r), noise])
    mode = jax.lax.fori_loop(0, _MODE_STEPS, improve, start)
    values, vectors = curvature(mode)
    return mode, (vectors / jnp.sqrt(values)) @ vectors.T


def _propose(density: GeneralisedDensity, state: ScoreState, key: PRNGKeyArray) -> _Proposal:
    """Draw coordinates and noise parameters from the t distribution around the mode."""
    own, other = jax.random.split(key)
    counted = _counted(density)
    normal = jnp.where(counted, jax.random.normal(own, counted.shape, jnp.float64), 0.0)
    freedom = _freedom(density)
    chi_square = 2 * jax.random.gamma(other, freedom / 2, dtype=jnp.float64)
    off = normal * jnp.sqrt(freedom / chi_square)
    drawn = state.mode + state.root @ off
    r = density.solutions.r
    coordinates, noise = drawn[:r], drawn[r:]
    return _Proposal(
        goal=jnp.zeros(len(state.fit.noisy)).at[:r].set(coordinates),
        noise=noise,
        log_density=-0.5 * (freedom + jnp.sum(counted)) * jnp.log1p(jnp.sum(off**2) / freedom),
        linear_log_density=density.linear(coordinates, noise),
    )


def _finish(model: Model, solutions: NearbySolutions, proposal: _Proposal, solved: Solved) -> Drawn:
    """Return draws with their weights, and what they are judged by."""
    fit = solutions.fit
    theta = solved.theta.at[model.noise_slice].set(proposal.noise)
    log_weight = solved.log_density - proposal.log_density
    linear = proposal.linear_log_density - proposal.log_density
    # a density cannot be given where more directions are informed than are followed
    possible = jnp.sum(solutions.informed) <= solutions.r
    failed = ~(jnp.all(jnp.isfinite(theta)) & solved.found & possible & ~jnp.isnan(log_weight))
    # no number is infinite: a chain whose state is not finite counts as diverged
    theta = jnp.where(failed, fit.theta, theta)
    extra = {
        "log_weight": jnp.where(jnp.isfinite(log_weight), log_weight, _IMPOSSIBLE),
        "linear_log_weight": jnp.where(jnp.isfinite(linear), linear, _IMPOSSIBLE),
        "miss": jnp.where(jnp.isfinite(solved.miss), solved.miss, -_IMPOSSIBLE),
        "failed": failed,
        "probe": probe(model, theta),
        "linear_probe": fit.probe + fit.probe_along @ proposal.goal,
    }
    return Drawn(theta, extra)
