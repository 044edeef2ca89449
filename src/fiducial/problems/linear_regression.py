"""A polynomial through noisy data: no physics, and exact answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.problem import Problem
from ..posing.truth import Truth

_TRUE = (0.3, -1.0, 0.5, 0.8, -0.6)
"""True coefficients of the powers of 2x - 1."""


def linear_regression(
    *, sd: float = 0.1, told: bool = True, n: int = 30, data_seed: int = 0
) -> Problem:
    """A polynomial with five unknown coefficients through noisy data, without physics.

    - Domain: x in [0, 1].
    - Observed: u, with independent normal errors; ``told`` says whether their standard
      deviation is known.
    - Truth: a polynomial of degree four in 2x - 1.
    - Exact limits: those of linear regression.

    Arguments:
        sd: standard deviation of the measurements.
        told: whether the standard deviation is known to the method.
        n: number of measurements, evenly spaced.
        data_seed: seed of the simulated measurements.

    Example:
        >>> linear_regression().equation is None
        True
    """
    x = np.linspace(0, 1, n)
    errors = sd * np.random.default_rng(data_seed).standard_normal(n)
    return Problem(
        name="linear-regression",
        equation=None,
        domain=Box(x=(0, 1)),
        observations=[
            Observed(
                "u",
                x=x,
                y=_design(x) @ np.array(_TRUE) + errors,
                noise=Gaussian(sd=sd if told else None),
            )
        ],
        network=Polynomial(jnp.zeros(len(_TRUE))),
        truth=Truth(
            outputs={
                "u": lambda x: jnp.sum(jnp.asarray(_TRUE) * (2 * x - 1) ** jnp.arange(len(_TRUE)))
            },
            noise={} if told else {"u": {"sd": sd}},
        ),
        exact=_ExactLimits(x, sd if told else None),
    )


class Polynomial(eqx.Module):
    """A polynomial in x / 3 in place of a network, whose input is scaled to [-3, 3]."""

    weights: jax.Array

    def __call__(self, x: Any) -> Any:
        return jnp.sum(self.weights * (x / 3) ** jnp.arange(self.weights.size), keepdims=True)


@dataclass(frozen=True)
class _ExactLimits:
    """Limits by linear regression.

    Arguments:
        x: positions of the measurements.
        sd: standard deviation of the measurements; None when it is unknown.
    """

    x: np.ndarray
    sd: float | None

    def __call__(
        self, data: Mapping[str, np.ndarray], at: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        from scipy.stats import chi2, t

        rows, columns = _design(self.x), _design(np.asarray(at))
        values = np.ravel(data["u"])
        found, *_ = np.linalg.lstsq(rows, values, rcond=None)
        half = np.linalg.norm(columns @ np.linalg.inv(np.linalg.qr(rows, mode="r")), axis=1)
        limits: dict[str, tuple[Any, Any]] = {}
        if self.sd is None:
            free = len(self.x) - len(_TRUE)
            rss = np.sum((values - rows @ found) ** 2)
            half = half * np.sqrt(rss / free) * t.ppf((1 + level) / 2, free)
            lower, upper = np.sqrt(rss / chi2.ppf([(1 + level) / 2, (1 - level) / 2], free))
            limits["sd_u"] = lower, upper
        else:
            half = half * self.sd * NormalDist().inv_cdf((1 + level) / 2)
        return {**limits, "u": (columns @ found - half, columns @ found + half)}


def _design(x: np.ndarray) -> np.ndarray:
    """Return the powers of 2x - 1, one column each."""
    return (2 * np.asarray(x)[:, None] - 1) ** np.arange(len(_TRUE))
