"""The nonlinear Poisson equation with unknown coefficient."""

import numpy as np

from ..posing.networks import MLP
from ..posing.problem import Problem
from ..posing.truth import Truth
from ..posing.unknowns import Real
from ._poisson import DOMAIN, END, ExactAnswer, known_f, measured_u, nonlinear, solution


def poisson_inverse(
    *,
    sd: float = 0.05,
    sensors: int = 8,
    replicates: int = 10,
    n_f: int = 200,
    k: float = 0.7,
    guess: float = 0.0,
    width: int = 50,
    data_seed: int = 0,
) -> Problem:
    """The nonlinear Poisson equation, 0.01 u'' + k tanh(u) = f, with k unknown.

    - Domain: x in [-0.7, 0.7].
    - Known exactly: f at evenly spaced points.
    - Observed: u, with independent normal errors of known standard deviation.
    - Truth: u = sin(6x)^3.
    - Exact limits: those of a regression on k and the values of u at both ends, in
      which u is linear to first order around the truth.

    Arguments:
        sd: standard deviation of the measurements of u.
        sensors: number of evenly spaced positions at which u is measured, both ends
            included.
        replicates: measurements at each position.
        n_f: number of points where f is known.
        k: the true coefficient.
        guess: the value of k from which the fit starts.
        width: units in each of the two hidden layers; the paper has 50 and 100.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(poisson_inverse().unknowns)
        ['k']
    """
    x_u = np.linspace(-END, END, sensors)
    random = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-inverse",
        equation=nonlinear(lambda p: p["k"]),
        domain=DOMAIN,
        unknowns={"k": Real(guess)},
        network=MLP((width, width)),
        observations=[measured_u(x_u, sd, replicates, random), known_f(n_f, k)],
        truth=Truth(outputs={"u": solution}, unknowns={"k": k}),
        exact=ExactAnswer(x_u, sd, k=k, unknown_k=True),
    )
