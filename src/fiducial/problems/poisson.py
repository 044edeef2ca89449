"""The one-dimensional Poisson equation of the paper's section 4.1."""

import numpy as np

from ..posing.problem import Problem
from ..posing.truth import Truth
from ._paper import PAPER_EFI, paper_baselines
from ._poisson import DOMAIN, END, ExactAnswer, known_f, linear, measured_u, solution


def poisson(
    *, sd: float = 0.05, replicates: int = 10, n_f: int = 200, data_seed: int = 0
) -> Problem:
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
    ends = np.array([-END, END])
    return Problem(
        name="poisson",
        equation=linear,
        domain=DOMAIN,
        observations=[
            measured_u(ends, sd, replicates, np.random.default_rng(data_seed)),
            known_f(n_f),
        ],
        truth=Truth(outputs={"u": solution}),
        exact=ExactAnswer(ends, sd),
        paper={
            **paper_baselines(
                steps=500_000,
                bayes_steps=100_000,
                sigma_f=0.05,
                learning_rates={"exp_0.05_0.0005": "linear_1e-4_3e-6"},
            ),
            "efi": {
                **PAPER_EFI,
                "sgld_learning_rate": "poly_5e-6_10_0.55",
                "lambda": "linear_50_500",
                "encoder": (16, 16, 16),
            },
        },
        options={"sd": sd, "replicates": replicates, "n_f": n_f, "data_seed": data_seed},
    )
