"""Checks of any result: its chains, exact values and equations, and the errors of its data."""

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .. import limits
from ..checks import Check
from ..device import run_once
from ..model.exact_residuals import relative_residuals
from ..posing.groups import Group
from ..status import Status

if TYPE_CHECKING:
    from .result import Result

_LEAST_PAIRS = 6
"""Smallest number of pairs of neighbours whose errors are compared if their size is
unknown: of fewer pairs there are too few orders for a limit of one in a thousand."""
_MANY_PAIRS = 16
"""Smallest number of pairs for the normal approximation of a correlation. Errors of known
size are compared from this number on."""
_ORDERS = 20_000
"""Number of random orders that approximate the null distribution of fewer pairs."""
_THREE_SIGMA = 0.99865
"""Probability of a normal variable below three standard deviations."""


def chain_checks(result: "Result") -> list[Check]:
    """Check that no chain diverged and that none ran out of steps."""
    failed = [s for s in result.statuses if not s.usable]
    unsettled = sum(s is Status.UNSETTLED for s in result.statuses)
    advice = "try another seed, or look for divisions by zero in the equation"
    problem = result.problem
    count = sum(g.y.size for g in problem.groups if not g.exact)
    # an equation of second order leaves two values of each output free
    free = result.model.constant_count + 2 * len(problem.outputs)
    if any(g.noise_unknowns() for g in problem.groups) and count <= free:
        advice = (
            f"a solution may meet all {count} data exactly, which leaves nothing to infer the size"
            " of their errors from: give their sd, Gaussian(sd=...), or more data"
        )
    message = (failed[0] if failed else result.status).message
    return [
        limits.FAILED_CHAINS.check(float(len(failed)), message, advice),
        limits.UNSETTLED_CHAINS.check(
            float(unsettled),
            "the fit stopped before it had converged",
            "give more steps (--set method.lm_steps=...)",
        ),
    ]


def group_checks(result: "Result") -> list[Check]:
    """Check each group of observations at the estimate."""
    model, data = result.model, {g.name: g.y for g in result.problem.groups}
    with jax.enable_x64(True):
        found = run_once(
            lambda theta: (relative_residuals(model, theta), model.errors(theta, data)),
            result.tree["estimate"]["theta"].values,
        )
    (own, between), errors = jax.tree.map(np.asarray, found)
    checks = []
    for g in result.problem.groups:
        if g.exact:
            checks += _physics(g, own, between)
        else:
            checks += [*_misfit(g, errors[g.name]), *_neighbours(g, errors[g.name])]
    return checks


def _physics(
    group: Group, own: dict[str, np.ndarray], between: dict[str, np.ndarray]
) -> list[Check]:
    """Check that exact values are met, and equations between their points as well where
    the right-hand side is constant.
    """
    checks = [
        limits.EXACT_VALUES.check(
            float(own[group.name]),
            "the solution does not meet the exact values",
            "give more steps or a wider network, or check that they do not contradict each other",
            of=(group.name,),
        )
    ]
    if group.name in between:
        checks.append(
            limits.BETWEEN_POINTS.check(
                float(between[group.name]),
                "the equation does not hold between its collocation points",
                "give more collocation points",
                of=(group.name,),
            )
        )
    return checks


def _misfit(group: Group, z: np.ndarray) -> list[Check]:
    """Check that errors of known size are not larger than stated."""
    if group.noise_unknowns():
        return []
    from scipy.stats import chi2

    return [
        limits.MISFIT.check(
            float(np.mean(z**2)),
            "the data lie further from the solution than their noise allows",
            "give a larger sd if it was too small, leave sd out to infer it, or look for what the"
            " equation lacks",
            of=(group.name,),
            limit=float(chi2.ppf(limits.MISFIT.value, z.size) / z.size),
        )
    ]


def _neighbours(group: Group, z: np.ndarray) -> list[Check]:
    """Check along each coordinate, all others being equal, that errors of neighbours are
    not correlated.
    """
    points, checks = group.points, []
    for i, name in enumerate(points.names):
        others = np.column_stack([np.delete(points.array, i, axis=1), points.replicate_numbers()])
        order = np.lexsort((points.array[:, i], *others.T))
        near = (others[order][1:] == others[order][:-1]).all(axis=1)
        first, second = z[order][:-1][near], z[order][1:][near]
        pairs = len(first)
        if pairs < (_LEAST_PAIRS if group.noise_unknowns() else _MANY_PAIRS):
            continue
        limit = limits.NEIGHBOURS.value / math.sqrt(pairs)
        if pairs < _MANY_PAIRS:  # too few for the normal approximation
            limit = _limit_by_random_orders(z[order], near)
        checks.append(
            limits.NEIGHBOURS.check(
                float(_correlation(first, second)),
                f"errors at neighbouring {name} are correlated, so intervals are too narrow",
                f"use noise=Correlated(...) over {name}, or a better equation",
                of=(group.name, name),
                limit=limit,
            )
        )
    return checks


def _limit_by_random_orders(z: np.ndarray, near: np.ndarray) -> float:
    """Return the correlation that errors in random order exceed once in a thousand times."""
    shuffled = np.random.default_rng(0).permuted(np.tile(z, (_ORDERS, 1)), axis=1)
    drawn = _correlation(shuffled[:, :-1][:, near], shuffled[:, 1:][:, near])
    return float(np.quantile(drawn, _THREE_SIGMA))


def _correlation(first: np.ndarray, second: np.ndarray) -> Any:
    """Return the correlation of errors with their neighbours', with means of zero."""
    size = np.sum(first**2, axis=-1) * np.sum(second**2, axis=-1)
    return np.sum(first * second, axis=-1) / np.sqrt(size)
