"""Monte-Carlo dropout."""

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
from ._requirements import require_choice, require_mlp, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome


class DropoutFacts(Facts):
    """Facts about dropout.

    Attributes:
        rate: share of hidden units that are left out.
    """

    rate: Any = None


class Dropout(AbstractMethod):
    """Train a network with hidden units left out at random, and take forward passes with
    other units left out as draws.

    The band is as wide as the passes differ. That follows from the rate, which the data
    do not determine.

    Arguments:
        rate: share of hidden units that are left out.
        draws: number of forward passes of each chain.
        train_steps: number of Adam steps.
        learning_rate: Adam's step size at the start; it falls to a hundredth of that.
        chains: number of networks, trained from different starts.
        precision: ``"float32"`` or ``"float64"``, for the training.

    Reference:
        Gal, Ghahramani (2016), Dropout as a Bayesian approximation, ICML; for PINNs
        Zhang et al. (2019), J. Comput. Phys. 397.

    Example:
        ``fiducial.fit(problem, fiducial.Dropout(rate=0.01), seed=0).band()``
    """

    rate: float = 0.05
    draws: int = 1000
    train_steps: int = 20_000
    learning_rate: float = 3e-3
    chains: int = 1
    precision: str = "float32"
    name: ClassVar[str] = "dropout"
    summary: ClassVar[str] = (
        "a network with hidden units left out at random, in training and in forward passes after"
        " it; widths follow from the rate"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "train_steps", "chains")
        require_choice(self, precision=("float32", "float64"))
        if not 0 < self.rate < 1:
            raise ValueError(
                f"Dropout(rate={self.rate}): give a share between 0 and 1, such as 0.05; without"
                " dropout use pinn"
            )

    def check(self, problem: Problem) -> None:
        require_mlp(self.name, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        training = DropoutTraining(
            self.train_steps,
            exponential(self.learning_rate, self.learning_rate / 100),
            self.rate,
            dtype=jnp.dtype(self.precision),
        )
        return training, DropoutPasses(self.draws, training.rates)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        theta = np.asarray(outcome.state.theta[:, 0], float)
        return Answer(
            estimate=theta,
            draws=outcome.draws["draw"],
            facts=DropoutFacts(rate=np.full(len(theta), self.rate)),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), _checks.dropout_rate(facts.rate)]
