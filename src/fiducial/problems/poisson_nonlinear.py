"""The nonlinear Poisson equation with noisy measurements of both u and f."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._poisson import DOMAIN, END, ExactAnswer, measured_f, measured_u, nonlinear, solution


def poisson_nonlinear(
    *,
    sd: float = 0.05,
    sd_f: float = 0.05,
    inner: float = 0.47,
    n_f: int = 40,
    replicates: int = 10,
    k: float = 0.7,
    data_seed: int = 0,
) -> Problem:
    """The nonlinear Poisson equation, 0.01 u'' + k tanh(u) = f, with noisy u and f.

    - Domain: x in [-0.7, 0.7].
    - Known exactly: k.
    - Observed: u and f, with independent normal errors of known standard deviations.
    - Truth: u = sin(6x)^3.
    - Exact limits: those of a regression on the values of u at both ends and of f at
      its sensors, with f linear between them, and u linear in the errors.

    Arguments:
        sd: standard deviation of the measurements of u.
        sd_f: standard deviation of the measurements of f.
        inner: u is measured at x = -0.7, -inner, inner and 0.7; 0.7 / 3 gives evenly
            spaced sensors.
        n_f: number of evenly spaced positions at which f is measured, both ends
            included.
        replicates: measurements at each position.
        k: the known coefficient.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_nonlinear().groups[0].sites.array.ravel().tolist()
        [-0.7, -0.47, 0.47, 0.7]
    """
    if not 0 < inner < END:
        raise ValueError(
            f"poisson-nonlinear(inner={inner!r}): give a number between 0 and {END}, such as 0.47"
        )
    x_u = np.array([-END, -inner, inner, END])
    random = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-nonlinear",
        equation=nonlinear(lambda p: k),
        domain=DOMAIN,
        observations=[
            measured_u(x_u, sd, replicates, random),
            measured_f(n_f, sd_f, replicates, random, k),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(x_u, sd, k=k, sd_f=sd_f, n_f=n_f),
    )
