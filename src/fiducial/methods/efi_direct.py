"""Direct fiducial sampling."""

from typing import ClassVar

from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.direct_draws import BLOCK, DirectDraws
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ._direct_answer import direct_answer, direct_bytes
from ._requirements import require_noise, require_positive
from .base import AbstractMethod, Answer, Outcome


class EFIDirect(AbstractMethod):
    """Fit once, then solve the data-generating equations for fresh errors, a thousand
    times.

    The draws are independent and follow the extended fiducial distribution: no priors,
    no tuning. Widths come from the errors alone.

    Arguments:
        draws: number of draws.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.

    Reference:
        Extended fiducial inference for PINNs (the paper cited in the README), with the
        sampler of Bardsley et al. (2014).

    Example:
        ``fiducial.fit(problem, fiducial.EFIDirect(), seed=0).band()``
    """

    draws: int = 1000
    lm_steps: int = 1200
    chains: int = 1
    name: ClassVar[str] = "efi-direct"
    summary: ClassVar[str] = (
        "one fit, then the equations solved for fresh errors: independent fiducial draws in seconds"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "lm_steps", "chains")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), DirectDraws(-(-self.draws // BLOCK))

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + direct_bytes(model, BLOCK)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return direct_answer(model, outcome, self.draws)
