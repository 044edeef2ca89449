"""The one-dimensional Poisson equation of the paper's section 4.1."""

import numpy as np

from ..coordinates import Box
from ..noise.gaussian import Gaussian
from ..observed import Observed
from ..operators import derivative
from ..problem import Problem, Truth
from ._poisson import BETA, END, ExactAnswer, measured, solution, source


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
    ends, x_f = np.array([-END, END]), np.linspace(-END, END, n_f)
    return Problem(
        name="poisson",
        equation=lambda u, x, p: BETA * derivative(u, x, order=2),
        domain=Box(x=(-END, END)),
        observations=[
            Observed("u", x=ends, y=measured(ends, sd, replicates, np.random.default_rng(data_seed)), noise=Gaussian(sd=sd)),
            Observed("equation", x=x_f, y=source(x_f)),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(ends, sd),
        options={"sd": sd, "replicates": replicates, "n_f": n_f, "data_seed": data_seed},
    )
