"""Limits for a new measurement from fits that left some of the measurements out."""

import math

import numpy as np


def conformal_limits(
    values: np.ndarray, sizes: np.ndarray, z: np.ndarray, fold: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of jackknife+, or of split conformal prediction if there is one
    fit.

    Under exchangeability jackknife+ covers with a probability of at least ``2 level - 1``
    and in practice ``level``, split conformal prediction with at least ``level``.

    Arguments:
        values: the solution at some points by each fit, (fit, point).
        sizes: standard deviations of a new measurement there, (fit, point).
        z: distance of each measurement from the fit that left it out, in standard
            deviations.
        fold: number of that fit for each measurement.
        level: level of the interval.

    Reference:
        Barber, Candès, Ramdas, Tibshirani (2021), Predictive inference with the
        jackknife+, Ann. Statist. 49.

    Example:
        >>> z, fold = np.arange(-10.0, 11.0), np.zeros(21, int)
        >>> lower, upper = conformal_limits(np.zeros((1, 1)), np.ones((1, 1)), z, fold, 0.9)
        >>> lower.tolist(), upper.tolist()
        ([-10.0], [10.0])
    """
    n = len(z)
    rank = math.ceil(level * (n + 1) - 1e-9)
    if rank > n:
        least = math.ceil(level / (1 - level) - 1e-9)
        raise ValueError(
            f"level={level:g} needs at least {least} measurements that some fit left out, and"
            f" there are {n}; give a lower level"
        )
    reach = np.abs(z)[:, None] * sizes[fold]
    upper = np.sort(values[fold] + reach, axis=0)[rank - 1]
    return np.sort(values[fold] - reach, axis=0)[n - rank], upper
