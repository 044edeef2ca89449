"""The paper's physics-informed neural network, with its percentiles."""

from typing import Any, ClassVar

import jax.numpy as jnp

from ..checks import Check
from ..methods._requirements import require_choice, require_positive
from ..methods.base import AbstractMethod, Answer, Outcome
from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.dropout_training import DropoutTraining
from ..schedules import parse
from ._trajectory import no_interval, trajectory_answer


class PaperPINN(AbstractMethod):
    """A network in the user's units trained by Adam at a constant step size; the limits
    are percentiles over its training trajectory.

    This is how the paper's rows "PINN (no dropout)" came to have a width. Such
    percentiles say how much Adam fluctuates, and nothing about errors of the data: the
    diagnosis always says "do not trust". For a point estimate use ``pinn``.

    Arguments:
        chains: number of networks.
        steps: number of Adam steps.
        burn_in: share of the steps whose draws are left out.
        learning_rate: schedule of Adam's step size.
        precision: ``"float32"`` or ``"float64"``.

    Reference:
        The paper cited in the README, its tables of settings.

    Example:
        ``fiducial.paper.pinn("poisson")``
    """

    chains: int
    steps: int
    burn_in: float
    learning_rate: float | str
    precision: str = "float32"
    name: ClassVar[str] = "paper-pinn"
    summary: ClassVar[str] = (
        "the paper's PINN with percentiles over its training trajectory, which are not intervals;"
        " for its tables only"
    )

    def __check_init__(self) -> None:
        require_positive(self, "steps", "chains")
        require_choice(self, precision=("float32", "float64"))

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        training = DropoutTraining(
            self.steps,
            parse(self.learning_rate),
            rate=0.0,
            plain=True,
            trajectory=True,
            dtype=jnp.dtype(self.precision),
        )
        return (training,)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return trajectory_answer(outcome, self.burn_in)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), no_interval()]
