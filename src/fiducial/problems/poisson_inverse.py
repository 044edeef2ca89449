"""The nonlinear Poisson equation with its coefficient unknown."""

import numpy as np

from ..posing.networks import MLP
from ..posing.problem import Problem
from ..posing.truth import Truth
from ..posing.unknowns import Real
from ._paper import PAPER_EFI, paper_baselines
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
    """0.01 u'' + k tanh(u) = f on [-0.7, 0.7], f known exactly, u measured with noise;
    k is unknown.

    Arguments:
        sd: standard deviation of the measurements of u.
        sensors: number of evenly spaced places where u is measured.
        replicates: measurements at each of them.
        n_f: number of points where f is known.
        k: the true coefficient.
        guess: where the search for k starts.
        width: units in each of the two hidden layers; the paper has 50 and 100.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(poisson_inverse().unknowns)
        ['k']
    """
    x_u = np.linspace(-END, END, sensors)
    return Problem(
        name="poisson-inverse",
        equation=nonlinear(lambda p: p["k"]),
        domain=DOMAIN,
        unknowns={"k": Real(guess)},
        network=MLP((width, width)),
        observations=[
            measured_u(x_u, sd, replicates, np.random.default_rng(data_seed)),
            known_f(n_f, k),
        ],
        truth=Truth(outputs={"u": solution}, unknowns={"k": k}),
        exact=ExactAnswer(x_u, sd, k=k, unknown_k=True),
        paper={
            **paper_baselines(
                steps=50_000,
                dropout_steps=500_000,
                bayes_steps=50_000,
                sigma_f=0.05,
                leapfrog=10,
                annealing=0.0,
            ),
            "efi": {**PAPER_EFI, "steps": 350_000, "encoder": (128, 128, 12)},
        },
        options={
            "sd": sd,
            "sensors": sensors,
            "replicates": replicates,
            "n_f": n_f,
            "k": k,
            "guess": guess,
            "width": width,
            "data_seed": data_seed,
        },
    )
