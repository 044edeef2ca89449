"""Direct fiducial sampling."""

from typing import Any, ClassVar

from .. import limits
from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.direct_draws import BLOCK, DirectDraws
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ._direct_answer import (
    LINEAR_DIFFERENCE,
    DirectFacts,
    direct_answer,
    direct_bytes,
    judge_draws,
)
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

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), *judge_draws(facts), _linear(facts)]


def _linear(facts: DirectFacts) -> Check:
    """Compare with the linear model: weighted draws may differ from it, others must not."""
    if facts.weighted:
        return limits.WEIGHTED_DIFFERENCE.check(
            LINEAR_DIFFERENCE,
            facts.linear_difference,
            "the model is strongly nonlinear within its uncertainty, and the linearisation poor",
            "compare with efi-gn",
        )
    return limits.UNWEIGHTED_DIFFERENCE.check(
        LINEAR_DIFFERENCE,
        facts.linear_difference,
        "the model is nonlinear, and the data inform too many directions to correct for that",
        "treat the limits as approximate",
    )
