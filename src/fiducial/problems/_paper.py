"""The paper's settings, as its tables state them; step sizes of errors are in units
of the data.
"""

from typing import Any

PAPER_EFI = {
    "steps": 200_000,
    "burn_in": 0.1,
    "annealing": 0.1,
    "learning_rate": "poly_5e-6_100_0.55",
    "momentum": "linear_0.9_0",
    "sgld_learning_rate": "poly_5e-6_100_0.55",
    "lambda": "linear_50_1000",
    "eta_theta": 1.0,
    "eta_f": 1.0,
    "encoder": (64, 64, 16),
}
"""For most of the Poisson family."""

PAPER_EFI_REAL_DATA = {
    "steps": 200_000,
    "burn_in": 0.1,
    "annealing": 0.1,
    "learning_rate": "poly_1e-6_10_0.55",
    "momentum": 0.9,
    "sgld_learning_rate": "poly_1e-6_10_0.95",
    "lambda": "log_50_500",
    "eta_theta": 1.0,
    "eta_f": 1.0,
    "encoder": (64, 64, 16),
}
"""For the real data. The table does not state the annealing period; it is taken as
in the others.
"""


def paper_baselines(
    *,
    steps: int,
    dropout_steps: int | None = None,
    bayes_steps: int,
    sigma_f: str | float,
    leapfrog: int = 6,
    annealing: float = 0.3,
    pretrain: int = 0,
    learning_rates: dict[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Settings of the methods that the paper compares with.

    Arguments:
        steps: Adam steps of the network without dropout.
        dropout_steps: of those with it, if others.
        bayes_steps: moves of Hamiltonian Monte Carlo.
        sigma_f: size of the errors that the equation is given.
        leapfrog: leapfrog steps of a move.
        annealing: part of the moves in which sizes of errors and steps change.
        pretrain: Adam steps before the chain.
        learning_rates: step sizes for values of ``sigma_f`` that have one of their own;
            1e-4 for the others.
    """
    adam = {"steps": steps, "burn_in": 0.5, "learning_rate": 3e-4}
    dropout = {**adam, "steps": dropout_steps or steps}
    bayes = {
        "steps": bayes_steps,
        "burn_in": 0.4,
        "annealing": annealing,
        "leapfrog": leapfrog,
        "sigma_f": sigma_f,
        "pretrain": pretrain,
        "learning_rate": {"default": 1e-4, **(learning_rates or {})},
    }
    return {"pinn-paper": adam, "dropout": dropout, "concrete-dropout": dropout, "bayes": bayes}
