"""Weighted draws made into plain ones, so that every reader of a result can treat
draws alike.
"""

from typing import NamedTuple

import numpy as np

_EVEN = 0.999
"""Effective share of draws above which the weights count as equal, and the draws are
left as they are (convention).
"""
_LEAST_FINITE = 0.5
"""Smallest share of draws with a weight; with fewer the sample has failed as a whole
(convention).
"""


class Resampled(NamedTuple):
    """Which draws to keep, and how even their weights were.

    Attributes:
        kept: positions of the kept draws, as many as there were.
        effective: effective sample size before resampling.
        as_they_are: whether all draws are kept once, in their order.
    """

    kept: np.ndarray
    effective: float
    as_they_are: bool


def resample(log_weight: np.ndarray) -> Resampled:
    """Resample systematically; draws with weight zero (``-inf``) are left out.

    A sample of which more than half have weight zero is left as it is, with an
    effective sample size of zero.

    Reference:
        Douc, Cappé (2005), Comparison of resampling schemes for particle filtering,
        arXiv:cs/0507025.

    Example:
        >>> resample(np.log([1.0, 1.0, 2.0, 4.0])).kept.tolist()
        [0, 2, 3, 3]
        >>> resample(np.array([0.0, -np.inf, 0.0, 0.0])).kept.tolist()
        [0, 2, 2, 3]
    """
    n = len(log_weight)
    finite = np.isfinite(log_weight)
    if finite.mean() < _LEAST_FINITE:
        return Resampled(np.arange(n), effective=0.0, as_they_are=True)
    weight = np.where(finite, np.exp(log_weight - log_weight[finite].max()), 0.0)
    weight /= weight.sum()
    effective = float(1 / np.sum(weight**2))
    if finite.all() and effective >= _EVEN * n:
        return Resampled(np.arange(n), effective, as_they_are=True)
    levels = (np.arange(n) + 0.5) / n
    kept = np.minimum(np.searchsorted(np.cumsum(weight), levels), n - 1)
    return Resampled(kept, effective, as_they_are=False)
