"""Adam with hidden units left out at random."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.dropout import divergence, hidden, kept_units, per_unit, softly_kept_units
from ..posing.groups import Group
from ..schedules import Schedule
from .base import AbstractPhase, Drawn, Info

_FIRST_RATE = 0.1
_SMALLEST_RATE = 1e-4


class TrainingState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        logits: the rates of the hidden layers, unconstrained.
        optimiser: Adam's moments.
        shown: parameters with units left out, as a draw along the way would have them.
    """

    theta: Float[Array, " p"]
    logits: Float[Array, " layers"]
    optimiser: Any
    shown: Float[Array, " p"]


class DropoutTraining(AbstractPhase):
    """Minimise the mean squared residuals of all groups, every observation with units
    of its own left out.

    Arguments:
        steps: number of steps.
        learning_rate: schedule over the phase.
        rate: share of hidden units that are left out; None to learn one for each layer
            (concrete dropout), 0 for none.
        length_scale: of the prior of the weights, for a learnt rate.
        plain: train a network that takes inputs and gives outputs in the user's units,
            as published code does.
        trajectory: record draws along the way.
        spare_first: leave out nothing of the first of several hidden layers, as
            published code does.
        dtype: float32 is enough here.

    Reference:
        Gal, Ghahramani (2016), Dropout as a Bayesian approximation, ICML; Gal, Hron,
        Kendall (2017), Concrete dropout, NeurIPS.
    """

    steps: int
    learning_rate: Schedule
    rate: float | None
    length_scale: float = 0.01
    plain: bool = False
    trajectory: bool = False
    spare_first: bool = False
    dtype: Any = jnp.float32
    name: ClassVar[str] = "train"
    activity: ClassVar[str] = "training with dropout"

    @property
    def record_every(self) -> int:
        return max(1, self.steps // 1000) if self.trajectory else max(1, self.steps // 200)

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> TrainingState:
        theta = (model.init(key) / (model.unit_factors if self.plain else 1.0)).astype(self.dtype)
        layers = len(hidden(model)) if self.rate != 0 else 0
        logits = jnp.full((layers,), jnp.log(_FIRST_RATE / (1 - _FIRST_RATE)), self.dtype)
        return TrainingState(theta, logits, optax.scale_by_adam().init((theta, logits)), theta)

    def rates(self, logits: Array) -> Array:
        """The rates of the hidden layers."""
        if self.rate is not None:
            first = np.arange(logits.size) == 0
            spared = first & (logits.size > 1) & self.spare_first
            return jnp.where(spared, 0.0, jnp.full(logits.shape, self.rate, self.dtype))
        return jnp.clip(jax.nn.sigmoid(logits), _SMALLEST_RATE, 0.5)

    def step(
        self, model: Model, data: Data, state: TrainingState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[TrainingState, Info]:
        data = {name: y.astype(self.dtype) for name, y in data.items()}
        unit = jnp.asarray(model.unit_factors if self.plain else 1.0, self.dtype)
        noisy = [g for g in model.groups if not g.exact]
        size = {g.name: 1.0 if self.plain else model.scales[g.name] for g in model.groups}

        def means(theta: Array, rates: Array, group: Group, key: PRNGKeyArray) -> Array:
            if self.rate == 0:
                return model.mean(theta, group)[group.index]
            choose = softly_kept_units if self.rate is None else kept_units
            return model.mean(
                theta,
                group,
                group.points,
                choose(per_unit(model, rates), (len(group.points),), key),
            )

        def loss(parameters: tuple[Array, Array]) -> tuple[Array, Info]:
            theta, logits = parameters
            rates, terms = self.rates(logits), {}
            for i, g in enumerate(model.groups):
                residual = means(theta, rates, g, jax.random.fold_in(key, i)) - data[g.name]
                terms[g.name] = jnp.mean((residual / size[g.name]) ** 2)
            total = jnp.sum(jnp.stack(list(terms.values())))
            if self.rate is None:
                # in units of the loss, of which the noisy data have so many squared
                # standard errors
                scale = max(model.scales[g.name] / size[g.name] for g in noisy) ** 2
                worth = model.precision(theta) ** 2 * sum(len(g.sites) for g in noisy) / scale
                total += (
                    2 / worth * divergence(model, theta * unit, rates, self.length_scale)
                ).astype(self.dtype)
            return total, {**terms, "loss": total}

        now = (state.theta, state.logits)
        gradient, info = jax.grad(loss, has_aux=True)(now)
        # Adam's steps are of one size for all parameters, those of the user's units
        # where the network is to be plain
        update, optimiser = optax.scale_by_adam().update(
            (gradient[0] / unit, gradient[1]), state.optimiser
        )
        rate = jnp.asarray(self.learning_rate(progress), self.dtype)
        theta, logits = state.theta - rate * update[0] / unit, state.logits - rate * update[1]
        shown = theta
        if self.trajectory and self.rate != 0:
            units = kept_units(
                per_unit(model, self.rates(logits)), (), jax.random.fold_in(key, len(model.groups))
            )
            shown = model.ansatz.scale_hidden_units(theta, units)
        for i in range(len(logits) if self.rate is None else 0):
            info[f"rate {i}"] = self.rates(logits)[i]
        return TrainingState(theta, logits, optimiser, shown), info

    def draw(self, state: TrainingState) -> Drawn | None:
        return Drawn(state.shown[None], {}) if self.trajectory else None
