"""Direct fiducial sampling."""

from typing import Any, ClassVar

from .. import limits
from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.direct_draws import BLOCK
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from . import _checks
from ._direct_answer import (
    DirectFacts,
    direct_answer,
    direct_bytes,
    draws_around_a_fit,
    judge_draws,
)
from ._requirements import require_density, require_noise, require_positive
from .base import AbstractMethod, Answer, Outcome


class EFIDirect(AbstractMethod):
    """Fit once, then solve the data-generating equations for fresh errors, once for
    each draw.

    The draws are independent and follow the extended fiducial distribution, without
    priors or tuning. Widths come from the errors alone.

    Arguments:
        draws: number of draws of each chain.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.
        chains: number of fits, each with its own draws.

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
    takes_padding: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "one fit, then the equations solved for fresh errors: independent fiducial draws in seconds"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "lm_steps", "chains")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_density(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), draws_around_a_fit(model, self.draws)

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + direct_bytes(model, BLOCK)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return direct_answer(model, outcome, self.draws)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), *judge_draws(facts), _check_of_linearity(facts)]


def _check_of_linearity(facts: DirectFacts) -> Check:
    """Check the distance from the linear model, which weights allow to be larger."""
    if facts.weighted:
        return _checks.linear_difference(
            limits.WEIGHTED_DIFFERENCE,
            facts.linear_difference,
            "the model is strongly nonlinear over the range of the draws, so their weights are"
            " uneven",
            "compare with efi-gn (--against efi-gn)",
        )
    return _checks.linear_difference(
        limits.UNWEIGHTED_DIFFERENCE,
        facts.linear_difference,
        "the model is nonlinear, and the data inform too many directions for weights to correct it",
        "treat the limits as approximate",
    )
