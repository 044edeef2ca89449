"""The Poisson equation with measurements whose error size is unknown."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._poisson import DOMAIN, END, ExactAnswer, known_f, linear, measured_u, solution


def poisson_unknown_sd(
    *, sd: float = 0.1, replicates: int = 30, n_f: int = 200, data_seed: int = 0
) -> Problem:
    """0.01 u'' = f on [-0.7, 0.7], f known exactly, u measured at both ends with noise
    of unknown size.

    Arguments:
        sd: the true standard deviation of the measurements, which the method is not
            told.
        replicates: measurements at each end; the paper has 60 in all.
        n_f: number of points where f is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_unknown_sd().groups[0].y.size
        60
    """
    ends = np.array([-END, END])
    return Problem(
        name="poisson-unknown-sd",
        equation=linear,
        domain=DOMAIN,
        observations=[
            measured_u(ends, sd, replicates, np.random.default_rng(data_seed), told=False),
            known_f(n_f),
        ],
        truth=Truth(outputs={"u": solution}, noise={"u": {"sd": sd}}),
        exact=ExactAnswer(ends, None),
        options={"sd": sd, "replicates": replicates, "n_f": n_f, "data_seed": data_seed},
    )
