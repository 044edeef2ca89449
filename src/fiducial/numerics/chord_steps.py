"""Solutions with given coordinates by chord steps: Newton steps that reuse the
factorisation of the fit.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .linear_systems import solve_small
from .linearisation import noisy_means
from .nearby_solutions import CLOSE, NearbySolutions


class _Iterate(NamedTuple):
    """How far an iteration has come.

    Attributes:
        theta: the parameters.
        noisy: means of the noisy rows.
        exact: means of the exact rows.
        miss: distance from the goal, in standard errors.
        steps: number of steps taken; the largest number once a step has failed.
    """

    theta: Float[Array, " p"]
    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    miss: Float[Array, ""]
    steps: Int[Array, ""]


def take_chord_steps(
    solutions: NearbySolutions,
    theta: Float[Array, " p"],
    goal: Float[Array, " k"],
    *,
    steps: int,
) -> Float[Array, " p"]:
    """Go from theta to the solution with the coordinates ``goal``, with the tangent and
    the factorisation of the fit.

    Each step costs one evaluation of the means.

    Arguments:
        solutions: the solutions near the fit.
        theta: where to start.
        goal: coordinates of the solution.
        steps: largest number of steps.
    """
    fit = solutions.fit

    def correct(now: _Iterate) -> Array:
        slip = now.exact - fit.exact
        undone = fit.basis.T @ (fit.side_effect @ slip)
        back = now.theta - fit.restore @ slip
        return back + fit.along @ (goal - solutions.coordinates(now.noisy) + undone)

    return _improve(solutions, theta, goal, correct, steps)


def take_tangent_steps(
    solutions: NearbySolutions,
    theta: Float[Array, " p"],
    goal: Float[Array, " k"],
    *,
    steps: int,
) -> Float[Array, " p"]:
    """Go on from where chord steps ended, with the tangent at the present solution;
    only the way back to the exact rows is still that of the fit.

    Arguments:
        solutions: the solutions near the fit.
        theta: where to start.
        goal: coordinates of the solution.
        steps: largest number of steps.
    """
    fit, followed = solutions.fit, solutions.followed

    def noisy(theta: Array) -> Array:
        return noisy_means(solutions.model, theta, fit.theta)

    def correct(now: _Iterate) -> Array:
        view = solutions.view(now.theta)
        back = -fit.restore @ (view.exact - fit.exact)
        shifted = view.noisy + jax.jvp(noisy, (now.theta,), (back,))[1]
        short = (goal - solutions.coordinates(shifted))[: solutions.r]
        right = jnp.where(followed, short, 0.0)[:, None]
        along, _ = solve_small(solutions.turn(view), right)
        return now.theta + back + view.moves @ along[:, 0]

    return _improve(solutions, theta, goal, correct, steps)


def _improve(
    solutions: NearbySolutions,
    theta: Array,
    goal: Array,
    correct: Callable[[_Iterate], Array],
    steps: int,
) -> Array:
    """Take steps until the solution is close to its goal, or comes no closer."""

    def evaluate(theta: Array) -> tuple[Array, Array, Array]:
        noisy, exact = solutions.means(theta)
        return noisy, exact, solutions.miss(noisy, exact, goal)

    def step(now: _Iterate) -> _Iterate:
        trial = correct(now)
        noisy, exact, miss = evaluate(trial)
        closer = miss < now.miss
        # after a failure the iteration ends, so that its means no longer matter
        return _Iterate(
            theta=jnp.where(closer, trial, now.theta),
            noisy=noisy,
            exact=exact,
            miss=jnp.where(closer, miss, now.miss),
            steps=jnp.where(closer, now.steps + 1, steps),
        )

    begin = _Iterate(theta, *evaluate(theta), jnp.asarray(0))
    return jax.lax.while_loop(
        lambda now: (now.miss > CLOSE) & (now.steps < steps), step, begin
    ).theta
