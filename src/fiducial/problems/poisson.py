"""The one-dimensional Poisson equation of the paper's section 4.1."""

from collections.abc import Mapping
from functools import partial
from statistics import NormalDist

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..coordinates import Box
from ..noise.gaussian import Gaussian
from ..observed import Observed
from ..operators import derivative
from ..problem import Problem, Truth

BETA = 0.01


def solution(x: Array) -> Array:
    """The true solution, ``sin(6x)^3``."""
    return jnp.sin(6.0 * x) ** 3


def source(x: np.ndarray) -> np.ndarray:
    """The right-hand side that belongs to it."""
    s, c = np.sin(6.0 * x), np.cos(6.0 * x)
    return BETA * 108.0 * s * (2.0 * c**2 - s**2)


def exact_limits(data: Mapping[str, np.ndarray], x: np.ndarray, level: float, *, sd: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The exact interval for u: with f known, only the two end values are uncertain, and u is linear in them."""
    left, right = data["u"].mean(axis=1) - np.sin(6.0 * np.array([-0.7, 0.7])) ** 3
    share = (x + 0.7) / 1.4
    middle = np.sin(6.0 * x) ** 3 + (1 - share) * left + share * right
    half = NormalDist().inv_cdf((1 + level) / 2) * sd / np.sqrt(data["u"].shape[1]) * np.sqrt((1 - share) ** 2 + share**2)
    return {"u": (middle - half, middle + half)}


def poisson(*, sd: float = 0.05, replicates: int = 10, n_f: int = 200, data_seed: int = 0) -> Problem:
    """0.01 u'' = f on [-0.7, 0.7], f known exactly, u measured with noise at both ends.

    Arguments:
        sd: standard deviation of the measurements of u.
        replicates: measurements at each end.
        n_f: number of points where f is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson(sd=0.1).options["sd"]
        0.1
    """
    ends = np.array([-0.7, 0.7])
    x_f = np.linspace(-0.7, 0.7, n_f)
    errors = sd * np.random.default_rng(data_seed).standard_normal((2, replicates))
    return Problem(
        name="poisson",
        equation=lambda u, x, p: BETA * derivative(u, x, order=2),
        domain=Box(x=(-0.7, 0.7)),
        observations=[
            Observed("u", x=ends, y=np.sin(6.0 * ends)[:, None] ** 3 + errors, noise=Gaussian(sd=sd)),
            Observed("equation", x=x_f, y=source(x_f)),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=partial(exact_limits, sd=sd),
        options={"sd": sd, "replicates": replicates, "n_f": n_f, "data_seed": data_seed},
    )
