"""Requirements that several methods have of their settings and of the problem."""

from typing import Any

import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.networks import MLP
from ..posing.problem import Problem
from .base import AbstractMethod


def require_positive(method: AbstractMethod, *settings: str) -> None:
    """Raise a ``ValueError`` if one of the settings is not a positive whole number."""
    for setting in settings:
        value = getattr(method, setting)
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(
                f"{type(method).__name__}({setting}={value!r}): give a whole number of at least 1"
            )


def require_choice(method: AbstractMethod, **possible: tuple[Any, ...]) -> None:
    """Raise a ``ValueError`` if a setting is not one of its possible values."""
    for setting, values in possible.items():
        if getattr(method, setting) not in values:
            raise ValueError(
                f"{type(method).__name__}({setting}={getattr(method, setting)!r}): give one of"
                f" {', '.join(map(repr, values))}"
            )


def require_noise(method: AbstractMethod, problem: Problem) -> None:
    """Raise a ``ValueError`` if all observations are exact, which leaves no
    uncertainty.
    """
    if all(g.exact for g in problem.groups):
        raise ValueError(
            f"{method.name}: all observations are exact, so there is no uncertainty; use pinn, or"
            " give observations their noise: Observed(..., noise=Gaussian(sd=...))"
        )


def require_mlp(name: str, problem: Problem) -> None:
    """Raise a ``ValueError`` if the problem's network is not a fully connected one."""
    if not isinstance(problem.recipe, MLP):
        raise ValueError(
            f"{name}: it leaves out hidden units of a fully connected network; give the problem"
            " network=MLP((50, 50))"
        )


def require_linear_gaussian(method: AbstractMethod, problem: Problem) -> None:
    """Raise a ``ValueError`` if errors are not Gaussian, or do not enter the data
    linearly.
    """
    for g in problem.groups:
        if not (g.exact or g.linear_gaussian):
            raise ValueError(
                f"{method.name}: it needs errors that are Gaussian and do not depend on the"
                f" solution, and those of '{g.name}' are {type(g.noise).__name__}; use efi-direct"
            )


def require_density(method: AbstractMethod, problem: Problem) -> None:
    """Raise a ``ValueError`` if some errors are not linear Gaussian and others are
    dependent, since their common density is then not known.
    """
    others = [g for g in problem.groups if not (g.exact or g.linear_gaussian)]
    for g in problem.groups:
        if others and g.linear_gaussian and not isinstance(g.noise, Gaussian):
            raise ValueError(
                f"{method.name}: the errors of '{others[0].name}' are not Gaussian, and then those"
                f" of '{g.name}' may not depend on each other; give '{g.name}' independent errors"
            )
