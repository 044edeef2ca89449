"""Monte-Carlo dropout as the paper runs it."""

from typing import Any, ClassVar

from ..checks import Check
from ..methods._requirements import require_mlp, require_positive
from ..methods.base import AbstractMethod, Answer, Outcome
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.dropout_training import DropoutTraining
from ..posing.problem import Problem
from ..schedules import parse
from ._trajectory import no_interval, trajectory_answer


class PaperDropout(AbstractMethod):
    """Dropout with a constant step size and draws along the training.

    As in the paper's published code, no units are left out in the first of several
    hidden layers.

    Arguments:
        chains: number of networks.
        steps: number of Adam steps.
        burn_in: share of the steps whose draws are left out.
        learning_rate: schedule of Adam's step size.
        rate: share of hidden units that are left out.

    Reference:
        The paper cited in the README, its tables of settings.

    Example:
        ``fiducial.paper.dropout("poisson", rate=0.01)``
    """

    chains: int
    steps: int
    burn_in: float
    learning_rate: float | str
    rate: float = 0.05
    name: ClassVar[str] = "paper-dropout"
    summary: ClassVar[str] = "the paper's dropout, with draws along the training"

    def __check_init__(self) -> None:
        require_positive(self, "steps", "chains")
        if not 0 < self.rate < 1:
            raise ValueError(
                f"PaperDropout(rate={self.rate}): give a share between 0 and 1, such as 0.05"
            )

    def check(self, problem: Problem) -> None:
        require_mlp(self.name, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        training = DropoutTraining(
            self.steps,
            parse(self.learning_rate),
            self.rate,
            plain=True,
            trajectory=True,
            spare_first=True,
        )
        return (training,)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return trajectory_answer(outcome, self.burn_in)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), no_interval()]
