"""The physics-informed neural network: a point estimate."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from ..model.model import Data, Model
from ..phases.adam import Adam
from ..phases.base import AbstractPhase
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..schedules import exponential
from ..status import Status
from ._requirements import require_choice, require_positive
from .base import AbstractMethod, Answer, Outcome, last_losses


class PINN(AbstractMethod):
    """Fit one network to data and equation, by Adam and then by Levenberg-Marquardt.

    The estimate maximises the likelihood with the equation as a constraint. It comes
    without an interval.

    Arguments:
        adam_steps: number of Adam steps; 0 leaves them out.
        learning_rate: Adam's step size at the start; it falls to a tenth of that.
        lm_steps: largest number of Levenberg-Marquardt steps; 0 leaves them out.
        chains: number of networks, fitted from different starts; the best is the
            estimate.
        precision: ``"float32"`` or ``"float64"``, for Adam; Levenberg-Marquardt is
            always in float64.

    Reference:
        Raissi, Perdikaris, Karniadakis (2019), J. Comput. Phys. 378:686-707.

    Example:
        ``fiducial.fit(problem, fiducial.PINN(adam_steps=500), seed=0)``
    """

    adam_steps: int = 1000
    learning_rate: float = 1e-2
    lm_steps: int = 1200
    precision: str = "float32"
    chains: int = 1
    name: ClassVar[str] = "pinn"
    takes_padding: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "one network fitted to data and equation; a point estimate without intervals"
    )
    no_interval: ClassVar[str | None] = (
        "pinn is a point estimate: it does not say how far other errors in the data would have"
        " moved it; use efi-direct for intervals"
    )

    def __check_init__(self) -> None:
        if self.adam_steps < 0 or self.lm_steps < 0 or self.adam_steps + self.lm_steps == 0:
            raise ValueError(
                f"PINN(adam_steps={self.adam_steps}, lm_steps={self.lm_steps}): give at least one"
                " positive number of steps, and none below 0"
            )
        if not self.learning_rate > 0:
            raise ValueError(
                f"PINN(learning_rate={self.learning_rate}): give a positive step size, such as 0.01"
            )
        require_choice(self, precision=("float32", "float64"))
        require_positive(self, "chains")

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        del model
        adam = Adam(
            self.adam_steps,
            exponential(self.learning_rate, self.learning_rate / 10),
            dtype=jnp.dtype(self.precision),
        )
        phases: list[AbstractPhase] = [adam] if self.adam_steps else []
        return tuple(phases + ([LevenbergMarquardt(self.lm_steps)] if self.lm_steps else []))

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        """Return the estimate of the chain with the smallest final loss, of those that
        converged if there are any.
        """
        last = last_losses(next(reversed(outcome.trace.values())))
        best = np.lexsort((last, outcome.status != Status.CONVERGED), axis=1)[:, 0]
        return Answer(estimate=np.asarray(outcome.state.theta)[np.arange(len(best)), best])
