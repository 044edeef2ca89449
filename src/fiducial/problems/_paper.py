"""The paper's settings for its method, as its tables state them; step sizes of errors are in units of the data."""

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
"""For the real data. The table does not state the annealing period; it is taken as in the others."""
