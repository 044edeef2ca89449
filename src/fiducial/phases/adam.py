"""Adam on the mean squared residuals of all groups."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..schedules import Schedule
from .base import AbstractPhase, Info


class AdamState(NamedTuple):
    """State between two steps.

    Attributes:
        theta: the parameters.
        optimiser: Adam's moments.
    """

    theta: Float[Array, " p"]
    optimiser: Any


class Adam(AbstractPhase):
    """Minimise the sum over groups of mean squared residuals, each group in units of
    its scale.

    This brings a fresh network near a solution at any noise level. Groups are not
    weighted by their noise, which would let precise data drown the equation; a
    least-squares phase does that afterwards. Noise sizes are not learnt here: they
    would follow an early misfit, and shrink with it.

    Arguments:
        steps: number of steps.
        learning_rate: schedule over the phase; inputs and outputs are scaled, so one
            schedule serves all problems.
        dtype: float32 is enough here.
    """

    steps: int
    learning_rate: Schedule
    dtype: Any
    name: ClassVar[str] = "adam"
    activity: ClassVar[str] = "training the network"

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> AdamState:
        theta = (
            model.init(key, self.dtype) if previous is None else previous.theta.astype(self.dtype)
        )
        return AdamState(theta, optax.scale_by_adam().init(theta))

    def step(
        self, model: Model, data: Data, state: AdamState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[AdamState, Info]:
        data = {name: y.astype(self.dtype) for name, y in data.items()}

        def loss(theta: Array) -> tuple[Array, Info]:
            terms = {}
            means = model.observed_means(theta)
            for g in model.groups:
                unit = jnp.asarray(model.scales[g.name], self.dtype)
                off = g.only_real((means[g.name] - data[g.name]) / unit)
                terms[g.name] = jnp.sum(off**2) / g.count
            return jnp.sum(jnp.stack(list(terms.values()))), terms

        (total, terms), gradient = jax.value_and_grad(loss, has_aux=True)(state.theta)
        update, optimiser = optax.scale_by_adam().update(gradient, state.optimiser)
        rate = jnp.asarray(self.learning_rate(progress), self.dtype)
        return AdamState(state.theta - rate * update, optimiser), {"loss": total, **terms}
