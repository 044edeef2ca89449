"""What extended fiducial inference makes of its chains: the draws, and what they are
judged by.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..model.model import Model
from ..numerics.mixing import convergence
from .base import Answer, Outcome

_TESTED = 50
"""Draws whose errors are tested."""


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
    errors = model.by_group(extra["z"])
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
    facts = {
        "effective parameters": parameters,
        "effective draws": np.array([c.effective.min() for c in found]),
        "R-hat": np.array([c.r_hat.max() for c in found]),
        "spread of informed errors": np.array(
            [_spread(extra["informed"][i], share[i], stiffness[i]) for i in sets]
        ),
        "lag of the parameters": (1 + stiffness) * trace["lag"].mean(axis=(1, 2)),
        "frozen response": np.array(
            [_response(extra["probe"][i], extra["frozen"][i]) for i in sets]
        ),
        "neck condition": np.array([_condition(m) for m in np.asarray(outcome.state.neck)]),
        "width change at less damping": trace["sensitivity"][:, 0, -1],
        "least p-value of the errors": np.array(
            [
                min(_p_value(z[i], stiffness[i], parameters[i] / count) for z in errors.values())
                for i in sets
            ]
        ),
    }
    # data that are met exactly have no energy to speak of
    if not model.loose and np.all(count - parameters - unknown > 0.5):
        inside = np.array([variance(1 + k) for k in stiffness])
        expected = (
            0.5 * stiffness * (rss / (1 + stiffness) ** 2 + (count - parameters - unknown) * inside)
        )
        facts["data energy over its expectation"] = (
            trace["data energy"].mean(axis=(1, 2)) / expected
        )
    return Answer(estimate=np.asarray(outcome.state.fit.theta[:, 0]), draws=kept, facts=facts)


def _sum_of_squares(errors: dict[str, Any]) -> np.ndarray:
    return sum(np.sum(np.asarray(e)[:, 0] ** 2, axis=-1) for e in errors.values())


def _spread(informed: np.ndarray, share: np.ndarray, stiffness: float) -> float:
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
