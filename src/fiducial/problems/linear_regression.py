"""A polynomial through noisy data: no physics, and exact answers."""

from collections.abc import Mapping
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


class Polynomial(eqx.Module):
    """A sum of powers of the input, which arrives between -3 and 3, as a network."""

    weights: jax.Array

    def __call__(self, x: Any) -> Any:
        return jnp.sum(self.weights * (x / 3) ** jnp.arange(self.weights.size), keepdims=True)


def _design(x: np.ndarray, count: int) -> np.ndarray:
    return (2 * np.asarray(x)[:, None] - 1) ** np.arange(count)


def linear_regression(
    *, sd: float = 0.1, told: bool = True, n: int = 30, data_seed: int = 0
) -> Problem:
    """A polynomial with five coefficients on [0, 1], measured with noise at n points.

    Arguments:
        sd: standard deviation of the measurements.
        told: whether the method is told it.
        n: number of measurements.
        data_seed: seed of the simulated measurements.

    Example:
        >>> linear_regression().equation is None
        True
    """
    x = np.linspace(0, 1, n)
    y = _design(x, len(_TRUE)) @ np.array(_TRUE) + sd * np.random.default_rng(
        data_seed
    ).standard_normal(n)

    def exact(data: Mapping[str, np.ndarray], at: Any, level: float) -> dict[str, tuple[Any, Any]]:
        from scipy.stats import chi2, t

        rows, columns, values = (
            _design(x, len(_TRUE)),
            _design(np.asarray(at), len(_TRUE)),
            np.ravel(data["u"]),
        )
        found, *_ = np.linalg.lstsq(rows, values, rcond=None)
        half = np.linalg.norm(columns @ np.linalg.inv(np.linalg.qr(rows, mode="r")), axis=1)
        if told:
            half, limits = half * sd * NormalDist().inv_cdf((1 + level) / 2), {}
        else:
            free, rss = n - len(_TRUE), np.sum((values - rows @ found) ** 2)
            half = half * np.sqrt(rss / free) * t.ppf((1 + level) / 2, free)
            limits = {
                "sd_u": tuple(np.sqrt(rss / chi2.ppf([(1 + level) / 2, (1 - level) / 2], free)))
            }
        return {**limits, "u": (columns @ found - half, columns @ found + half)}

    return Problem(
        name="linear-regression",
        equation=None,
        domain=Box(x=(0, 1)),
        observations=[Observed("u", x=x, y=y, noise=Gaussian(sd=sd if told else None))],
        network=Polynomial(jnp.zeros(len(_TRUE))),
        truth=Truth(
            outputs={
                "u": lambda x: jnp.sum(jnp.asarray(_TRUE) * (2 * x - 1) ** jnp.arange(len(_TRUE)))
            },
            noise={} if told else {"u": {"sd": sd}},
        ),
        exact=exact,
        options={"sd": sd, "told": told, "n": n, "data_seed": data_seed},
    )
