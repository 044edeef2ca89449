"""Refits by Levenberg-Marquardt, which several methods use."""

from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..phases.refits import Change, Refits

_MOST_STEPS = 200
"""Largest number of steps of one refit, which starts at the fit."""


def refits(count: int, change: Change, *, errors: bool = False) -> Refits:
    """Return a phase of ``count`` refits, each with a change of its own; see ``Refits``."""
    return Refits(count, change, LevenbergMarquardt(_MOST_STEPS, starts=1), errors)
