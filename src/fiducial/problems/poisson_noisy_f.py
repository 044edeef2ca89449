"""The Poisson equation with noisy measurements of both u and f."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._paper import PAPER_EFI, paper_baselines
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
    """0.01 u'' = f on [-0.7, 0.7], u and f both measured with noise.

    The exact answer takes f as linear between its sensors.

    Arguments:
        sd: standard deviation of the measurements of u.
        sd_f: standard deviation of the measurements of f.
        sensors: number of evenly spaced places where u is measured.
        n_f: the same for f.
        replicates: measurements at each place.
        data_seed: seed of the simulated measurements.

    Example:
        >>> [group.y.size for group in poisson_noisy_f().groups]
        [40, 400]
    """
    x_u = np.linspace(-END, END, sensors)
    rng = np.random.default_rng(data_seed)
    return Problem(
        name="poisson-noisy-f",
        equation=linear,
        domain=DOMAIN,
        observations=[measured_u(x_u, sd, replicates, rng), measured_f(n_f, sd_f, replicates, rng)],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(x_u, sd, sd_f=sd_f, n_f=n_f),
        paper={
            **paper_baselines(steps=100_000, bayes_steps=50_000, sigma_f=0.05, annealing=0.0),
            "efi": {**PAPER_EFI, "learning_rate": "poly_2.5e-6_50_0.55"},
        },
        options={
            "sd": sd,
            "sd_f": sd_f,
            "sensors": sensors,
            "n_f": n_f,
            "replicates": replicates,
            "data_seed": data_seed,
        },
    )
