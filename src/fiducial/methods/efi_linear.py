"""The linearised fiducial distribution."""

from typing import Any, ClassVar

from .. import limits
from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.direct_draws import BLOCK
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from . import _checks
from ._direct_answer import direct_answer, direct_bytes, draws_around_a_fit, judge_draws
from ._requirements import require_density, require_noise, require_positive
from .base import AbstractMethod, Answer, Outcome


class EFILinear(AbstractMethod):
    """Fit once, then draw as if the model were linear around the fit.

    After the fit a draw costs one matrix product, and the answer is exact for a linear
    model: a quick first answer, and a cross-check for the other methods. For a
    nonlinear model its intervals are too short on one side, and its draws do not quite
    solve the equation.

    Arguments:
        draws: number of draws of each chain.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.
        chains: number of fits, each with its own draws.

    Example:
        ``fiducial.fit(problem, fiducial.EFILinear(), seed=0).band()``
    """

    draws: int = 1000
    lm_steps: int = 1200
    chains: int = 1
    name: ClassVar[str] = "efi-linear"
    takes_padding: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "one fit, then draws from its linearisation: instant, and accurate where the model is"
        " nearly linear"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "lm_steps", "chains")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_density(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), draws_around_a_fit(model, self.draws, linear=True)

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + direct_bytes(model, BLOCK)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return direct_answer(model, outcome, self.draws)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        linear = _checks.linear_difference(
            limits.LINEAR_DIFFERENCE,
            facts.linear_difference,
            "the solution is not linear in the parameters over the range of the draws",
            "use efi-direct",
        )
        return [*super().judge(facts, model), *judge_draws(facts), linear]
