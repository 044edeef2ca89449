"""Draws from the fiducial distribution: fresh errors, and the parameters that explain
the data with them.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..device import map_elements
from ..model.model import Data, Model
from ..numerics.far_solutions import refit
from ..numerics.linearisation import Linearisation, linearise, probe
from ..numerics.nearby_solutions import LARGEST_MISS, MOST_POINTS, NearbySolutions
from ..numerics.proposals import Proposal, propose_draw
from ..numerics.tangents import TangentView
from ._direct_solving import BLOCK, AbstractDrawsAroundFit, Solved, solve_block
from .base import Drawn, Info

_LARGEST_CHANGE = 1.0
"""Largest change of a datum by a further step, in its standard errors, at which a refit
of a free function counts as exact: each datum is one of many (convention).
"""
_LARGEST_CHANGE_KEPT = 20.0
"""Largest such change at which a refit is kept as it is; beyond, it has failed
(convention).
"""


class DirectState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the fit.
        fit: the fit, linearised.
        drawn: the last block of draws.
    """

    theta: Float[Array, " p"]
    fit: Linearisation
    drawn: Drawn


class DirectDraws(AbstractDrawsAroundFit):
    """Randomise, then optimise: each draw solves the data-generating equations for
    errors of its own.

    For errors z the target of the noisy rows is ``y_hat - s P z``, with P the
    projection onto the informed directions, while exact rows keep their values. It is
    reached from the fit by a few steps with the factorisation of the fit (chord steps),
    then with the tangent where the draw is, and for the last few draws of a strongly
    curved model with Jacobians of their own. Where an error size is unknown, it is
    drawn too: ``s = sqrt(RSS / |(I - P) z|^2)``; several unknown sizes are drawn each
    by its own chi-square. Curvature makes the draws' density differ from the fiducial
    one; the weights correct for it, and for the sizes that have no exact pivot.

    Arguments:
        steps: number of blocks of draws.
        chord_steps: largest number of steps towards the target with the tangent of the
            fit.
        newton_steps: largest number of further steps with the tangent where the draw
            is; where a function is free, of Gauss-Newton steps.
        linear: stay on the tangent of the fit: no steps and no weights.

    Reference:
        Bardsley, Solonen, Haario, Laine (2014), Randomize-then-optimize, SIAM J. Sci.
        Comput. 36, A1895.
    """

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> DirectState:
        theta = previous.theta.astype(jnp.float64)
        fit = linearise(model.thinned(MOST_POINTS), theta, data)
        none, probes = jnp.zeros(BLOCK), jnp.zeros((BLOCK, fit.probe.size))
        extra = {
            "log_weight": none,
            "miss": none,
            "failed": none > 0,
            "probe": probes,
            "linear_probe": probes,
        }
        return DirectState(theta, fit, Drawn(jnp.zeros((BLOCK, theta.size)), extra))

    def step(
        self, model: Model, data: Data, state: DirectState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[DirectState, Info]:
        drawn = self._block(model, data, state.fit, key)
        info = {
            "miss": jnp.max(drawn.extra["miss"]),
            "parameters": jnp.sum(state.fit.share),
            "sensitivity": state.fit.sensitivity,
        }
        return state._replace(drawn=drawn), info

    def _block(self, model: Model, data: Data, fit: Linearisation, key: PRNGKeyArray) -> Drawn:
        model = model.thinned(MOST_POINTS)
        solutions = NearbySolutions(model, fit)
        proposals = jax.vmap(lambda k: propose_draw(model, fit, k))(jax.random.split(key, BLOCK))
        if self.linear:
            solved = self._on_tangent(solutions, proposals)
        elif _refits(solutions):
            solved = map_elements(lambda one: self._refit(solutions, one), proposals)
        else:
            solved = self._solve(solutions, data, proposals)
        return jax.vmap(lambda proposal, one: self._finish(solutions, proposal, one))(
            proposals, solved
        )

    def _on_tangent(self, solutions: NearbySolutions, proposals: Proposal) -> Solved:
        """Move along the tangent of the fit, as if the model were linear."""
        fit = solutions.fit
        rss = {name: jnp.sum(e**2) for name, e in fit.errors.items()}
        return jax.vmap(
            lambda proposal, theta: Solved(
                theta=theta,
                miss=jnp.asarray(0.0),
                found=jnp.asarray(True),
                log_density=proposal.log_density,
                rss=rss,
            )
        )(proposals, fit.theta + proposals.goal @ fit.along.T)

    def _refit(self, solutions: NearbySolutions, proposal: Proposal) -> Solved:
        """Fit a free function again, to data that the proposal has moved."""
        fit = solutions.fit
        theta, change = refit(solutions, fit.basis @ proposal.goal, steps=self.newton_steps)
        return Solved(
            theta=theta,
            miss=change * LARGEST_MISS / _LARGEST_CHANGE,
            found=change <= _LARGEST_CHANGE_KEPT,
            log_density=proposal.log_density,
            rss={name: jnp.sum(e**2) for name, e in fit.errors.items()},
        )

    def _solve(self, solutions: NearbySolutions, data: Data, proposals: Proposal) -> Solved:
        """Find the solutions with the coordinates of a block of proposals."""

        def evaluate(proposal: Proposal, theta: Array, view: TangentView, largest: float) -> Solved:
            return _evaluate(solutions, data, proposal, theta, view, largest)

        return solve_block(
            solutions,
            proposals,
            evaluate,
            chord_steps=self.chord_steps,
            newton_steps=self.newton_steps,
        )

    def _finish(self, solutions: NearbySolutions, proposal: Proposal, solved: Solved) -> Drawn:
        """Return draws with their weights, their noise sizes, and what they are judged
        by.
        """
        model, fit = solutions.model, solutions.fit
        refitted = _refits(solutions)
        # with more informed directions than are followed the draws stay unweighted
        weighted = (jnp.sum(solutions.informed) <= solutions.r) & (not refitted)
        log_weight = jnp.where(weighted, solved.log_density - proposal.log_density, 0.0)
        sizes = proposal.sizes
        if not self.linear and not refitted:
            # a draw's noise sizes follow its own residuals, not those of the linear
            # model
            own = {g: jnp.sqrt(solved.rss[g] / linear) for g, linear in proposal.linear_rss.items()}
            sizes = {g: size * own.get(g, 1.0) for g, size in sizes.items()}
        theta = model.resize_noise(solved.theta, fit.theta, sizes)
        # a draw that is not at its goal has no solution; kept next to it such draws
        # would heap up at the edge of the possible
        failed = ~(jnp.all(jnp.isfinite(theta)) & solved.found)
        extra = {
            "log_weight": log_weight,
            "miss": solved.miss,
            "failed": failed,
            "probe": probe(model, theta),
            "linear_probe": fit.probe + fit.probe_along @ proposal.goal,
        }
        return Drawn(theta, extra)


def _refits(solutions: NearbySolutions) -> bool:
    """Return whether each draw is a fit of its own: a function is free, and has too
    many directions to follow and to weigh.
    """
    return solutions.model.has_free_function and solutions.fit.noisy.size > solutions.r


def _evaluate(
    solutions: NearbySolutions,
    data: Data,
    proposal: Proposal,
    theta: Array,
    view: TangentView,
    largest_miss: float,
) -> Solved:
    """Return a solution with its distance from its goal and its density."""
    rss = solutions.sums_of_squares(theta, data)
    miss = solutions.miss(view.noisy, view.exact, proposal.goal)
    return Solved(
        theta=theta,
        miss=miss,
        found=miss <= largest_miss,
        log_density=solutions.log_density(view, rss),
        rss=rss,
    )
