"""Repeated fits to data or models that differ a little."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..model.model import Data, Model
from .base import AbstractPhase, Drawn, Info

Change = Callable[[Model, Data, Float[Array, " p"], Array, PRNGKeyArray], tuple[Model, Data]]
"""Makes the model and data of a refit from model and data, the fit, and the refit's
number.
"""


class RefitState(NamedTuple):
    """What the next step needs, and the last refit.

    Attributes:
        fit: the fit that every refit starts from.
        theta: parameters of the last refit, those of the fit where it diverged.
        settled: whether the last refit has converged.
        errors: standardised errors of all observations by the last refit, where they
            are recorded.
    """

    fit: Float[Array, " p"]
    theta: Float[Array, " p"]
    settled: Bool[Array, ""]
    errors: dict[str, Array]


class Refits(AbstractPhase):
    """Fit again and again: each step is a whole fit by another phase, which starts from
    the fit of the phase before.

    Arguments:
        steps: number of refits.
        change: what is different in each.
        inner: the phase that fits.
        errors: record the standardised errors of all observations by each refit, and
            its parameters.
    """

    steps: int
    change: Change
    inner: AbstractPhase
    errors: bool = False
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "refitting"

    @property
    def record_every(self) -> int:
        return 1

    @property
    def independent(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> RefitState:
        return RefitState(
            fit=previous.theta,
            theta=previous.theta,
            settled=jnp.asarray(True),
            errors=self._recorded_errors(model, data, previous.theta),
        )

    def _recorded_errors(self, model: Model, data: Data, theta: Array) -> dict[str, Array]:
        return model.errors(theta, data) if self.errors else {}

    def step(
        self, model: Model, data: Data, state: RefitState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[RefitState, Info]:
        number = jnp.round(progress * self.steps).astype(int)
        changed = self.change(model, data, state.fit, number, jax.random.fold_in(key, 1))
        last, steps = self._fit(*changed, state, key)
        finite = jnp.all(jnp.isfinite(last.theta))
        theta = jnp.where(finite, last.theta, state.fit)
        new = RefitState(
            fit=state.fit,
            theta=theta,
            settled=self.inner.done(last) & finite,
            errors=self._recorded_errors(model, data, theta),
        )
        return new, {"refit steps": steps.astype(float)}

    def _fit(
        self, model: Model, data: Data, state: RefitState, key: PRNGKeyArray
    ) -> tuple[Any, Array]:
        """Run the inner phase until it is done; return its last state and the number of
        steps.
        """
        inner = self.inner

        def goes_on(carry: tuple[Any, Array]) -> Array:
            now, steps = carry
            return (steps < inner.steps) & ~inner.done(now)

        def step(carry: tuple[Any, Array]) -> tuple[Any, Array]:
            now, steps = carry
            own_key = jax.random.fold_in(key, steps + 2)
            new, _ = inner.step(model, data, now, steps / inner.steps, key=own_key)
            return new, steps + 1

        begin = inner.init(model, data, state._replace(theta=state.fit), key=key)
        return jax.lax.while_loop(goes_on, step, (begin, jnp.asarray(0)))

    def draw(self, state: RefitState) -> Drawn:
        extra = {"settled": state.settled[None]}
        if self.errors:
            extra |= {f"errors {name}": z[None] for name, z in state.errors.items()}
            extra["theta"] = state.theta[None]
        return Drawn(state.theta[None], extra)


def simulated_data(
    model: Model, data: Data, fit: Float[Array, " p"], number: Array, key: PRNGKeyArray
) -> tuple[Model, Data]:
    """Simulate data from the fit, with errors of the size that is known or was
    estimated.
    """
    del number
    noise = model.noise(fit)
    means = model.observed_means(fit)
    simulated = dict(data)
    for i, g in enumerate(model.groups):
        if g.noise is not None:
            z = jax.random.normal(jax.random.fold_in(key, i), (g.size,), fit.dtype)
            simulated[g.name] = g.noise.push(means[g.name], z, g.points, noise[g.name])
    return model, simulated
