"""Effective sample size and split R-hat of correlated chains."""

from typing import NamedTuple

import numpy as np


class Convergence(NamedTuple):
    """Convergence of each quantity.

    Attributes:
        effective: effective sample size of all chains together.
        r_hat: split R-hat, near 1 when chains agree with each other and the first half
            of each with its second.
    """

    effective: np.ndarray
    r_hat: np.ndarray


def convergence(draws: np.ndarray) -> Convergence:
    """Return effective sample size and split R-hat, as in Stan; NaN for fewer than four
    draws, and for draws that are not finite.

    Arguments:
        draws: (chain, draw, quantity).

    Reference:
        Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization,
        folding, and localization, Bayesian Analysis 16, without the ranks.

    Example:
        >>> draws = np.random.default_rng(0).standard_normal((4, 1000, 1))
        >>> bool(abs(convergence(draws).effective[0] - 4000) < 600)
        True
    """
    half = draws.shape[1] // 2
    if half < 2:  # nothing to compare
        unknown = np.full(draws.shape[2], np.nan)
        return Convergence(unknown, unknown)
    split = np.concatenate([draws[:, :half], draws[:, half : 2 * half]]).astype(float)
    chains, n, _ = split.shape
    covariance = _autocovariance(split)
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + split.mean(axis=1).var(axis=0, ddof=1)
    moves = pooled > 0
    safe = np.where(moves, pooled, 1.0)
    correlation = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / safe
    effective = chains * n / np.maximum(_correlation_time(correlation), 1 / np.log10(chains * n))
    # chains that do not move, but at different values
    infinite = np.full_like(safe, np.inf)
    r_hat = np.sqrt(np.divide(safe, within, out=infinite, where=within > 0))
    known = np.where(np.isfinite(split).all(axis=(0, 1)), 1.0, np.nan)
    return Convergence(
        effective=known * np.where(moves, effective, chains * n),
        r_hat=known * np.where(moves, r_hat, 1.0),
    )


def _autocovariance(chains: np.ndarray) -> np.ndarray:
    """Return the autocovariance of each chain at all lags, (chain, lag, quantity)."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :n] / n


def _correlation_time(correlation: np.ndarray) -> np.ndarray:
    """Return the integrated autocorrelation time, by Geyer's initial monotone sequence:
    sums of neighbouring lags count as long as they are positive, and never rise.
    """
    n = len(correlation)
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    return -1 + 2 * np.sum(np.minimum.accumulate(pairs, axis=0) * positive, axis=0)
