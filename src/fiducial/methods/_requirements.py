"""What several methods require of their settings and of a problem."""

from typing import Any

import numpy as np

from ..posing.networks import MLP
from ..posing.problem import Problem
from .base import AbstractMethod


def require_positive(method: AbstractMethod, *settings: str) -> None:
    """Raise a ``ValueError`` if one of the settings, a number of something, is not
    positive.
    """
    for setting in settings:
        value = getattr(method, setting)
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(
                f"{type(method).__name__}({setting}={value!r}): give a whole number of at least 1"
            )


def require_choice(method: AbstractMethod, **possible: tuple[Any, ...]) -> None:
    """Raise a ``ValueError`` if a setting is none of its possible values."""
    for setting, values in possible.items():
        if getattr(method, setting) not in values:
            raise ValueError(
                f"{type(method).__name__}({setting}={getattr(method, setting)!r}): give one of"
                f" {', '.join(map(repr, values))}"
            )


def require_noise(method: AbstractMethod, problem: Problem) -> None:
    """Raise a ``ValueError`` if all observations are exact, so that there is nothing
    to draw.
    """
    if all(g.exact for g in problem.groups):
        raise ValueError(
            f"{method.name}: all observations are exact, so there is no uncertainty to draw; use"
            " pinn, or name the noise"
        )


def require_mlp(name: str, problem: Problem) -> None:
    """Raise a ``ValueError`` if the problem's network has no hidden units that are
    known to be such.
    """
    if not isinstance(problem.recipe, MLP):
        raise ValueError(
            f"{name}: dropout leaves out hidden units of a fully connected network; give the"
            " problem network=MLP(...)"
        )
