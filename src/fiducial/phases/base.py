"""The contract of a phase: one stretch of a run, which the driver steps through for all
chains and data sets.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..device import Effort
from ..model.model import Data, Model

State = Any
"""A pytree of arrays that the next step of a phase needs, with the parameters as
``theta``.
"""

Info = dict[str, Array]
"""Numbers by name that a step reports to people and to checks."""

Keep = Callable[[Model, Float[Array, " p"], Data], Any]
"""A function of model, parameters of a draw and data that says what is recorded of the
draw.
"""


def keep_all(model: Model, theta: Float[Array, " p"], data: Data) -> dict[str, Any]:
    """Return the parameters themselves and the errors that they impute, which is all
    that a result needs of a draw.
    """
    return {"theta": theta, "errors": model.errors(theta, data)}


class Drawn(NamedTuple):
    """Draws of one record of a phase.

    Attributes:
        theta: parameters of the draws; a ``Keep`` function says what of them is
            recorded.
        extra: further numbers of each draw by name, recorded as they are.
    """

    theta: Float[Array, "block p"]
    extra: dict[str, Float[Array, "block *any"]]


class AbstractPhase(eqx.Module):
    """One stretch of a run, written for one chain on one data set.

    Attributes:
        name: key of its records.
        activity: the phase in a word or two for the progress line, such as "fitting";
            its name by default.
        steps: largest number of steps.
    """

    name: eqx.AbstractClassVar[str]
    activity: ClassVar[str] = ""
    steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def init(self, model: Model, data: Data, previous: State | None, *, key: PRNGKeyArray) -> State:
        """Return the first state, from the last one of the phase before (None for the
        first phase).
        """

    @abc.abstractmethod
    def step(
        self,
        model: Model,
        data: Data,
        state: State,
        progress: Float[Array, ""],
        *,
        key: PRNGKeyArray,
    ) -> tuple[State, Info]:
        """Return the next state, and numbers to report.

        Arguments:
            model: the problem made computable.
            data: observed values.
            state: the state so far.
            progress: share of the phase that is done, from 0 to 1.
            key: random key of this step.
        """

    def done(self, state: State) -> Bool[Array, ""]:
        """Return whether this chain has converged; it then takes no further steps."""
        del state
        return jnp.asarray(False)

    def enough(self, extra: dict[str, np.ndarray]) -> bool:
        """Return whether the draws so far are enough; asked now and then on the host,
        for all chains and data sets at once.

        Arguments:
            extra: the further numbers of all draws so far, with axes (data set, chain,
                draw) in front.
        """
        del extra
        return False

    @property
    def may_end_early(self) -> bool:
        """Whether the phase can end before all its steps are done."""
        own = type(self)
        return own.done is not AbstractPhase.done or own.enough is not AbstractPhase.enough

    @property
    def must_settle(self) -> bool:
        """Whether running out of steps before ``done`` is worth a warning."""
        return False

    @property
    def independent(self) -> bool:
        """Whether a step reads only those parts of the state that no step changes, so
        that steps may be taken at the same time.

        Such a phase has neither ``done`` nor ``enough``.
        """
        return False

    @property
    def effort(self) -> Effort:
        """Effort of compiling a step: less where steps are few, and mostly linear
        algebra.
        """
        return Effort.RUNS_OFTEN

    def draw(self, state: State) -> Drawn | None:
        """Return the draws that the state holds, or None for a phase without draws."""
        del state
        return None

    def view(self, model: Model, state: State) -> Model:
        """Return the model with which the draws of a state are to be read."""
        del state
        return model

    @property
    def record_every(self) -> int:
        """Steps between two records of info and draw."""
        return max(1, self.steps // 200)


class AbstractCostlyPhase(AbstractPhase):
    """A phase of at most some hundred steps of linear algebra: each is recorded, and
    they are compiled with less effort.
    """

    @property
    def record_every(self) -> int:
        return 1

    @property
    def effort(self) -> Effort:
        return Effort.RUNS_SELDOM
