"""The nonlinear Poisson equation with noisy measurements of both u and f."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._paper import PAPER_EFI, paper_baselines
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
    """0.01 u'' + k tanh(u) = f on [-0.7, 0.7] with k known, u and f both measured with
    noise.

    The exact answer takes f as linear between its sensors, and the solution as linear
    in the errors.

    Arguments:
        sd: standard deviation of the measurements of u.
        sd_f: standard deviation of the measurements of f.
        inner: u is measured at both ends and at plus and minus this; 0.7 / 3 gives
            evenly spaced sensors.
        n_f: number of evenly spaced places where f is measured.
        replicates: measurements at each place.
        k: the known coefficient.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_nonlinear().groups[0].sites.array.ravel().tolist()
        [-0.7, -0.47, 0.47, 0.7]
    """
    if not 0 < inner < END:
        raise ValueError(f"inner={inner!r}: give a number between 0 and {END}")
    x_u = np.array([-END, -inner, inner, END])
    rng = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-nonlinear",
        equation=nonlinear(lambda p: k),
        domain=DOMAIN,
        observations=[
            measured_u(x_u, sd, replicates, rng),
            measured_f(n_f, sd_f, replicates, rng, k),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(x_u, sd, k=k, sd_f=sd_f, n_f=n_f),
        paper={
            **paper_baselines(steps=100_000, bayes_steps=100_000, sigma_f="exp_0.2_0.05"),
            "efi": {**PAPER_EFI, "lambda": "exp_50_1000"},
        },
        options={
            "sd": sd,
            "sd_f": sd_f,
            "inner": inner,
            "n_f": n_f,
            "replicates": replicates,
            "k": k,
            "data_seed": data_seed,
        },
    )
