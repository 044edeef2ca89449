"""The first moves of a Hamiltonian chain, which set its step size and mass."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.hamiltonian import HamiltonianState, Mover
from ..schedules import Schedule
from .base import AbstractPhase, Info

_FIRST_STEP = 1e-2
_TARGET = 0.8
"""Acceptance rate that step sizes are adapted to."""


class WarmUp(AbstractPhase):
    """Windows of growing length, as in Stan: the step size follows the acceptance rate,
    the mass the variances of the last window.

    With schedules nothing is adapted: step size and the size of the equation's errors
    follow them.

    Arguments:
        steps: number of moves.
        mover: how the chain moves.
        step_size: schedule of the step size; None to adapt it, and the mass.
        sigma_f: schedule of the size of the equation's errors, given or measured; None
            for that of the posterior.
        from_prior: where there is no phase before, start from a draw of the prior
            instead of a fresh network.
    """

    steps: int
    mover: Mover
    step_size: Schedule | None = None
    sigma_f: Schedule | None = None
    from_prior: bool = False
    name: ClassVar[str] = "warm-up"
    activity: ClassVar[str] = "tuning the sampler"

    def init(
        self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray
    ) -> HamiltonianState:
        mover, dtype = self.mover, self.mover.dtype
        theta = (model.init(key) if previous is None else previous.theta).astype(jnp.float64)
        if previous is None and self.from_prior:
            theta = mover.posterior.theta(jax.random.normal(key, theta.shape, theta.dtype))
        weights = {
            name: w.astype(dtype)
            for name, w in self._weights(model, theta, jnp.asarray(0.0)).items()
        }
        q = mover.posterior.q(theta).astype(dtype)
        mass, first = (
            jnp.ones(q.size, dtype),
            jnp.asarray(
                _FIRST_STEP if self.step_size is None else self.step_size(jnp.asarray(0.0)), dtype
            ),
        )
        chain = mover.begin(q, data, weights)
        zero = jnp.zeros((), dtype)
        return HamiltonianState(
            mover.posterior.theta(q),
            chain,
            weights,
            first,
            mass,
            self._first_adaptation(q, first),
            zero,
            zero,
        )

    def _weights(self, model: Model, theta: Array, progress: Array) -> dict[str, Array]:
        if self.sigma_f is None:
            return self.mover.posterior.weights(theta)
        size = jnp.asarray(self.sigma_f(progress))
        exact = {g.name: model.scales[g.name] / size for g in model.groups if g.exact}
        return exact | {
            name: sd / size for name, sd in self.mover.posterior.measured_physics.items()
        }

    def step(
        self,
        model: Model,
        data: Data,
        state: HamiltonianState,
        progress: Array,
        *,
        key: PRNGKeyArray,
    ) -> tuple[HamiltonianState, Info]:
        dtype = self.mover.dtype
        if self.sigma_f is not None:
            weights = {
                name: w.astype(dtype)
                for name, w in self._weights(model, state.theta, progress).items()
            }
            state = state._replace(
                weights=weights, chain=self.mover.begin(state.chain.position, data, weights)
            )
        if self.step_size is not None:
            state = state._replace(step_size=jnp.asarray(self.step_size(progress), dtype))
        state = self.mover.move(state, data, key)
        if self.step_size is None:
            state = self._adapt(state, jnp.round(progress * self.steps).astype(int))
        return state, {
            "acceptance": state.accepted,
            "divergent": state.diverged,
            "step size": state.step_size,
        }

    def _first_adaptation(self, q: Array, first: Array) -> Any:
        if self.step_size is not None:
            return ()
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        found = (
            dual_averaging_adaptation(_TARGET)[0](first),
            mass_matrix_adaptation(True)[0](q.size),
        )
        return jax.tree.map(
            lambda v: (
                jnp.asarray(v, self.mover.dtype)
                if jnp.issubdtype(jnp.asarray(v).dtype, jnp.floating)
                else jnp.asarray(v)
            ),
            found,
        )

    def _adapt(self, state: HamiltonianState, step: Array) -> HamiltonianState:
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.adaptation.window_adaptation import build_schedule

        slow, ends = (column.astype(bool) for column in jnp.asarray(build_schedule(self.steps)).T)
        begin, follow, average = dual_averaging_adaptation(_TARGET)
        _, gather, conclude = mass_matrix_adaptation(True)
        sizes, moments = state.adaptation
        sizes = follow(sizes, state.accepted)
        here = slow[jnp.minimum(step, self.steps - 1)]
        moments = jax.tree.map(
            lambda a, b: jnp.where(here, a, b), gather(moments, state.chain.position), moments
        )
        end = ends[jnp.minimum(step, self.steps - 1)]
        concluded = conclude(moments)
        moments = jax.tree.map(lambda a, b: jnp.where(end, a, b), concluded, moments)
        sizes = jax.tree.map(lambda a, b: jnp.where(end, a, b), begin(average(sizes)), sizes)
        last = step >= self.steps - 1
        size = jnp.where(last, average(sizes), jnp.exp(sizes.log_step_size))
        mass = jnp.where(end, moments.inverse_mass_matrix, state.mass)
        adapted = jax.tree.map(
            lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype),
            (sizes, moments),
            state.adaptation,
        )
        return state._replace(
            step_size=size.astype(self.mover.dtype),
            mass=mass.astype(self.mover.dtype),
            adaptation=adapted,
        )
