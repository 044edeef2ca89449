"""The experiments of the paper: its methods with its settings, and its tables.

Each function returns a method that ``fit`` and ``study`` take like any other, made of
the same phases as the library's own methods, with the settings that the paper states
for a ready problem. Every setting can be changed by keyword. On the command line the
same methods are ``paper-efi``, ``paper-pinn``, ``paper-dropout``,
``paper-concrete-dropout`` and ``paper-bayes``, with the settings for the problem named:

    fiducial run poisson --method paper-efi --set method.chains=2

Reference:
    Shih, Jiang, Liang (2025), Uncertainty Quantification for Physics-Informed Neural
    Networks with Extended Fiducial Inference, NeurIPS.

Example:
    ``fiducial.fit(fiducial.problem("poisson"), fiducial.paper.efi("poisson"), seed=0)``
"""

import inspect
from collections.abc import Callable
from typing import Any

from ..methods.base import AbstractMethod
from .paper_bayes import PaperBayes
from .paper_concrete_dropout import PaperConcreteDropout
from .paper_dropout import PaperDropout
from .paper_efi import PaperEFI
from .paper_pinn import PaperPINN
from .stated_settings import SETTINGS, settings

__all__ = [
    "SETTINGS",
    "PaperBayes",
    "PaperConcreteDropout",
    "PaperDropout",
    "PaperEFI",
    "PaperPINN",
    "bayes",
    "concrete_dropout",
    "dropout",
    "efi",
    "method",
    "methods",
    "pinn",
    "settings",
]


def efi(problem: str, **changes: Any) -> PaperEFI:
    """Return Algorithm 1 with the paper's settings for a problem.

    Example:
        >>> efi("poisson", chains=2).steps
        200000
    """
    return PaperEFI(**{"chains": 4, **settings("efi", problem), **changes})


def pinn(problem: str, **changes: Any) -> PaperPINN:
    """Return the paper's PINN without dropout for a problem.

    Example:
        >>> pinn("poisson").steps
        500000
    """
    return PaperPINN(**{"chains": 1, **settings("pinn", problem), **changes})


def dropout(problem: str, **changes: Any) -> PaperDropout:
    """Return the paper's dropout for a problem; the paper has rates of 0.005, 0.01 and
    0.05.

    Example:
        >>> dropout("poisson", rate=0.01).rate
        0.01
    """
    return PaperDropout(**{"chains": 1, **settings("dropout", problem), **changes})


def concrete_dropout(problem: str, **changes: Any) -> PaperConcreteDropout:
    """Return the paper's dropout with learnt rates for a problem.

    Example:
        >>> concrete_dropout("poisson").burn_in
        0.5
    """
    given = settings("concrete-dropout", problem)
    return PaperConcreteDropout(**{"chains": 1, **given, **changes})


def bayes(problem: str, **changes: Any) -> PaperBayes:
    """Return the paper's Bayesian PINN for a problem; the step size is that of the
    paper for the size of the equation's errors, ``sigma_f``.

    Example:
        >>> bayes("poisson", sigma_f="exp_0.05_0.0005").learning_rate
        'linear_1e-4_3e-6'
    """
    given = settings("bayes", problem)
    rates = given.pop("learning_rate_for")
    sigma_f = changes.get("sigma_f", given["sigma_f"])
    given["learning_rate"] = rates.get(str(sigma_f), given["learning_rate"])
    return PaperBayes(**{"chains": 4, **given, **changes})


_FOUND: dict[str, tuple[type[AbstractMethod], Callable[..., AbstractMethod]]] = {
    cls.name: (cls, make)
    for cls, make in (
        (PaperEFI, efi),
        (PaperPINN, pinn),
        (PaperDropout, dropout),
        (PaperConcreteDropout, concrete_dropout),
        (PaperBayes, bayes),
    )
}
"""By name the class of each method, and the function that configures it."""


def methods() -> dict[str, type[AbstractMethod]]:
    """Return the paper's methods by name.

    Example:
        >>> sorted(methods())[0]
        'paper-bayes'
    """
    return {name: cls for name, (cls, _) in _FOUND.items()}


def method(name: str, problem: str, **changes: Any) -> AbstractMethod:
    """Return a method of the paper by name, with its settings for a problem.

    Arguments:
        name: such as ``"paper-efi"``.
        problem: name of a ready problem.
        changes: settings that differ from the paper's.

    Example:
        >>> method("paper-pinn", "poisson", steps=1000).steps
        1000
    """
    if name not in _FOUND:
        raise ValueError(f"no method of the paper called '{name}'; there are {', '.join(_FOUND)}")
    cls, make = _FOUND[name]
    known = inspect.signature(cls).parameters
    unknown = [setting for setting in changes if setting not in known]
    if unknown:
        raise ValueError(
            f"method '{name}' has no setting '{unknown[0]}'; it has {', '.join(known)}"
        )
    return make(problem, **changes)
