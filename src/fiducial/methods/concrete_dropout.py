"""Concrete dropout, whose rate is learnt."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.dropout_passes import DropoutPasses
from ..phases.dropout_training import DropoutTraining
from ..posing.problem import Problem
from ..schedules import exponential
from . import _checks
from ._requirements import (
    require_choice,
    require_linear_gaussian,
    require_mlp,
    require_noise,
    require_positive,
)
from .base import AbstractMethod, Answer, Facts, Outcome


class ConcreteFacts(Facts):
    """Facts about concrete dropout.

    Attributes:
        rate: largest learnt rate.
        layer_rates: learnt rate of each hidden layer, (data set, layer), the mean over
            the chains.
    """

    rate: Any = None
    layer_rates: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset({"layer_rates"})


class ConcreteDropout(AbstractMethod):
    """Dropout with one rate for each hidden layer, learnt along with the weights
    through a continuous relaxation of the choice of units.

    The rate balances the misfit against the divergence from a prior of the weights, so
    there is still a choice to make: the length scale of that prior, in place of the
    rate.

    Arguments:
        draws: number of forward passes of each chain.
        train_steps: number of Adam steps.
        learning_rate: Adam's step size at the start; it falls to a hundredth of that.
        length_scale: one over the standard deviation of the weights' normal prior.
        chains: number of networks, trained from different starts.
        precision: ``"float32"`` or ``"float64"``, for the training.

    Reference:
        Gal, Hron, Kendall (2017), Concrete dropout, NeurIPS.

    Example:
        ``fiducial.fit(problem, fiducial.ConcreteDropout(), seed=0).band()``
    """

    draws: int = 1000
    train_steps: int = 20_000
    learning_rate: float = 3e-3
    length_scale: float = 0.01
    chains: int = 1
    precision: str = "float32"
    name: ClassVar[str] = "concrete-dropout"
    summary: ClassVar[str] = (
        "dropout with a learnt rate for each hidden layer; widths follow from the prior of the"
        " weights"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "train_steps", "chains")
        require_choice(self, precision=("float32", "float64"))
        if not self.length_scale > 0:
            raise ValueError(
                f"ConcreteDropout(length_scale={self.length_scale}): give a positive number, such"
                " as 0.01"
            )

    def check(self, problem: Problem) -> None:
        require_mlp(self.name, problem)
        require_noise(self, problem)
        require_linear_gaussian(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        training = self._training()
        return training, DropoutPasses(self.draws, training.rates)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        rates = np.asarray(outcome.state.rates, float).mean(axis=1)
        facts = ConcreteFacts(rate=rates.max(axis=1), layer_rates=rates)
        theta = np.asarray(outcome.state.theta[:, 0], float)
        return Answer(estimate=theta, draws=outcome.draws["draw"], facts=facts)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), _checks.dropout_rate(facts.rate)]

    def _training(self) -> DropoutTraining:
        rate = exponential(self.learning_rate, self.learning_rate / 100)
        return DropoutTraining(
            self.train_steps, rate, None, self.length_scale, dtype=jnp.dtype(self.precision)
        )
