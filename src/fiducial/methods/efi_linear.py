"""The linearised fiducial distribution."""

from typing import ClassVar

from ..direct_answer import direct_answer, direct_bytes
from ..method import AbstractMethod, AbstractPhase, Answer, Outcome
from ..model import Data, Model
from ..phases.direct_draws import DirectDraws
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..problem import Problem

_BLOCK = 50


class EFILinear(AbstractMethod):
    """Fit once, then draw as if the model were linear around the fit.

    After the fit a draw costs one matrix product, and the answer is exact for a linear model: a
    quick first answer, and a cross-check for the other methods. On a curved model its
    intervals are too short on one side; the draws leave the equation a little.

    Arguments:
        draws: number of draws.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.
        chains: how many fits, each with its draws.

    Example:
        ``fiducial.fit(problem, fiducial.EFILinear(), seed=0).band()``
    """

    draws: int = 1000
    lm_steps: int = 1200
    chains: int = 1
    name: ClassVar[str] = "efi-linear"
    summary: ClassVar[str] = "one fit, then draws from its linearisation: instant, and right where the model is nearly linear"

    def __check_init__(self) -> None:
        for setting in ("draws", "lm_steps", "chains"):
            if getattr(self, setting) < 1:
                raise ValueError(f"EFILinear({setting}={getattr(self, setting)}): at least 1")

    def check(self, problem: Problem) -> None:
        if all(g.exact for g in problem.groups):
            raise ValueError("efi-linear: all observations are exact, so there is no uncertainty to draw; use pinn, or name the noise")

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), DirectDraws(-(-self.draws // _BLOCK), _BLOCK, linear=True)

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + direct_bytes(model, _BLOCK)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return direct_answer(model, outcome, self.draws)
