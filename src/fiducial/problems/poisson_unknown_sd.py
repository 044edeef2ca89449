"""The Poisson equation with measurements of unknown standard deviation."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._poisson import DOMAIN, END, ExactAnswer, known_f, linear, measured_u, solution


def poisson_unknown_sd(
    *, sd: float = 0.1, replicates: int = 30, n_f: int = 200, data_seed: int = 0
) -> Problem:
    """The Poisson equation, 0.01 u'' = f, with errors of unknown standard deviation.

    - Domain: x in [-0.7, 0.7].
    - Known exactly: f at evenly spaced points.
    - Observed: u at both ends, with independent normal errors of unknown standard
      deviation.
    - Truth: u = sin(6x)^3.
    - Exact limits: u is linear in its values at both ends, so they are those of a
      regression: Student's t for u, chi-square for the standard deviation.

    Arguments:
        sd: the true standard deviation of the measurements.
        replicates: measurements at each end; the paper has 60 in all.
        n_f: number of points where f is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_unknown_sd().groups[0].y.size
        60
    """
    ends = np.array([-END, END])
    random = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-unknown-sd",
        equation=linear,
        domain=DOMAIN,
        observations=[measured_u(ends, sd, replicates, random, told=False), known_f(n_f)],
        truth=Truth(outputs={"u": solution}, noise={"u": {"sd": sd}}),
        exact=ExactAnswer(ends, None),
    )
