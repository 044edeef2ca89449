"""Draws from the fiducial distribution: fresh errors, and the parameters that
explain the data with them.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float, PRNGKeyArray

from ..device import Effort, apply_if, map_elements
from ..model.model import Data, Model
from ..numerics.chord_steps import chord_steps, tangent_steps
from ..numerics.far_solutions import far_solution, refit
from ..numerics.linearisation import Linearisation, collapse, linearise, normal_errors, probe
from ..numerics.nearby_solutions import (
    LARGEST_MISS,
    MOST_POINTS,
    NearbySolutions,
    rows_of,
)
from ..numerics.tangents import TangentView, informed_block
from .base import AbstractPhase, Drawn, Info

BLOCK = 50
"""Draws made at once."""
_RESCUE_STEPS = 60
_LARGEST_MISS_FAR = 0.02
"""How far from its goal a draw may be for which Jacobians of its own were needed: at
the edge of what has a solution many come close.
"""
_LARGEST_MISS_OF_ONE = 1.0
"""How far a draw of a free function may be from its goal, in standard errors of a
single datum out of many, each of which matters little.
"""
_TOO_FAR_OF_ONE = 20.0
"""A draw of a free function that stays further away has no weight; one in between is
kept where it came to.
"""


class DirectState(NamedTuple):
    """The linearised fit, and the last block of draws."""

    theta: Float[Array, " p"]
    fit: Linearisation
    drawn: Drawn


class Proposal(NamedTuple):
    """Coordinates and error sizes before the model's curvature is looked at.

    Attributes:
        goal: coordinates to go to, in units of the fit's errors.
        sizes: error size of each group relative to the fit's.
        log_density: logarithm of the proposal's density.
        linear_rss: for each group with unknown size the residual sum of squares of a
            linear model there.
    """

    goal: Float[Array, " k"]
    sizes: dict[str, Array]
    log_density: Array
    linear_rss: dict[str, Array]


class Solved(NamedTuple):
    """Where a proposal led.

    Attributes:
        theta: the solution.
        miss: how far it is from its goal, in standard errors.
        found: whether that is near enough.
        log_density: of the fiducial distribution there.
        rss: residual sum of squares of each noisy group.
    """

    theta: Float[Array, " p"]
    miss: Array
    found: Array
    log_density: Array
    rss: dict[str, Array]


class DirectDraws(AbstractPhase):
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
        chord_steps: at most so many steps towards the target with the tangent of the
            fit.
        newton_steps: at most so many more with the tangent where the draw is, for draws
            that are not there yet; and for all draws of a free function.
        linear: stay on the tangent of the fit: no steps and no weights.

    Reference:
        Bardsley, Solonen, Haario, Laine (2014), Randomize-then-optimize, SIAM J. Sci.
        Comput. 36, A1895.
    """

    steps: int
    chord_steps: int = 6
    newton_steps: int = 10
    linear: bool = False
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def effort(self) -> Effort:
        return Effort.RUNS_SELDOM

    @property
    def independent(self) -> bool:
        return True

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

    def draw(self, state: DirectState) -> Drawn:
        return state.drawn

    def _block(self, model: Model, data: Data, fit: Linearisation, key: PRNGKeyArray) -> Drawn:
        model = model.thinned(MOST_POINTS)
        manifold = NearbySolutions(model, fit)
        proposals = jax.vmap(lambda k: propose(model, fit, k))(jax.random.split(key, BLOCK))
        solved = self._solve(manifold, data, proposals)
        if not self.linear and not self._free(manifold):
            # one after another: only those that need it pay for it
            solved = apply_if(
                jnp.any(~solved.found),
                lambda now: jax.lax.map(
                    lambda one: self._solve_far(manifold, data, *one), (proposals, now)
                ),
                solved,
            )
        return jax.vmap(lambda proposal, one: self._finish(manifold, proposal, one))(
            proposals, solved
        )

    def _free(self, manifold: NearbySolutions) -> bool:
        """Whether a function is free, so that there are too many directions to
        follow and to weigh.
        """
        return manifold.model.has_free_function and manifold.fit.noisy.size > manifold.r

    def _solve(self, manifold: NearbySolutions, data: Data, proposals: Proposal) -> Solved:
        """Go where the proposals of a block point."""
        fit, zero = manifold.fit, jnp.asarray(0.0)
        rss = {name: jnp.sum(e**2) for name, e in fit.errors.items()}
        tangents = fit.theta + proposals.goal @ fit.along.T
        if self.linear:
            return jax.vmap(
                lambda proposal, theta: Solved(
                    theta, zero, jnp.asarray(True), proposal.log_density, rss
                )
            )(proposals, tangents)

        def regress(proposal: Proposal) -> Solved:
            theta, left = refit(manifold, fit.basis @ proposal.goal, steps=self.newton_steps)
            return Solved(
                theta,
                left * LARGEST_MISS / _LARGEST_MISS_OF_ONE,
                left <= _TOO_FAR_OF_ONE,
                proposal.log_density,
                rss,
            )

        if self._free(manifold):
            return map_elements(regress, proposals)
        # these steps are products with the same matrices for all draws
        near = jax.vmap(
            lambda theta, goal: chord_steps(manifold, theta, goal, steps=self.chord_steps)
        )(tangents, proposals.goal)

        def look(proposal: Proposal, theta: Array) -> Solved:
            if (
                len(manifold.model.problem.domain.names) == 1
            ):  # in a plane a Jacobian for those few that need it is less dear
                theta = tangent_steps(manifold, theta, proposal.goal, steps=self.newton_steps)
            return self._look(manifold, data, proposal, theta, manifold.view(theta), LARGEST_MISS)

        return map_elements(look, proposals, near)

    def _solve_far(
        self, manifold: NearbySolutions, data: Data, proposal: Proposal, solved: Solved
    ) -> Solved:
        """Again with Jacobians of its own, where the fit's do not reach."""

        def again(solved: Solved) -> Solved:
            theta = far_solution(
                manifold, solved.theta, solved.miss, proposal.goal, steps=_RESCUE_STEPS
            )
            return self._look(
                manifold, data, proposal, theta, manifold.fresh_view(theta), _LARGEST_MISS_FAR
            )

        return apply_if(~solved.found, again, solved)

    def _look(
        self,
        manifold: NearbySolutions,
        data: Data,
        proposal: Proposal,
        theta: Array,
        view: TangentView,
        largest: float,
    ) -> Solved:
        rss, miss = (
            manifold.sums_of_squares(theta, data),
            manifold.miss(view.noisy, view.exact, proposal.goal),
        )
        return Solved(theta, miss, miss <= largest, manifold.log_density(view, rss), rss)

    def _finish(self, manifold: NearbySolutions, proposal: Proposal, solved: Solved) -> Drawn:
        """Weights, error sizes, and what the draws are judged by."""
        model, fit = manifold.model, manifold.fit
        # with more informed directions than are followed the draws stay unweighted
        followed = jnp.sum(manifold.informed) <= manifold.r
        log_weight = jnp.where(
            followed & (not self._free(manifold)), solved.log_density - proposal.log_density, 0.0
        )
        sizes = proposal.sizes
        if not self.linear and not self._free(manifold):
            # a draw's error sizes follow its own residuals, not those of the linear
            # model
            own = {g: jnp.sqrt(solved.rss[g] / linear) for g, linear in proposal.linear_rss.items()}
            sizes = {g: s * own.get(g, 1.0) for g, s in sizes.items()}
        theta = model.resize_noise(solved.theta, fit.theta, sizes)
        probes = {
            "probe": probe(model, theta),
            "linear_probe": fit.probe + fit.probe_along @ proposal.goal,
        }
        # a draw that is not at its goal has no solution; kept next to it such draws
        # would heap up at the edge of the possible
        failed = ~(jnp.all(jnp.isfinite(theta)) & solved.found)
        return Drawn(
            theta, {"log_weight": log_weight, "miss": solved.miss, "failed": failed, **probes}
        )


def propose(model: Model, fit: Linearisation, key: PRNGKeyArray) -> Proposal:
    """Errors made into coordinates and sizes, as if the model were linear."""
    z = normal_errors(model, key)
    shaped = collapse(model, fit.theta, z)
    informed = fit.share > 0.5
    rss = {name: jnp.sum(e**2) for name, e in fit.errors.items()}
    unknown = [g for g in model.groups if model.size_unknown(g)]
    ones = {g.name: jnp.asarray(1.0) for g in model.groups if not g.exact}
    inside = jnp.where(fit.share > 0, fit.basis.T @ shaped, 0.0)
    # what the fit has left undone; where a function is free, the ridge leaves some on
    # purpose
    undone = (
        jnp.zeros_like(inside)
        if model.has_free_function
        else jnp.where(informed, fit.basis.T @ fit.residual, 0.0)
    )
    if not unknown:
        return Proposal(
            undone - inside, ones, -0.5 * jnp.sum(jnp.where(informed, inside, 0.0) ** 2), {}
        )

    if len(ones) == 1:  # the exact pivot
        (name,) = ones
        free = float(z[name].size) - jnp.sum(fit.share)
        rss = {name: rss[name] - jnp.sum(undone**2)}
        sizes = {
            name: jnp.sqrt(rss[name] / (jnp.sum(z[name] ** 2) - jnp.sum(fit.share * inside**2)))
        }
        mean, goal = undone, undone - sizes[name] * inside
        precision = jnp.eye(goal.size) / sizes[name] ** 2
        log_determinant = -2 * jnp.sum(informed) * jnp.log(sizes[name])
        used = {name: free}
    else:
        sizes, used = dict(ones), {}
        for i, g in enumerate(unknown):
            taken = jnp.sum(
                jnp.where(rows_of(model, g.name)[:, None], fit.basis**2 * fit.share, 0.0)
            )
            used[g.name] = jnp.maximum(1.0, jnp.round(g.y.size - taken))
            more = jax.random.normal(jax.random.fold_in(key, 1000 + i), (g.y.size,), jnp.float64)
            sizes[g.name] = jnp.sqrt(
                rss[g.name]
                / jnp.sum(jnp.where(jnp.arange(g.y.size) < used[g.name], more, 0.0) ** 2)
            )
        weight = sum(jnp.where(rows_of(model, g), 1 / sizes[g], 0.0) for g in sizes)
        precision = informed_block((fit.basis.T * weight**2) @ fit.basis, informed)
        right = jnp.stack(
            [fit.basis.T @ (weight**2 * fit.residual), fit.basis.T @ (weight * shaped)], axis=1
        )
        factor = jnp.linalg.cholesky(precision)
        solved = jsl.cho_solve((factor, True), jnp.where(informed[:, None], right, 0.0))
        mean, goal = solved[:, 0], jnp.where(fit.share > 0, solved[:, 0] - solved[:, 1], 0.0)
        log_determinant = 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    off = jnp.where(informed, goal - mean, 0.0)
    log_density = 0.5 * log_determinant - 0.5 * off @ precision @ off
    linear = {}
    moved = fit.basis @ jnp.where(informed, goal, 0.0)
    for g in unknown:
        own, n, size = rows_of(model, g.name), g.y.size, sizes[g.name]
        linear[g.name] = jnp.sum(fit.errors[g.name] ** 2) + jnp.sum(
            jnp.where(own, moved**2 - 2 * fit.residual * moved, 0.0)
        )
        # the size's own density, against the one that it has in the fiducial
        # distribution given the coordinates
        log_density += -(used[g.name] + 1) * jnp.log(size) - 0.5 * rss[g.name] / size**2
        log_density -= (
            0.5 * n * jnp.log(linear[g.name])
            - (n + 1) * jnp.log(size)
            - 0.5 * linear[g.name] / size**2
        )
    return Proposal(goal, sizes, log_density, linear)
