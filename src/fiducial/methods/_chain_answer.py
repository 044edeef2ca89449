"""The answer of chains over the errors: their draws, and the facts and checks by which
these are judged. Step (v) of Algorithm 1.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np

from .. import limits
from ..checks import Check
from ..model.model import Model
from ..numerics.mixing import convergence
from . import _checks
from .base import Answer, Facts, Outcome

_TESTED_DRAWS = 50
"""Number of draws whose errors are tested for normality."""
_INFORMED = 0.5
"""Share above which a direction counts as informed by the data."""


class ChainFacts(Facts):
    """Facts about a chain over the errors.

    Attributes:
        r_hat: split R-hat, the worst of the quantities.
        informed_sd: standard deviation of the errors along the informed directions,
            over its expectation.
        lag: relative loss of variance because the parameters lag behind the errors.
        energy: energy of the data over its expectation; None where data are met
            exactly.
        p_value: level at which the imputed errors are not normal.
        width_change: largest relative change of a width with less damping.
        frozen_response: share of the changes of the answer that the network makes with
            frozen weights: 1 for an inverse map that is learnt, 0 for one whose weights
            follow the errors.
        neck_condition: largest over smallest eigenvalue of the neck's second moment.
    """

    r_hat: Any = None
    informed_sd: Any = None
    lag: Any = None
    p_value: Any = None
    width_change: Any = None
    frozen_response: Any = None
    neck_condition: Any = None
    energy: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset({"frozen_response", "neck_condition"})


def judge_chain(facts: ChainFacts) -> list[Check]:
    """Return checks of a chain over the errors, none of which needs the truth."""
    limit = limits.INFORMED_SD.value
    extra = min(limit, 3 / math.sqrt(2 * max(1.0, facts.effective_draws)))
    checks = [
        _checks.r_hat(facts.r_hat),
        limits.INFORMED_SD.check(
            abs(facts.informed_sd - 1),
            "along the directions that the data inform, imputed errors must have a standard"
            " deviation of 1; widths are off by the same factor",
            "see the check of the lag, or give more draws",
            limit=limit + extra,
        ),
        limits.LAG.check(
            facts.lag,
            "the network does not keep up with the errors, so intervals are too narrow",
            "give a larger learning_rate",
        ),
    ]
    if facts.energy is not None:
        checks.append(
            limits.ENERGY.check(
                abs(facts.energy - 1),
                "the chain has not reached its stationary distribution, or the noise is of another"
                " size",
                "give more draws, or check the stated size of the noise",
            )
        )
    normality = limits.NORMALITY.check(
        facts.p_value,
        "the imputed errors are not normal: there are outliers, the noise has another"
        " distribution, or the equation is not right for the data",
        "look at the largest errors, and at the equation",
    )
    return [*checks, normality, _checks.width_change(facts.width_change)]


def chain_answer(
    model: Model,
    outcome: Outcome,
    *,
    warm_up: int,
    stiffness: np.ndarray,
    variance: Callable[[float], float],
) -> Answer:
    """Return the draws after the warm-up with the errors that were imputed, and facts
    for the diagnosis.

    Arguments:
        model: the problem made computable.
        outcome: outcome of the chains.
        warm_up: number of draws to leave out.
        stiffness: ``kappa`` of an error, for each data set.
        variance: stationary variance of the kernel in a direction of some curvature.
    """
    kept, extra, trace = (
        jax.tree.map(lambda v: v[:, :, warm_up:], part["draw"])
        for part in (outcome.draws, outcome.extra, outcome.trace)
    )
    errors = model.split_by_group(extra["z"])
    if "errors" in kept:
        imputed = {name: z.astype(kept["errors"][name].dtype) for name, z in errors.items()}
        kept = {**kept, "errors": imputed}
    sets = range(len(extra["z"]))
    found = [convergence(one) for one in extra["probe"]]
    share = np.asarray(outcome.state.fit.share)
    parameters = share.sum(axis=-1)[:, 0]
    relative = parameters / extra["z"].shape[-1]
    p_values = [
        min(_p_value(z[i], stiffness[i], relative[i]) for z in errors.values()) for i in sets
    ]
    informed = [_informed_sd(extra["informed"][i], share[i], stiffness[i]) for i in sets]
    responses = [_response(extra["probe"][i], extra["frozen"][i]) for i in sets]
    conditions = [_condition(moment) for moment in np.asarray(outcome.state.neck_moment)]
    facts = ChainFacts(
        effective_parameters=parameters,
        effective_draws=np.array([c.effective.min() for c in found]),
        r_hat=np.array([c.r_hat.max() for c in found]),
        informed_sd=np.array(informed),
        lag=(1 + stiffness) * trace["lag"].mean(axis=(1, 2)),
        frozen_response=np.array(responses),
        neck_condition=np.array(conditions),
        width_change=trace["sensitivity"][:, 0, -1],
        p_value=np.array(p_values),
        energy=_relative_energy(model, outcome.state.fit, trace, stiffness, variance),
    )
    return Answer(estimate=np.asarray(outcome.state.fit.theta[:, 0]), draws=kept, facts=facts)


def _relative_energy(
    model: Model,
    fit: Any,
    trace: dict[str, np.ndarray],
    stiffness: np.ndarray,
    variance: Callable[[float], float],
) -> np.ndarray | None:
    """Return the energy of the data over its expectation, for each data set; None where
    data are met exactly, which leaves no energy to compare.

    By equipartition the expectation is ``kappa / 2 (RSS / (1 + kappa)^2 + free v)``,
    with the residual sum of squares of the pilot fit, the residual degrees of freedom,
    and the kernel's stationary variance ``v`` where the curvature is ``1 + kappa``.
    """
    noisy = [g for g in model.groups if not g.exact]
    count = sum(g.y.size for g in noisy)
    unknown_sizes = sum(model.size_unknown(g) for g in noisy)
    free = count - np.asarray(fit.share).sum(axis=-1)[:, 0] - unknown_sizes
    if model.has_free_function or not np.all(free > 0.5):
        return None
    rss = sum(np.sum(np.asarray(e)[:, 0] ** 2, axis=-1) for e in fit.errors.values())
    stored = free * np.array([variance(1 + kappa) for kappa in stiffness])
    expected = 0.5 * stiffness * (rss / (1 + stiffness) ** 2 + stored)
    return trace["data energy"].mean(axis=(1, 2)) / expected


def _informed_sd(informed: np.ndarray, share: np.ndarray, stiffness: float) -> float:
    """Return the standard deviation of the errors along the directions that the data
    inform, over its expectation.

    Arguments:
        informed: errors along all directions, (chain, draw, direction).
        share: how far the data inform each direction, (chain, direction).
        stiffness: ``kappa`` of an error.
    """
    ratios = []
    for values, own in zip(informed, share, strict=True):
        followed = own > _INFORMED
        observed = values.astype(float)[:, followed].var(axis=0)
        ratios.append(observed * (1 + stiffness * (1 - own[followed])))
    every = np.concatenate(ratios)  # chains may find different numbers of directions
    return float(np.sqrt(np.mean(every))) if every.size else float("nan")


def _response(probe: np.ndarray, frozen: np.ndarray) -> float:
    """Return the share of the changes from draw to draw that the network makes with the
    weights of the draw before.

    Arguments:
        probe: quantities of the answer, (chain, draw, quantity).
        frozen: those with the weights of the draw before.
    """
    change, alone = (v[:, 1:].astype(float) - probe[:, :-1] for v in (probe, frozen))
    return float(np.sum(change * alone) / max(np.sum(change**2), np.finfo(float).tiny))


def _condition(moment: np.ndarray) -> float:
    """Return the largest over the smallest eigenvalue of the neck's second moment, the
    worst of the chains.
    """
    values = np.linalg.eigvalsh(moment.astype(float))
    return float(np.max(values[:, -1] / np.maximum(values[:, 0], 1e-300)))


def _p_value(z: np.ndarray, stiffness: float, share: float) -> float:
    """Return the p-value for normality of the errors of a draw: the smaller of
    Kolmogorov's and of Anderson and Darling's test, and the median over some draws.

    At finite ``kappa`` imputed errors vary too little by a known factor, which is taken
    out first: the residual directions have a variance of ``(1 + kappa + kappa^2) / (1 +
    kappa)^2``.

    Arguments:
        z: errors, (chain, draw, observation).
        stiffness: ``kappa`` of an error.
        share: effective number of parameters per observation.
    """
    from scipy.stats import kstest, norm

    residual = (1 + stiffness + stiffness**2) / (1 + stiffness) ** 2
    draws = z.reshape(-1, z.shape[-1]).astype(float)
    draws = draws[:: max(1, len(draws) // _TESTED_DRAWS)]
    draws = draws / np.sqrt(share + (1 - share) * residual)
    return float(np.median([min(kstest(d, norm.cdf).pvalue, anderson_darling(d)) for d in draws]))


def anderson_darling(z: np.ndarray) -> float:
    """Return the p-value of Anderson and Darling's test that numbers are independent
    and standard normal.

    Reference:
        Marsaglia, Marsaglia (2004), Evaluating the Anderson-Darling distribution, J.
        Stat. Softw. 9(2).

    Example:
        >>> z = np.random.default_rng(0).standard_normal(50)
        >>> anderson_darling(z) > 0.1, anderson_darling(z + 1) < 1e-4
        (True, True)
    """
    from scipy.special import log_ndtr

    z, n = np.sort(z), z.size
    odd = 2 * np.arange(1, n + 1) - 1
    a = -n - np.mean(odd * (log_ndtr(z) + log_ndtr(-z[::-1])))
    if a < 2:
        series = (
            2.00012
            + (0.247105 - (0.0649821 - (0.0347962 - (0.0116720 - 0.00168691 * a) * a) * a) * a) * a
        )
        below = np.exp(-1.2337141 / a) / np.sqrt(a) * series
    else:
        below = np.exp(
            -np.exp(
                1.0776
                - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * a) * a) * a) * a) * a
            )
        )
    return float(1 - below)
