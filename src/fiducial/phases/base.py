"""What a phase is: one stretch of a run, that the driver steps through for all
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


Info = dict[str, Array]


Keep = Callable[[Model, Float[Array, " p"], Data], Any]
"""What is kept of the parameters of a draw: a function of model, parameters and
data.
"""


def keep_all(model: Model, theta: Float[Array, " p"], data: Data) -> dict[str, Any]:
    """Keep the parameters themselves and the errors that they impute, which is what
    a result is made of.
    """
    return {"theta": theta, "errors": model.errors(theta, data)}


class Drawn(NamedTuple):
    """Draws of one record of a phase.

    Attributes:
        theta: parameters drawn, of which a ``Keep`` function says what is recorded.
        extra: further numbers of each draw by name, recorded as they are.
    """

    theta: Float[Array, "block p"]
    extra: dict[str, Float[Array, "block *any"]]


class AbstractPhase(eqx.Module):
    """One stretch of a run, written for one chain on one data set.

    ``State`` is a pytree of arrays with what the next step needs, ``theta`` among it;
    ``Info`` is a dictionary of numbers that a person looks at.
    """

    name: eqx.AbstractClassVar[str]
    activity: ClassVar[str] = ""
    """What the phase does in a word or two for the progress line, such as "fitting";
    its name by default.
    """
    steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def init(self, model: Model, data: Data, previous: State | None, *, key: PRNGKeyArray) -> State:
        """The first state, from the last of the phase before (None for the first
        phase).
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
        """One step; ``progress`` runs from 0 to 1 over the phase."""

    def done(self, state: State) -> Bool[Array, ""]:
        """Whether this chain may stop before all steps are done."""
        del state
        return jnp.asarray(False)

    def enough(self, extra: dict[str, np.ndarray]) -> bool:
        """Whether the draws so far are enough; asked now and then on the host, for all
        chains and data sets at once.

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
        """Whether a step reads only what the start left in the state, so that steps may
        be taken at the same time.

        Such a phase has neither ``done`` nor ``enough``.
        """
        return False

    @property
    def effort(self) -> Effort:
        """How thoroughly to compile the steps: less where they are few, and mostly
        linear algebra.
        """
        return Effort.RUNS_OFTEN

    def draw(self, state: State) -> Drawn | None:
        """The draws that the state holds, or None for a phase without draws."""
        del state
        return None

    def view(self, model: Model, state: State) -> Model:
        """The model through which the draws of a state are to be read."""
        del state
        return model

    @property
    def record_every(self) -> int:
        """Steps between two records of info and draw."""
        return max(1, self.steps // 200)
