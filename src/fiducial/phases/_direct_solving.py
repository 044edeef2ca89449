"""What phases that draw around a fit share: their settings, and the solutions with given
coordinates for a block of draws at once.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..device import apply_if, map_elements
from ..numerics.chord_steps import take_chord_steps, take_tangent_steps
from ..numerics.far_solutions import far_solution
from ..numerics.nearby_solutions import LARGEST_MISS, NearbySolutions
from ..numerics.tangents import TangentView
from .base import AbstractCostlyPhase, Drawn

BLOCK = 50
"""Number of draws made at once: enough for products with the same matrices to pay,
few enough for memory (convention).
"""
_FAR_STEPS = 60
"""Largest number of steps with Jacobians of its own that a draw is given (convention).
"""
_LARGEST_MISS_FAR = 0.02
"""Largest distance from its goal at which a draw with Jacobians of its own counts as
found: at the edge of what has a solution many draws come close. Montroll's equation
with a free exponent set it (see ``docs/direct.md``).
"""


class Solved(NamedTuple):
    """Where a proposal led.

    Attributes:
        theta: the solution.
        miss: distance from its goal, in standard errors.
        found: whether that is near enough.
        log_density: logarithm of the fiducial density there.
        rss: residual sum of squares of each noisy group, where noise sizes follow it.
    """

    theta: Float[Array, " p"]
    miss: Array
    found: Array
    log_density: Array
    rss: dict[str, Array]


class AbstractDrawsAroundFit(AbstractCostlyPhase):
    """Independent draws around a fit, a block of them in each step.

    Attributes:
        steps: number of blocks of draws.
        chord_steps: largest number of steps towards the target with the tangent of the
            fit.
        newton_steps: largest number of further steps with the tangent where the draw
            is.
        linear: stay on the tangent of the fit.
    """

    steps: int
    chord_steps: int = 6
    newton_steps: int = 10
    linear: bool = False
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "drawing"

    @property
    def independent(self) -> bool:
        return True

    def draw(self, state: Any) -> Drawn:
        return state.drawn


def solve_block(
    solutions: NearbySolutions,
    proposals: Any,
    evaluate: Callable[[Any, Array, TangentView, float], Solved],
    *,
    chord_steps: int,
    newton_steps: int,
) -> Solved:
    """Find the solutions with the coordinates ``goal`` of a block of proposals.

    Arguments:
        solutions: the solutions around the fit.
        proposals: a tree of arrays with an attribute ``goal``, along the first axis.
        evaluate: a function of a proposal, the solution, means and tangents there, and
            the largest distance from the goal at which it counts as found.
        chord_steps: largest number of steps with the tangent of the fit.
        newton_steps: largest number of further steps with the tangent where a draw is.

    Returns:
        The solutions, along the first axis.
    """
    fit = solutions.fit
    tangents = fit.theta + proposals.goal @ fit.along.T
    # these steps are products with the same matrices for all draws
    near = jax.vmap(
        lambda theta, goal: take_chord_steps(solutions, theta, goal, steps=chord_steps)
    )(tangents, proposals.goal)

    def go_on(proposal: Any, theta: Array) -> Solved:
        # in a plane Jacobians for the few draws that need them are less expensive
        if len(solutions.model.problem.domain.names) == 1:
            theta = take_tangent_steps(solutions, theta, proposal.goal, steps=newton_steps)
        return evaluate(proposal, theta, solutions.view(theta), LARGEST_MISS)

    def search(proposal: Any, solved: Solved) -> Solved:
        theta = far_solution(solutions, solved.theta, solved.miss, proposal.goal, steps=_FAR_STEPS)
        return evaluate(proposal, theta, solutions.fresh_view(theta), _LARGEST_MISS_FAR)

    def search_where_needed(solved: Solved) -> Solved:
        # one after another: only those that need it pay for it
        return jax.lax.map(
            lambda one: apply_if(~one[1].found, lambda now: search(one[0], now), one[1]),
            (proposals, solved),
        )

    solved = map_elements(go_on, proposals, near)
    return apply_if(jnp.any(~solved.found), search_where_needed, solved)
