"""Adam with hidden units left out at random."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.dropout import (
    divergence,
    hidden_widths,
    kept_units,
    rate_per_unit,
    softly_kept_units,
)
from ..posing.groups import Group
from ..schedules import Schedule
from .base import AbstractPhase, Drawn, Info

_FIRST_RATE = 0.1
"""Rate at which learning starts, as in the published code of concrete dropout."""
_SMALLEST_RATE = 1e-4
"""Smallest learnt rate: the divergence needs its logarithm, in single precision."""
_LARGEST_RATE = 0.5
"""Largest learnt rate, where the entropy of a choice is largest."""
_TRAJECTORY_RECORDS = 1000
"""Draws that are recorded along the way, the number that other methods give."""
_LOSS_RECORDS = 200
"""Losses that are recorded otherwise."""


class TrainingState(NamedTuple):
    """State between two steps.

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
    """Minimise the sum over groups of mean squared residuals, with units left out anew
    at every point.

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
        records = _TRAJECTORY_RECORDS if self.trajectory else _LOSS_RECORDS
        return max(1, self.steps // records)

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> TrainingState:
        theta = (model.init(key) / (model.unit_factors if self.plain else 1.0)).astype(self.dtype)
        layers = len(hidden_widths(model)) if self.rate != 0 else 0
        logits = jnp.full((layers,), jnp.log(_FIRST_RATE / (1 - _FIRST_RATE)), self.dtype)
        optimiser = optax.scale_by_adam().init((theta, logits))
        return TrainingState(theta, logits, optimiser, shown=theta)

    def rates(self, logits: Array) -> Array:
        """Return the rates of the hidden layers."""
        if self.rate is not None:
            first = np.arange(logits.size) == 0
            spared = first & (logits.size > 1) & self.spare_first
            return jnp.where(spared, 0.0, jnp.full(logits.shape, self.rate, self.dtype))
        return jnp.clip(jax.nn.sigmoid(logits), _SMALLEST_RATE, _LARGEST_RATE)

    def step(
        self, model: Model, data: Data, state: TrainingState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[TrainingState, Info]:
        data = {name: y.astype(self.dtype) for name, y in data.items()}

        def loss(parameters: tuple[Array, Array]) -> tuple[Array, Info]:
            theta, logits = parameters
            return self._loss(model, data, theta, self.rates(logits), key)

        gradient, info = jax.grad(loss, has_aux=True)((state.theta, state.logits))
        # Adam's steps are of one size for all parameters, those of the user's units
        # where the network is to be plain
        unit = self._unit(model)
        update, optimiser = optax.scale_by_adam().update(
            (gradient[0] / unit, gradient[1]), state.optimiser
        )
        rate = jnp.asarray(self.learning_rate(progress), self.dtype)
        theta = state.theta - rate * update[0] / unit
        logits = state.logits - rate * update[1]
        shown = theta
        if self.trajectory and self.rate != 0:
            dropout_key = jax.random.fold_in(key, len(model.groups))
            units = kept_units(rate_per_unit(model, self.rates(logits)), (), dropout_key)
            shown = model.layers.scale_hidden_units(theta, units)
        if self.rate is None:
            info |= {f"rate {i}": self.rates(logits)[i] for i in range(len(logits))}
        return TrainingState(theta, logits, optimiser, shown), info

    def draw(self, state: TrainingState) -> Drawn | None:
        return Drawn(state.shown[None], {}) if self.trajectory else None

    def _unit(self, model: Model) -> Array:
        """Return the factors to parameters that act in the user's units."""
        return jnp.asarray(model.unit_factors if self.plain else 1.0, self.dtype)

    def _sizes(self, model: Model) -> dict[str, Array]:
        """Return for each group the unit in which its residuals are measured."""
        return {
            g.name: jnp.asarray(1.0 if self.plain else model.scales[g.name], self.dtype)
            for g in model.groups
        }

    def _means(
        self, model: Model, theta: Array, rates: Array, group: Group, key: PRNGKeyArray
    ) -> Array:
        """Return the means of a group's observations, with units left out."""
        if self.rate == 0:
            return model.mean(theta, group)[group.index]
        choose = softly_kept_units if self.rate is None else kept_units
        units = choose(rate_per_unit(model, rates), (len(group.points),), key)
        sites = {group.name: jnp.asarray(group.points.array, theta.dtype)}
        return model.layers.means_of_units(theta, sites, units)[group.name]

    def _loss(
        self, model: Model, data: Data, theta: Array, rates: Array, key: PRNGKeyArray
    ) -> tuple[Array, Info]:
        """Return the sum over groups of mean squared residuals, with the cost of learnt
        rates; and the terms by name.
        """
        sizes = self._sizes(model)
        terms = {}
        for i, g in enumerate(model.groups):
            means = self._means(model, theta, rates, g, jax.random.fold_in(key, i))
            terms[g.name] = jnp.mean(((means - data[g.name]) / sizes[g.name]) ** 2)
        total = jnp.sum(jnp.stack(list(terms.values())))
        if self.rate is None:
            total += self._cost_of_rates(model, theta, rates)
        return total, {**terms, "loss": total}

    def _cost_of_rates(self, model: Model, theta: Array, rates: Array) -> Array:
        """Return the divergence from the prior in units of the loss.

        Half the loss of the noisy data, times their number over their squared standard
        error, is their negative log-likelihood.
        """
        sizes = self._sizes(model)
        noisy = [g for g in model.groups if not g.exact]
        ratios = jnp.stack([model.scales[g.name] / sizes[g.name] for g in noisy])
        scale = jnp.max(ratios) ** 2
        worth = model.precision(theta) ** 2 * sum(len(g.sites) for g in noisy) / scale
        cost = divergence(model, theta * self._unit(model), rates, self.length_scale)
        return (2 / worth * cost).astype(self.dtype)
