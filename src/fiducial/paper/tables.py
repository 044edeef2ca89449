"""What the paper's tables say: which experiment, which methods, and the published
numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..methods.base import AbstractMethod
from ..posing.networks import MLP, NetworkRecipe, softplus
from . import bayes, concrete_dropout, dropout, pinn


class Published(NamedTuple):
    """Numbers of a row of the paper's tables, each with its standard error."""

    mse: float
    mse_se: float
    coverage: float
    coverage_se: float
    width: float
    width_se: float


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        method: ``(problem name) -> method``.
        published: the paper's numbers.
    """

    method: Callable[[str], AbstractMethod]
    published: Published


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Arguments:
        problem: name of the ready problem.
        options: options of the problem.
        rows: rows by name.
        network: network of the table, where it is not the problem's own.
        points: where the table judges the solution, if not over the whole domain.
    """

    problem: str
    options: dict[str, Any]
    rows: dict[str, Row]
    network: NetworkRecipe | None = None
    points: dict[str, Any] | None = None


def _pinn(*numbers: float) -> Row:
    return Row(lambda problem: pinn(problem), Published(*numbers))


def _dropout(rate: float, *numbers: float) -> Row:
    return Row(lambda problem: dropout(problem, rate=rate), Published(*numbers))


def _concrete(*numbers: float) -> Row:
    return Row(lambda problem: concrete_dropout(problem), Published(*numbers))


def _bayes(sigma_f: float | str, *numbers: float) -> Row:
    return Row(lambda problem: bayes(problem, chains=1, sigma_f=sigma_f), Published(*numbers))


_SMALL = "exp_0.05_0.005"
"""Errors of the equation that end at a tenth of those of the data."""
_SMALLER = "exp_0.05_0.0005"
"""Errors of the equation that end at a hundredth of those of the data."""

_NONLINEAR: dict[str, Row] = {
    "dropout 0.5 %": _dropout(0.005, 0.00105, 0.000123, 0.9962, 0.002068, 0.246367, 0.002182),
    "dropout 1 %": _dropout(0.01, 0.002807, 0.000309, 0.9861, 0.003829, 0.358088, 0.005178),
    "dropout 5 %": _dropout(0.05, 0.00701, 0.000394, 0.9956, 0.001566, 0.543565, 0.003096),
    "bayes": _bayes("exp_0.2_0.05", 0.000376, 0.000033, 0.9938, 0.002618, 0.104673, 0.000394),
}

_BLACK_SCHOLES = {
    "unknown": None,
    "edge": "free",
    "expiry": "observed",
    "n_edge": 50,
    "n_f": 800,
}

TABLES: dict[str, Table] = {
    "poisson": Table("poisson", {}, {
        "pinn": _pinn(0.000121, 0.000012, 0.0757, 0.011795, 0.002139, 0.000024),
        "dropout 0.5 %": _dropout(0.005, 0.000228, 0.000024, 1.0, 0.0, 0.191712, 0.004367),
        "dropout 1 %": _dropout(0.01, 0.000851, 0.000111, 0.9999, 0.000104, 0.274651, 0.006734),
        "dropout 5 %": _dropout(0.05, 0.006276, 0.000982, 0.9893, 0.004024, 0.660927, 0.030789),
        "concrete dropout": _concrete(0.000184, 0.00002, 0.1185, 0.018002, 0.003706, 0.000073),
        "bayes 0.05": _bayes(0.05, 0.000826, 0.000102, 0.9997, 0.000302, 0.372381, 0.002635),
        "bayes 0.005": _bayes(_SMALL, 0.00017, 0.00002, 0.9914, 0.0086, 0.081557, 0.000692),
        "bayes 0.0005": _bayes(_SMALLER, 0.00146, 0.000219, 0.5884, 0.03239, 0.055191, 0.001123),
    }),
    "noise-0.01": Table("poisson", {"sd": 0.01}, {
        "pinn": _pinn(0.000008, 0.000001, 0.2808, 0.028721, 0.002079, 0.000026),
        "dropout 0.5 %": _dropout(0.005, 0.00016, 0.000037, 1.0, 0.0, 0.199798, 0.004135),
        "dropout 1 %": _dropout(0.01, 0.000676, 0.000082, 1.0, 0.0, 0.276534, 0.006642),
        "dropout 5 %": _dropout(0.05, 0.00908, 0.001516, 0.9639, 0.011218, 0.593541, 0.025812),
        "bayes 0.05": _bayes(0.05, 0.000181, 0.000025, 0.9984, 0.0004, 0.254861, 0.001554),
        "bayes 0.005": _bayes(_SMALL, 0.000007, 0.000001, 0.9915, 0.00322, 0.028386, 0.000201),
        "bayes 0.0005": _bayes(_SMALLER, 7e-6, 1e-6, 0.9544, 0.013751, 0.010437, 0.000046),
    }),
    "noise-0.025": Table("poisson", {"sd": 0.025}, {
        "pinn": _pinn(0.000046, 0.000006, 0.1529, 0.019175, 0.00211, 0.000025),
        "dropout 0.5 %": _dropout(0.005, 0.000157, 0.000028, 1.0, 0.0, 0.195658, 0.003892),
        "dropout 1 %": _dropout(0.01, 0.000666, 0.000084, 1.0, 0.0, 0.267936, 0.005751),
        "dropout 5 %": _dropout(0.05, 0.004573, 0.000654, 0.9979, 0.001157, 0.643227, 0.031514),
        "bayes 0.05": _bayes(0.05, 0.000161, 0.000019, 0.9992, 0.000307, 0.257184, 0.001612),
        "bayes 0.005": _bayes(_SMALL, 0.00006, 0.000013, 0.963, 0.01269, 0.037341, 0.000418),
        "bayes 0.0005": _bayes(_SMALLER, 0.00009, 0.000014, 0.8504, 0.02327, 0.024676, 0.000366),
    }),
    "noise-0.1": Table("poisson", {"sd": 0.1}, {
        "pinn": _pinn(0.000581, 0.000066, 0.032, 0.006518, 0.002088, 0.000024),
        "dropout 0.5 %": _dropout(0.005, 9.35e-4, 1.06e-4, 0.9905, 0.002706, 0.196226, 0.003748),
        "dropout 1 %": _dropout(0.01, 0.001413, 0.000175, 0.9976, 0.001929, 0.274188, 0.007653),
        "dropout 5 %": _dropout(0.05, 0.00684, 0.001027, 0.9955, 0.002439, 0.658607, 0.03177),
        "bayes 0.05": _bayes(0.05, 0.000966, 0.000106, 0.9936, 0.002068, 0.28566, 0.001405),
        "bayes 0.005": _bayes(_SMALL, 0.000674, 0.00008, 0.9582, 0.015014, 0.104743, 0.000325),
        "bayes 0.0005": _bayes(_SMALLER, 4.944e-3, 7.88e-4, 0.3827, 0.030245, 0.066296, 0.002515),
    }),
    "noisy-f": Table("poisson-noisy-f", {}, {
        "dropout 0.5 %": _dropout(0.005, 0.00031, 0.000022, 1.0, 0.0, 0.240585, 0.002282),
        "dropout 1 %": _dropout(0.01, 0.00053, 0.000046, 1.0, 0.0, 0.357782, 0.005141),
        "dropout 5 %": _dropout(0.05, 0.003527, 0.000193, 1.0, 0.0, 0.669799, 0.006158),
        "bayes": _bayes(0.05, 0.000233, 0.000017, 0.996, 0.002035, 0.086291, 0.000068),
    }),
    "nonlinear": Table("poisson-nonlinear", {}, _NONLINEAR),
    # evenly spaced sensors, as in published code
    "nonlinear-even": Table("poisson-nonlinear", {"inner": 0.7 / 3}, _NONLINEAR),
    "inverse": Table("poisson-inverse", {}, {
        "dropout 0.5 %": _dropout(0.005, 0.000184, 0.00001, 1.0, 0.0, 0.2393, 0.0035),
        "dropout 1 %": _dropout(0.01, 0.000272, 0.000024, 1.0, 0.0, 0.3032, 0.0071),
        "dropout 5 %": _dropout(0.05, 0.002708, 0.000212, 1.0, 0.0, 0.5363, 0.0131),
        "bayes": _bayes(0.05, 0.000131, 0.000008, 0.9752, 0.0055, 0.0517, 0.00003),
    }),
    "black-scholes": Table("black-scholes", _BLACK_SCHOLES, {
        "dropout 5 %": _dropout(0.05, 0.000171, 0.00007, 0.9137, 0.0122, 0.0538, 0.0004),
        "bayes 0.05": _bayes(0.05, 0.000159, 0.000041, 0.9637, 0.0175, 0.0516, 0.001),
        "bayes 0.005": _bayes(_SMALL, 0.001075, 0.000146, 0.5437, 0.0255, 0.0388, 0.0007),
    }, network=MLP((50, 50), softplus(5.0)), points={"S": np.linspace(0, 2, 101), "t": 0.0}),
}  # fmt: skip
"""The paper's tables by name: comparisons of solutions by other methods."""
