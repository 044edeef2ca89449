"""The same fit many times over, to data or models that differ a little."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..model.model import Data, Model
from .base import AbstractPhase, Drawn, Info

Change = Callable[[Model, Data, Float[Array, " p"], Array, PRNGKeyArray], tuple[Model, Data]]
"""Makes the model and data of a refit from those at hand, the fit, and the refit's
number.
"""


class RefitState(NamedTuple):
    """The fit, the present refit, whether that has settled, and the errors of all
    observations by it.
    """

    fit: Float[Array, " p"]
    theta: Float[Array, " p"]
    settled: Bool[Array, ""]
    errors: dict[str, Array]


class Refits(AbstractPhase):
    """Each step is a whole fit by another phase, which starts from the fit of the phase
    before.

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
            previous.theta,
            previous.theta,
            jnp.asarray(True),
            self._seen(model, data, previous.theta),
        )

    def _seen(self, model: Model, data: Data, theta: Array) -> dict[str, Array]:
        return model.errors(theta, data) if self.errors else {}

    def step(
        self, model: Model, data: Data, state: RefitState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[RefitState, Info]:
        number = jnp.round(progress * self.steps).astype(int)
        other, seen = self.change(model, data, state.fit, number, jax.random.fold_in(key, 1))
        inner = self.inner

        def more(carry: Any) -> Array:
            now, steps = carry
            return (steps < inner.steps) & ~inner.done(now)

        def go(carry: Any) -> Any:
            now, steps = carry
            new, _ = inner.step(
                other, seen, now, steps / inner.steps, key=jax.random.fold_in(key, steps + 2)
            )
            return new, steps + 1

        begun = inner.init(other, seen, state._replace(theta=state.fit), key=key)
        last, steps = jax.lax.while_loop(more, go, (begun, jnp.asarray(0)))
        finite = jnp.all(jnp.isfinite(last.theta))
        settled = inner.done(last) & finite
        theta = jnp.where(finite, last.theta, state.fit)
        return RefitState(state.fit, theta, settled, self._seen(model, data, theta)), {
            "refit steps": steps.astype(float)
        }

    def draw(self, state: RefitState) -> Drawn:
        extra = {f"errors {name}": z[None] for name, z in state.errors.items()} | (
            {"theta": state.theta[None]} if self.errors else {}
        )
        return Drawn(state.theta[None], {**extra, "settled": state.settled[None]})


def simulated_data(
    model: Model, data: Data, fit: Float[Array, " p"], number: Array, key: PRNGKeyArray
) -> tuple[Model, Data]:
    """Data simulated from the fit, with errors of the size that is known or was
    found.
    """
    del number
    noise, seen = model.noise(fit), dict(data)
    for i, g in enumerate(model.groups):
        if g.noise is not None:
            z = jax.random.normal(jax.random.fold_in(key, i), (g.y.size,), fit.dtype)
            seen[g.name] = g.noise.push(model.mean(fit, g)[g.index], z, g.points, noise[g.name])
    return model, seen
