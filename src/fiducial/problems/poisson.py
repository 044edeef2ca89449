"""The one-dimensional Poisson equation, measured at both ends."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._poisson import DOMAIN, END, ExactAnswer, known_f, linear, measured_u, solution


def poisson(
    *, sd: float = 0.05, replicates: int = 10, n_f: int = 200, data_seed: int = 0
) -> Problem:
    """The Poisson equation, 0.01 u'' = f, with u measured at both ends.

    - Domain: x in [-0.7, 0.7].
    - Known exactly: f at evenly spaced points.
    - Observed: u at both ends, with independent normal errors of known standard
      deviation.
    - Truth: u = sin(6x)^3.
    - Exact limits: u is linear in its values at both ends, so they are those of a
      regression.

    Arguments:
        sd: standard deviation of the measurements of u.
        replicates: measurements at each end.
        n_f: number of points where f is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson(sd=0.1).groups[0].y.size
        20
    """
    ends = np.array([-END, END])
    random = np.random.default_rng(data_seed)
    return Problem(
        name="poisson",
        equation=linear,
        domain=DOMAIN,
        observations=[measured_u(ends, sd, replicates, random), known_f(n_f)],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(ends, sd),
    )
