"""Direct fiducial sampling."""

from typing import ClassVar

from ..direct_answer import direct_answer, direct_bytes
from ..method import AbstractMethod, AbstractPhase, Answer, Outcome
from ..model import Data, Model
from ..phases.direct_draws import DirectDraws
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..problem import Problem

_BLOCK = 50


class EFIDirect(AbstractMethod):
    """Fit once, then solve the data-generating equations for fresh errors, a thousand times.

    The draws are independent and follow the extended fiducial distribution: no priors, no tuning.
    Widths come from the errors alone.

    Arguments:
        draws: number of draws.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.

    Reference:
        Extended fiducial inference for PINNs (the paper cited in the README), with the sampler of
        Bardsley et al. (2014).

    Example:
        ``fiducial.fit(problem, fiducial.EFIDirect(), seed=0).band()``
    """

    draws: int = 1000
    lm_steps: int = 1200
    chains: int = 1
    name: ClassVar[str] = "efi-direct"
    summary: ClassVar[str] = "one fit, then the equations solved for fresh errors: independent fiducial draws in seconds"

    def __check_init__(self) -> None:
        for setting in ("draws", "lm_steps", "chains"):
            if getattr(self, setting) < 1:
                raise ValueError(f"EFIDirect({setting}={getattr(self, setting)}): at least 1")

    def check(self, problem: Problem) -> None:
        if all(g.exact for g in problem.groups):
            raise ValueError("efi-direct: all observations are exact, so there is no uncertainty to draw; use pinn, or name the noise")

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), DirectDraws(-(-self.draws // _BLOCK), _BLOCK)

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + direct_bytes(model, _BLOCK)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return direct_answer(model, outcome, self.draws)
