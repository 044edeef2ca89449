"""The Poisson equation with noisy measurements of both u and f."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._poisson import DOMAIN, END, ExactAnswer, linear, measured_f, measured_u, solution


def poisson_noisy_f(
    *,
    sd: float = 0.05,
    sd_f: float = 0.05,
    sensors: int = 4,
    n_f: int = 40,
    replicates: int = 10,
    data_seed: int = 0,
) -> Problem:
    """The Poisson equation, 0.01 u'' = f, with u and f both measured with noise.

    - Domain: x in [-0.7, 0.7].
    - Observed: u and f, with independent normal errors of known standard deviations.
    - Truth: u = sin(6x)^3.
    - Exact limits: those of a regression on the values of u at both ends and of f at
      its sensors, with f linear between them.

    Arguments:
        sd: standard deviation of the measurements of u.
        sd_f: standard deviation of the measurements of f.
        sensors: number of evenly spaced positions at which u is measured, both ends
            included.
        n_f: number of evenly spaced positions at which f is measured, both ends
            included.
        replicates: measurements at each position.
        data_seed: seed of the simulated measurements.

    Example:
        >>> [group.y.size for group in poisson_noisy_f().groups]
        [40, 400]
    """
    x_u = np.linspace(-END, END, sensors)
    random = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-noisy-f",
        equation=linear,
        domain=DOMAIN,
        observations=[
            measured_u(x_u, sd, replicates, random),
            measured_f(n_f, sd_f, replicates, random),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(x_u, sd, sd_f=sd_f, n_f=n_f),
    )
