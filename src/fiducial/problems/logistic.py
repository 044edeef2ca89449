"""Logistic growth with unknown rate and capacity."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.truth import Truth
from ..posing.unknowns import Positive
from ._curve import ExactCurve


def logistic(
    *,
    sd: float = 0.05,
    told: bool = True,
    n: int = 20,
    r: float = 1.0,
    K: float = 2.0,
    start: float = 0.2,
    data_seed: int = 0,
) -> Problem:
    """Logistic growth, u' = r u (1 - u / K), with r, K and u(0) unknown.

    - Domain: t in [0, 6].
    - Observed: u, with independent normal errors; ``told`` says whether their standard
      deviation is known.
    - Truth: u = K / (1 + (K / u(0) - 1) exp(-r t)).
    - Exact limits: the fiducial density of r, K and u(0), by importance sampling.

    Arguments:
        sd: standard deviation of the measurements.
        told: whether the standard deviation is known to the method.
        n: number of measurements, evenly spaced.
        r: the true growth rate.
        K: the true capacity.
        start: the true u(0).
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(logistic().unknowns)
        ['r', 'K']
    """
    t = np.linspace(0, 6, n)
    true = (r, K, start)
    y = _solution(t, true) + sd * np.random.default_rng(data_seed).standard_normal(n)
    return Problem(
        name="logistic",
        equation=lambda u, t, p: derivative(u, t) - p["r"] * u(t) * (1 - u(t) / p["K"]),
        domain=Box(t=(0, 6)),
        unknowns={"r": Positive(0.5), "K": Positive(1.0)},
        outputs={"u": Output(positive=True)},
        observations=[Observed("u", x=t, y=y, noise=Gaussian(sd=sd if told else None))],
        truth=Truth(
            outputs={"u": lambda t: _solution(t, true, jnp.exp)},
            unknowns={"r": r, "K": K},
            noise={} if told else {"u": {"sd": sd}},
        ),
        exact=ExactCurve(_solution, t, true, ("r", "K"), "u", sd=sd if told else None),
    )


def _solution(t: Any, p: Any, exp: Any = np.exp) -> Any:
    """Return the solution for a growth rate, a capacity and a start."""
    rate, capacity, start = p
    return capacity / (1 + (capacity / start - 1) * exp(-rate * t))
