"""Solutions that need Jacobians of their own: those far from the fit, and those of
models with a free function. Both are found by damped Gauss-Newton steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..device import apply_if
from .least_squares import (
    Damping,
    FixedFactors,
    NielsenRule,
    Ridge,
    curvature,
    judge,
    propose,
)
from .linear_systems import NormalEquations, damping_cost, normal_equations
from .linearisation import exact_means, jacobians, noisy_means
from .nearby_solutions import CLOSE, NearbySolutions

_FIRST_DAMPING = 1e-4
"""Damping of the first step, small since the fit is a good start (convention)."""
_FAR_DAMPING_RULE = NielsenRule(smallest=1e-12, largest=1e6)
"""How the damping follows success and failure on the way to a far solution."""
_REFIT_DAMPING_RULE = FixedFactors(success=0.2, failure=4.0, smallest=1e-12)
"""How the damping follows success and failure in a refit: it falls faster than by
Nielsen's rule, since the ridge is damping enough (convention).
"""
_ROWS_CLOSE = 10 * CLOSE
"""Size of all rows together, or largest change of a mean, in standard errors, at which
a search has converged (convention).
"""
_ROWS_CLOSEST = 0.1 * CLOSE
"""Size of all rows together at which a search has converged whatever its last step has
changed (convention).
"""
_WINDOW = 5
"""Number of steps over which a search must lead closer (see ``_LEAST_GAIN``)."""
_LEAST_GAIN = 0.1
"""Smallest share by which that number of steps together must bring the sum of squares
down; otherwise there is no solution to be found (see ``docs/direct.md``; Montroll's
equation with a free exponent set it).
"""
_REUSE = 0.1
"""A Jacobian is reused while each step leaves less than this share of the sum of
squares (the scratch assays set it).
"""
_REFIT_TIGHTNESS = 10
"""Weight of the exact rows in a refit, relative to the precision of the data: that of
the fit (``LevenbergMarquardt.tightness``).
"""


def far_solution(
    solutions: NearbySolutions,
    theta: Float[Array, " p"],
    miss: Float[Array, ""],
    goal: Float[Array, " k"],
    *,
    steps: int,
) -> Float[Array, " p"]:
    """Search for the solution with the coordinates ``goal`` with Jacobians of its own,
    which are expensive, where chord steps have failed.

    Where there is no solution, the search ends as soon as it hardly leads any closer.

    Arguments:
        solutions: the solutions near the fit.
        theta: where chord steps have ended.
        miss: distance from the goal there, in standard errors.
        goal: coordinates of the solution.
        steps: largest number of steps.
    """
    model, fit = solutions.model, solutions.fit
    # exact rows count as they do in the distance: one by one they would make the valley
    # to follow needlessly narrow
    weight = model.precision(fit.theta) / jnp.sqrt(max(1, fit.exact.size))

    def rows(theta: Array) -> tuple[Array, Array]:
        noisy = noisy_means(model, theta, fit.theta)
        short = jnp.where(solutions.informed, goal - solutions.coordinates(noisy), 0.0)
        return jnp.concatenate([short, weight * (fit.exact - exact_means(model, theta))]), noisy

    def jacobian(theta: Array) -> Array:
        noisy, exact = jacobians(model, theta, fit.theta)
        along_basis = jnp.where(solutions.informed[:, None], fit.basis.T @ noisy, 0.0)
        return jnp.concatenate([along_basis, weight * exact])

    start = jnp.where(miss < jnp.max(jnp.abs(goal)), theta, fit.theta)
    return _search(rows, jacobian, start, steps=steps)


class _Search(NamedTuple):
    """How far a search has come.

    Attributes:
        theta: the parameters.
        residual: the rows there.
        system: normal equations of the last Jacobian.
        stale: whether a new Jacobian is due.
        damping: damping of the next new Jacobian.
        costs: sums of squares after the last steps, the latest first.
        means: means of the noisy rows.
        change: largest change of a mean in the last accepted step.
        steps: number of steps taken.
    """

    theta: Float[Array, " p"]
    residual: Float[Array, " m"]
    system: NormalEquations
    stale: Bool[Array, ""]
    damping: Damping
    costs: Float[Array, " window"]
    means: Float[Array, " k"]
    change: Float[Array, ""]
    steps: Int[Array, ""]


def _search(
    rows: Callable[[Array], tuple[Array, Array]],
    jacobian: Callable[[Array], Array],
    theta: Array,
    *,
    steps: int,
) -> Array:
    """Take Gauss-Newton steps until all rows together are small, or a number of steps
    has hardly made them smaller.

    Far from the fit a small residual of the equation can be a large error of the curve.
    So the means must have converged as well: the last step may have changed none by
    more than the size that the rows must have, unless these are a hundred times
    smaller. A Jacobian is reused until progress stalls. Only the first step with one
    follows the curvature: one that is reused is near its goal, where little bends.

    Arguments:
        rows: the rows to bring to zero, and the means of the noisy rows.
        jacobian: the negated Jacobian of the rows.
        theta: where to start.
        steps: largest number of steps.
    """

    residual, means = rows(theta)
    largest = jnp.finfo(jnp.float64).max
    begin = _Search(
        theta=theta,
        residual=residual,
        system=_no_system(len(residual), len(theta)),
        stale=jnp.asarray(True),
        damping=Damping.at(_FIRST_DAMPING),
        costs=jnp.full(_WINDOW + 1, largest).at[0].set(jnp.sum(residual**2)),
        means=means,
        change=jnp.asarray(largest),
        steps=jnp.asarray(0),
    )
    return jax.lax.while_loop(
        lambda now: _goes_on(now) & (now.steps < steps),
        lambda now: _search_step(now, rows, jacobian),
        begin,
    ).theta


def _search_step(
    now: _Search,
    rows: Callable[[Array], tuple[Array, Array]],
    jacobian: Callable[[Array], Array],
) -> _Search:
    """Take one step, with a new Jacobian where one is due."""

    def factored(_: NormalEquations) -> NormalEquations:
        fresh = jacobian(now.theta)
        return normal_equations(fresh, damping_cost(fresh, now.damping.value))

    system = apply_if(now.stale, factored, now.system)
    trial = propose(
        now.theta,
        now.residual,
        system,
        second_derivative=lambda move: curvature(lambda t: rows(t)[0], now.theta, move),
        accelerate=now.stale,
    )
    residual, means = rows(trial.theta)
    before = now.costs[0]
    after = jnp.sum(residual**2)
    verdict = judge(trial, before=before, after=after, damping=now.damping, rule=_FAR_DAMPING_RULE)
    theta, kept_residual, kept_means, cost, change = verdict.choose(
        (trial.theta, residual, means, after, jnp.max(jnp.abs(means - now.means))),
        (now.theta, now.residual, now.means, before, now.change),
    )
    return _Search(
        theta=theta,
        residual=kept_residual,
        system=system,
        stale=~(after < _REUSE * before),
        # a failure with an old Jacobian says nothing about the damping
        damping=jax.tree.map(
            lambda new, old: jnp.where(now.stale, new, old), verdict.damping, now.damping
        ),
        costs=jnp.concatenate([cost[None], now.costs[:-1]]),
        means=kept_means,
        change=change,
        steps=now.steps + 1,
    )


def _goes_on(now: _Search) -> Array:
    """Return whether the search has not converged, and still leads closer."""
    cost = now.costs[0]
    converged = (cost <= _ROWS_CLOSEST**2) | (
        (cost <= _ROWS_CLOSE**2) & (now.change <= _ROWS_CLOSE)
    )
    return ~converged & (cost < (1 - _LEAST_GAIN) * now.costs[-1])


def _no_system(m: int, p: int) -> NormalEquations:
    """Return a place for normal equations of m rows and p parameters."""
    n = min(m, p)
    return NormalEquations(
        jacobian=jnp.zeros((m, p)), cost=jnp.asarray(0.0), scaled=None, root=jnp.zeros((n, n))
    )


class _Refit(NamedTuple):
    """How far a refit has come.

    Attributes:
        theta: the parameters.
        residual: the rows there.
        damping: damping of the next step.
        change: largest change of a row in the last step that was tried.
        steps: number of steps taken.
    """

    theta: Float[Array, " p"]
    residual: Float[Array, " m"]
    damping: Damping
    change: Float[Array, ""]
    steps: Int[Array, ""]


def refit(
    solutions: NearbySolutions, target: Float[Array, " k"], *, steps: int
) -> tuple[Float[Array, " p"], Float[Array, ""]]:
    """Fit again with the ridge of a free function, to data that lie by ``target`` off
    those of the fit.

    Arguments:
        solutions: the solutions near the fit.
        target: what to add to the means of the noisy rows, whitened.
        steps: largest number of steps.

    Returns:
        The parameters, and by how much the last step would still have changed a row, in
        standard errors.
    """
    model, fit = solutions.model, solutions.fit
    weight = _REFIT_TIGHTNESS * model.precision(fit.theta)
    ridge = Ridge(1 / jnp.asarray(model.prior_scale) ** 2, fit.theta)

    def rows(theta: Array) -> Array:
        short = target - (noisy_means(model, theta, fit.theta) - fit.noisy)
        return jnp.concatenate([short, weight * (fit.exact - exact_means(model, theta))])

    def step(now: _Refit) -> _Refit:
        noisy, exact = jacobians(model, now.theta, fit.theta)
        jacobian = jnp.concatenate([noisy, weight * exact])
        cost = damping_cost(jacobian, now.damping.value) + ridge.cost
        trial = propose(
            now.theta,
            now.residual,
            normal_equations(jacobian, cost),
            ridge=ridge,
            second_derivative=lambda move: curvature(rows, now.theta, move),
        )
        residual = rows(trial.theta)
        verdict = judge(
            trial,
            before=jnp.sum(now.residual**2) + ridge.at(now.theta),
            after=jnp.sum(residual**2) + ridge.at(trial.theta),
            damping=now.damping,
            rule=_REFIT_DAMPING_RULE,
        )
        theta, residual = verdict.choose((trial.theta, residual), (now.theta, now.residual))
        change = jnp.max(jnp.abs(jacobian @ trial.move))
        return _Refit(theta, residual, verdict.damping, change, now.steps + 1)

    begin = _Refit(
        theta=fit.theta,
        residual=rows(fit.theta),
        damping=Damping.at(_FIRST_DAMPING),
        change=jnp.asarray(jnp.finfo(jnp.float64).max),
        steps=jnp.asarray(0),
    )
    last = jax.lax.while_loop(
        lambda now: (now.change > _ROWS_CLOSE) & (now.steps < steps), step, begin
    )
    return last.theta, last.change
