"""The paper's physics-informed neural network, with its percentiles."""

from typing import Any, ClassVar

import jax.numpy as jnp

from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.dropout_training import DropoutTraining
from ..posing.problem import Problem
from ..schedules import parse
from ._checks import trajectory
from ._requirements import require_choice, require_paper, require_positive
from ._trajectory_answer import trajectory_answer
from .base import AbstractMethod, Answer, Outcome


class PaperPINN(AbstractMethod):
    """Train a plain network by Adam at a constant step size, with percentiles over the
    training trajectory as limits.

    The paper's rows "PINN (no dropout)" have their widths from such percentiles. They
    show how much Adam fluctuates, and nothing about errors of the data, so the
    diagnosis always says "do not trust". For a point estimate use ``pinn``.

    Arguments:
        train_steps: number of steps; None for the paper's.
        chains: number of networks.
        precision: ``"float32"`` or ``"float64"``.

    Reference:
        The paper cited in the README, its tables of settings.

    Example:
        ``fiducial.fit(fiducial.problem("poisson"), fiducial.PaperPINN(), seed=0)``
    """

    train_steps: int | None = None
    chains: int = 1
    precision: str = "float32"
    preset: ClassVar[str] = "paper"
    name: ClassVar[str] = "pinn-paper"
    summary: ClassVar[str] = (
        "the paper's PINN with percentiles over its training trajectory, which are not intervals;"
        " for its tables only"
    )

    def __check_init__(self) -> None:
        require_choice(self, precision=("float32", "float64"))
        require_positive(self, "chains", *(["train_steps"] if self.train_steps is not None else []))

    def check(self, problem: Problem) -> None:
        require_paper(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        table = model.problem.paper[self.name]
        steps = self.train_steps or table["steps"]
        return (
            DropoutTraining(
                steps,
                parse(table["learning_rate"]),
                0.0,
                plain=True,
                trajectory=True,
                dtype=jnp.dtype(self.precision),
            ),
        )

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return trajectory_answer(outcome, model.problem.paper[self.name]["burn_in"])

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), trajectory()]
