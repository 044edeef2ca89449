"""Refits by Levenberg-Marquardt, as several methods use them."""

from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..phases.refits import Change, Refits

_MOST_STEPS = 200
"""Largest number of steps of one refit, which starts at the fit."""


def refits(count: int, change: Change, *, errors: bool = False) -> Refits:
    """The phase that fits ``count`` times with a change each time; see ``Refits``."""
    return Refits(count, change, LevenbergMarquardt(_MOST_STEPS, starts=1), errors)
