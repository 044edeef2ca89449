"""Dropout with learnt rates as the paper runs it."""

from typing import Any, ClassVar

import numpy as np

from ..checks import Check
from ..methods._requirements import require_mlp, require_noise, require_positive
from ..methods.base import AbstractMethod, Answer, Outcome
from ..methods.concrete_dropout import ConcreteFacts
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.dropout_training import DropoutTraining
from ..posing.problem import Problem
from ..schedules import parse
from ._trajectory import no_interval, trajectory_answer


class PaperConcreteDropout(AbstractMethod):
    """Dropout with a learnt rate for each hidden layer, a constant step size and draws
    along the training.

    Arguments:
        chains: number of networks.
        steps: number of Adam steps.
        burn_in: share of the steps whose draws are left out.
        learning_rate: schedule of Adam's step size.
        length_scale: weights have a normal prior with a standard deviation of one over
            this; the paper does not state its own.

    Reference:
        Gal, Hron, Kendall (2017), Concrete dropout, NeurIPS; the paper cited in the
        README, its tables of settings.

    Example:
        ``fiducial.paper.concrete_dropout("poisson")``
    """

    chains: int
    steps: int
    burn_in: float
    learning_rate: float | str
    length_scale: float = 0.01
    name: ClassVar[str] = "paper-concrete-dropout"
    summary: ClassVar[str] = "the paper's dropout with learnt rates, with draws along the training"

    def __check_init__(self) -> None:
        require_positive(self, "steps", "chains")
        if not self.length_scale > 0:
            raise ValueError(
                f"PaperConcreteDropout(length_scale={self.length_scale}): give a positive number"
            )

    def check(self, problem: Problem) -> None:
        require_mlp(self.name, problem)
        require_noise(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return (self._training,)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        rates = np.asarray(self._training.rates(outcome.state.logits), float).mean(axis=1)
        facts = ConcreteFacts(rate=rates.max(axis=1), layer_rates=rates)
        return trajectory_answer(outcome, self.burn_in)._replace(facts=facts)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), no_interval()]

    @property
    def _training(self) -> DropoutTraining:
        return DropoutTraining(
            self.steps,
            parse(self.learning_rate),
            rate=None,
            length_scale=self.length_scale,
            plain=True,
            trajectory=True,
        )
