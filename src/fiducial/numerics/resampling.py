"""Weighted draws made into plain ones, so that every reader of a result can treat
draws alike.
"""

from typing import NamedTuple

import numpy as np

_EVEN = 0.999
"""Effective share above which weights are taken for equal, and the draws are left as
they are.
"""


class Resampled(NamedTuple):
    """Which draws to keep, and how even their weights were.

    Attributes:
        kept: positions of the kept draws, as many as there were.
        effective: effective number of draws before resampling.
        as_they_are: whether all draws are kept once, in their order.
    """

    kept: np.ndarray
    effective: float
    as_they_are: bool


def resample(log_weight: np.ndarray) -> Resampled:
    """Systematic resampling; draws with weight zero (``-inf``) are not kept, unless
    they are more than half of all.

    A sample of which most failed is left as it is, and worth nothing.

    Example:
        >>> resample(np.log([1.0, 1.0, 2.0, 4.0])).kept.tolist()
        [0, 2, 3, 3]
        >>> resample(np.array([0.0, -np.inf, 0.0, 0.0])).kept.tolist()
        [0, 2, 2, 3]
    """
    n = len(log_weight)
    finite = np.isfinite(log_weight)
    if finite.mean() < 0.5:
        return Resampled(np.arange(n), 0.0, True)
    weight = np.where(finite, np.exp(log_weight - log_weight[finite].max()), 0.0)
    weight /= weight.sum()
    effective = float(1 / np.sum(weight**2))
    if finite.all() and effective >= _EVEN * n:
        return Resampled(np.arange(n), effective, True)
    at = (np.arange(n) + 0.5) / n
    return Resampled(np.minimum(np.searchsorted(np.cumsum(weight), at), n - 1), effective, False)
