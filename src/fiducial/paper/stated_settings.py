"""The paper's settings by problem and method, as its tables state them.

Schedules are written as in the paper (see ``fiducial.schedules.parse``). Step sizes of
errors are in units of the data, not of their standard deviations. Numbers of
chains are ours: several where the diagnosis compares chains with each other.
"""

from typing import Any

_EFI: dict[str, Any] = {
    "chains": 4,
    "steps": 200_000,
    "burn_in": 0.1,
    "annealing": 0.1,
    "learning_rate": "poly_5e-6_100_0.55",
    "momentum": "linear_0.9_0",
    "sgld_learning_rate": "poly_5e-6_100_0.55",
    "strength": "linear_50_1000",
    "eta_theta": 1.0,
    "eta_f": 1.0,
    "encoder": (64, 64, 16),
}
"""Algorithm 1 for most of the Poisson family."""

_EFI_REAL_DATA: dict[str, Any] = {
    **_EFI,
    "learning_rate": "poly_1e-6_10_0.55",
    "momentum": 0.9,
    "sgld_learning_rate": "poly_1e-6_10_0.95",
    "strength": "log_50_500",
}
"""Algorithm 1 for the real data. The table does not state the annealing period; it is
taken as in the others.
"""


def _baselines(
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
    """Return settings of the methods that the paper compares with.

    Arguments:
        steps: Adam steps of the network without dropout.
        dropout_steps: Adam steps with dropout, where there are others.
        bayes_steps: moves of Hamiltonian Monte Carlo.
        sigma_f: size of the errors that the equation is given.
        leapfrog: leapfrog steps of a move.
        annealing: share of the moves in which sizes of errors and steps change.
        pretrain: Adam steps before the chain.
        learning_rates: step sizes for values of ``sigma_f`` that have one of their own;
            1e-4 for the others.
    """
    adam = {"chains": 1, "steps": steps, "burn_in": 0.5, "learning_rate": 3e-4}
    dropout = {**adam, "steps": dropout_steps or steps}
    bayes = {
        "chains": 4,
        "steps": bayes_steps,
        "burn_in": 0.4,
        "annealing": annealing,
        "leapfrog": leapfrog,
        "sigma_f": sigma_f,
        "pretrain": pretrain,
        "learning_rate": 1e-4,
        "learning_rate_for": learning_rates or {},
    }
    return {"pinn": adam, "dropout": dropout, "concrete-dropout": dropout, "bayes": bayes}


SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "poisson": {
        **_baselines(
            steps=500_000,
            bayes_steps=100_000,
            sigma_f=0.05,
            learning_rates={"exp_0.05_0.0005": "linear_1e-4_3e-6"},
        ),
        "efi": {
            **_EFI,
            "sgld_learning_rate": "poly_5e-6_10_0.55",
            "strength": "linear_50_500",
            "encoder": (16, 16, 16),
        },
    },
    "poisson-noisy-f": {
        **_baselines(steps=100_000, bayes_steps=50_000, sigma_f=0.05, annealing=0.0),
        "efi": {**_EFI, "learning_rate": "poly_2.5e-6_50_0.55"},
    },
    "poisson-nonlinear": {
        **_baselines(steps=100_000, bayes_steps=100_000, sigma_f="exp_0.2_0.05"),
        "efi": {**_EFI, "strength": "exp_50_1000"},
    },
    "poisson-inverse": {
        **_baselines(
            steps=50_000,
            dropout_steps=500_000,
            bayes_steps=50_000,
            sigma_f=0.05,
            leapfrog=10,
            annealing=0.0,
        ),
        "efi": {**_EFI, "steps": 350_000, "encoder": (128, 128, 12)},
    },
    "black-scholes": {
        **_baselines(
            steps=200_000,
            bayes_steps=100_000,
            sigma_f=0.05,
            pretrain=5000,
            learning_rates={"exp_0.05_0.005": "linear_1e-4_1e-5"},
        ),
        "efi": {**_EFI, "steps": 300_000},
    },
    "montroll": {
        "efi": {
            **_EFI_REAL_DATA,
            "sgld_learning_rate": "poly_1e-4_10_0.95",
            "encoder": (32, 32, 16),
        }
    },
    "fkpp": {"efi": _EFI_REAL_DATA},
    "porous-fkpp": {"efi": _EFI_REAL_DATA},
}
"""For each problem of the paper, settings by method."""


def settings(method: str, problem: str) -> dict[str, Any]:
    """Return the paper's settings of a method for a problem.

    Arguments:
        method: ``"efi"``, ``"pinn"``, ``"dropout"``, ``"concrete-dropout"`` or
            ``"bayes"``.
        problem: name of a ready problem.

    Example:
        >>> settings("efi", "poisson")["steps"]
        200000
    """
    known = [name for name, methods in SETTINGS.items() if method in methods]
    if problem not in known:
        raise ValueError(
            f"the paper has no settings of {method} for '{problem}'; it has some for"
            f" {', '.join(known) or 'no problem'}"
        )
    return dict(SETTINGS[problem][method])
