"""Scores of draws of a quantity whose true value is known."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Measures(NamedTuple):
    """Summaries of draws and their scores against the truth, one per quantity.

    Attributes:
        mean: mean of the draws.
        sd: standard deviation of the draws.
        lower: lower limit of the central interval.
        upper: upper limit of the central interval.
        pit: rank of the truth among the draws as a number in (0, 1), uniform for
            calibrated draws.
        score: interval score, the width plus a penalty for each miss (Gneiting and
            Raftery 2007).
        crps: continuous ranked probability score.
    """

    mean: Array
    sd: Array
    lower: Array
    upper: Array
    pit: Array
    score: Array
    crps: Array


def measures(
    draws: Float[Array, "draw *quantity"], truth: Float[Array, "*quantity"], level: float
) -> Measures:
    """Summarise draws and score them.

    Limits follow Weibull's rule, by which an interval of calibrated draws covers at its
    level for any number of draws. The CRPS is the unbiased estimate from independent draws
    (Zamo and Naveau 2018).

    Arguments:
        draws: draws of any number of quantities, along the first axis.
        truth: their true values.
        level: level of the interval.

    Example:
        >>> found = measures(jnp.arange(1.0, 100.0), jnp.asarray(50.0), 0.9)
        >>> round(float(found.lower), 6), round(float(found.upper), 6)
        (5.0, 95.0)
    """
    n = draws.shape[0]
    ordered = jnp.sort(draws, axis=0)
    tail = (1 - level) / 2
    lower, upper = (_weibull(ordered, q) for q in (tail, 1 - tail))
    below = jnp.sum(ordered < truth, axis=0)
    score = (upper - lower) + (jnp.maximum(lower - truth, 0) + jnp.maximum(truth - upper, 0)) / tail
    rank = (2 * jnp.arange(1, n + 1) - n - 1).reshape((-1,) + (1,) * (draws.ndim - 1))
    half_distance = jnp.sum(rank * ordered, axis=0) / (n * max(1, n - 1))
    return Measures(
        mean=jnp.mean(draws, axis=0),
        sd=jnp.std(draws, axis=0, ddof=1),
        lower=lower,
        upper=upper,
        pit=(below + 0.5) / (n + 1),
        score=score,
        crps=jnp.mean(jnp.abs(draws - truth), axis=0) - half_distance,
    )


def _weibull(ordered: Float[Array, "draw *quantity"], q: float) -> Float[Array, "*quantity"]:
    """Return the quantile ``q`` of sorted draws by Weibull's rule."""
    n = ordered.shape[0]
    position = min(max(q * (n + 1) - 1, 0.0), n - 1.0)
    low = int(np.floor(position))
    high = min(low + 1, n - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of independent values; not-a-number for fewer
    than two.
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
