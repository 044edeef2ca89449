"""A neural network through noisy data, without any physics."""

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.coordinates import Box
from ..posing.networks import MLP
from ..posing.observations import Observed
from ..posing.problem import Problem
from ..posing.truth import Truth


def network_regression(*, sd: float = 0.1, n: int = 40, data_seed: int = 0) -> Problem:
    """A network through noisy data on a smooth curve, without any equation.

    - Domain: x in [-1, 1].
    - Observed: u, with independent normal errors of known standard deviation.
    - Truth: u = sin(3x) + x / 2.
    - Exact limits: none.

    Arguments:
        sd: standard deviation of the measurements.
        n: number of measurements, evenly spaced.
        data_seed: seed of the simulated measurements.

    Example:
        >>> network_regression().equation is None
        True
    """
    x = np.linspace(-1, 1, n)
    y = np.sin(3 * x) + 0.5 * x + sd * np.random.default_rng(data_seed).standard_normal(n)
    return Problem(
        name="network-regression",
        equation=None,
        domain=Box(x=(-1, 1)),
        observations=[Observed("u", x=x, y=y, noise=Gaussian(sd=sd))],
        network=MLP((20, 20)),
        truth=Truth(outputs={"u": lambda x: jnp.sin(3 * x) + 0.5 * x}),
    )
