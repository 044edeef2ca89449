"""How many independent draws correlated chains are worth, and whether they agree."""

from typing import NamedTuple

import numpy as np


class Convergence(NamedTuple):
    """For each quantity.

    Attributes:
        effective: effective number of draws of all chains together.
        r_hat: split R-hat, near 1 when chains agree with each other and with
            themselves.
    """

    effective: np.ndarray
    r_hat: np.ndarray


def convergence(draws: np.ndarray) -> Convergence:
    """Effective sample size and split R-hat, as in Stan; NaN for fewer than four draws,
    and for draws that are not finite.

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
        return Convergence(np.full(draws.shape[2], np.nan), np.full(draws.shape[2], np.nan))
    split = np.concatenate([draws[:, :half], draws[:, half : 2 * half]]).astype(float)
    chains, n, _ = split.shape
    centred = split - split.mean(axis=1, keepdims=True)
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, length, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + split.mean(axis=1).var(axis=0, ddof=1)
    moving = pooled > 0
    safe = np.where(moving, pooled, 1.0)
    correlation = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / safe
    # Geyer: sums of neighbours, as long as they are positive, and never rising
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    time = -1 + 2 * np.sum(np.minimum.accumulate(pairs, axis=0) * positive, axis=0)
    effective = chains * n / np.maximum(time, 1 / np.log10(chains * n))
    r_hat = np.sqrt(
        np.divide(safe, within, out=np.full_like(safe, np.inf), where=within > 0)
    )  # chains that stand still, apart
    known = np.where(np.isfinite(split).all(axis=(0, 1)), 1.0, np.nan)
    return Convergence(
        known * np.where(moving, effective, chains * n), known * np.where(moving, r_hat, 1.0)
    )
