"""What extended fiducial inference makes of its chains: the draws, and what they are
judged by.
"""

import dataclasses
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

_TESTED = 50
"""Draws whose errors are tested."""


class ChainFacts(Facts):
    """Facts about a chain over the errors.

    Attributes:
        r_hat: split R-hat, the worst of the quantities.
        informed_sd: standard deviation of the errors along the informed directions, over
            what it must be.
        lag: how far the parameters are behind the errors.
        energy: energy of the data over its expectation; None where data are met exactly.
        p_value: level at which the imputed errors are not normal.
        width_change: largest relative change of a width with less damping.
        frozen_response: share of its changes that the network makes with frozen weights:
            1 for a map that is learnt, 0 for one that is moved along.
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
            "along the directions that the data inform, imputed errors must have unit spread;"
            " widths are off by as much",
            "see the lag, or give more draws",
            limit=limit + extra,
        ),
        limits.LAG.check(
            facts.lag,
            "the network does not keep up with the errors, so bands are too narrow",
            "raise its learning rate, or slow the errors down",
        ),
    ]
    if facts.energy is not None:
        checks.append(
            limits.ENERGY.check(
                abs(facts.energy - 1),
                "the energy is not that of a chain at rest",
                "give more iterations, or check the stated size of the noise",
            )
        )
    normality = limits.NORMALITY.check(
        facts.p_value,
        "the imputed errors are not normal: outliers, another distribution, or an equation that"
        " is not right for the data",
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
    """Draws after the warm-up with the errors that were imputed, and facts for the
    diagnosis.

    Arguments:
        model: the problem made computable.
        outcome: of the chains.
        warm_up: draws to leave out.
        stiffness: of an error in the energy besides its own unit normal, for each data
            set.
        variance: that the kernel gives a direction of some curvature.
    """
    kept, extra, trace = (
        jax.tree.map(lambda v: v[:, :, warm_up:], part["draw"])
        for part in (outcome.draws, outcome.extra, outcome.trace)
    )
    noisy = [g for g in model.groups if not g.exact]
    errors = model.split_by_group(extra["z"])
    if "errors" in kept:
        kept = {
            **kept,
            "errors": {name: z.astype(kept["errors"][name].dtype) for name, z in errors.items()},
        }
    sets = range(len(extra["z"]))
    found = [convergence(one) for one in extra["probe"]]
    share, rss = np.asarray(outcome.state.fit.share), _sum_of_squares(outcome.state.fit.errors)
    count, unknown = extra["z"].shape[-1], sum(model.size_unknown(g) for g in noisy)
    parameters = share.sum(axis=-1)[:, 0]
    p_values = [
        min(_p_value(z[i], stiffness[i], parameters[i] / count) for z in errors.values())
        for i in sets
    ]
    informed = [_informed_sd(extra["informed"][i], share[i], stiffness[i]) for i in sets]
    facts = ChainFacts(
        effective_parameters=parameters,
        effective_draws=np.array([c.effective.min() for c in found]),
        r_hat=np.array([c.r_hat.max() for c in found]),
        informed_sd=np.array(informed),
        lag=(1 + stiffness) * trace["lag"].mean(axis=(1, 2)),
        frozen_response=np.array([_response(extra["probe"][i], extra["frozen"][i]) for i in sets]),
        neck_condition=np.array([_condition(m) for m in np.asarray(outcome.state.neck_moment)]),
        width_change=trace["sensitivity"][:, 0, -1],
        p_value=np.array(p_values),
    )
    # data that are met exactly have no energy to speak of
    if not model.has_free_function and np.all(count - parameters - unknown > 0.5):
        inside = np.array([variance(1 + k) for k in stiffness])
        free = (count - parameters - unknown) * inside
        expected = 0.5 * stiffness * (rss / (1 + stiffness) ** 2 + free)
        energy = trace["data energy"].mean(axis=(1, 2)) / expected
        facts = dataclasses.replace(facts, energy=energy)
    return Answer(estimate=np.asarray(outcome.state.fit.theta[:, 0]), draws=kept, facts=facts)


def _sum_of_squares(errors: dict[str, Any]) -> np.ndarray:
    return sum(np.sum(np.asarray(e)[:, 0] ** 2, axis=-1) for e in errors.values())


def _informed_sd(informed: np.ndarray, share: np.ndarray, stiffness: float) -> float:
    """Standard deviation of the errors along the directions that the data inform,
    over what it must be.
    """
    ratios = []
    for values, own in zip(informed, share, strict=True):
        followed = own > 0.5
        ratios.append(
            (values.astype(float)[:, followed].var(axis=0)) * (1 + stiffness * (1 - own[followed]))
        )
    every = np.concatenate(ratios)  # chains may find different numbers of directions
    return float(np.sqrt(np.mean(every))) if every.size else float("nan")


def _response(probe: np.ndarray, frozen: np.ndarray) -> float:
    """Which share of its changes the network makes with the weights of the draw
    before: 1 for a map that is learnt, 0 for one that is moved along.
    """
    change, alone = (v[:, 1:].astype(float) - probe[:, :-1] for v in (probe, frozen))
    return float(np.sum(change * alone) / max(np.sum(change**2), np.finfo(float).tiny))


def _condition(moment: np.ndarray) -> float:
    """Largest over smallest eigenvalue of the neck's second moment, the worst of the
    chains.
    """
    values = np.linalg.eigvalsh(moment.astype(float))
    return float(np.max(values[:, -1] / np.maximum(values[:, 0], 1e-300)))


def _p_value(z: np.ndarray, stiffness: float, share: float) -> float:
    """Kolmogorov's and Anderson and Darling's tests of the errors of a draw, the
    smaller; the median over some draws.
    """
    from scipy.stats import kstest, norm

    draws = z.reshape(-1, z.shape[-1]).astype(float)
    draws = draws[:: max(1, len(draws) // _TESTED)] / np.sqrt(
        share + (1 - share) * (1 + stiffness + stiffness**2) / (1 + stiffness) ** 2
    )
    return float(np.median([min(kstest(d, norm.cdf).pvalue, anderson_darling(d)) for d in draws]))


def anderson_darling(z: np.ndarray) -> float:
    """Level at which the errors of one draw are not standard normal, by Anderson and
    Darling's statistic.

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
