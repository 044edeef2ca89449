"""The first moves of a Hamiltonian chain, which set its step size and mass."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.hamiltonian import HamiltonianState, Mover
from ..schedules import Schedule
from .base import AbstractPhase, Info

_FIRST_STEP_SIZE = 1e-2
"""Step size of the first move, which dual averaging then adapts."""
_TARGET_ACCEPTANCE = 0.8
"""Acceptance rate that step sizes are adapted to, the default of Stan."""


class WarmUp(AbstractPhase):
    """Adaptation in windows of growing length, as in Stan: the step size follows the
    acceptance rate, the mass the variances of the last window.

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
        begin = jnp.asarray(0.0)
        weights = self._weights(model, theta, begin)
        first = _FIRST_STEP_SIZE if self.step_size is None else self.step_size(begin)
        step_size = jnp.asarray(first, dtype)
        q = mover.posterior.q(theta).astype(dtype)
        return HamiltonianState(
            theta=mover.posterior.theta(q),
            chain=mover.begin(q, data, weights),
            weights=weights,
            step_size=step_size,
            inverse_mass=jnp.ones(q.size, dtype),
            adaptation=self._first_adaptation(q, step_size),
            accepted=jnp.zeros((), dtype),
            diverged=jnp.zeros((), dtype),
        )

    def step(
        self,
        model: Model,
        data: Data,
        state: HamiltonianState,
        progress: Array,
        *,
        key: PRNGKeyArray,
    ) -> tuple[HamiltonianState, Info]:
        if self.sigma_f is not None:
            weights = self._weights(model, state.theta, progress)
            chain = self.mover.begin(state.chain.position, data, weights)
            state = state._replace(weights=weights, chain=chain)
        if self.step_size is not None:
            state = state._replace(
                step_size=jnp.asarray(self.step_size(progress), self.mover.dtype)
            )
        state = self.mover.move(state, data, key)
        if self.step_size is None:
            state = self._adapt(state, jnp.round(progress * self.steps).astype(int))
        return state, {
            "acceptance": state.accepted,
            "divergent": state.diverged,
            "step size": state.step_size,
        }

    def _weights(self, model: Model, theta: Array, progress: Array) -> dict[str, Array]:
        """Return the factors that give residuals of the equation unit variance, at a
        progress from 0 to 1.
        """
        posterior = self.mover.posterior
        if self.sigma_f is None:
            weights = posterior.weights(theta)
        else:
            size = jnp.asarray(self.sigma_f(progress))
            exact = {g.name: model.scales[g.name] / size for g in model.groups if g.exact}
            measured = {name: sd / size for name, sd in posterior.measured_physics.items()}
            weights = exact | measured
        return {name: w.astype(self.mover.dtype) for name, w in weights.items()}

    def _first_adaptation(self, q: Array, step_size: Array) -> Any:
        """Return the states of dual averaging and of the moments of the positions."""
        if self.step_size is not None:
            return ()
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        found = (
            dual_averaging_adaptation(_TARGET_ACCEPTANCE)[0](step_size),
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

    def _adapt(self, state: HamiltonianState, number: Array) -> HamiltonianState:
        """Return the state with step size and mass adapted after a move.

        Arguments:
            state: the state after the move.
            number: number of the move, from 0.
        """
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation
        from blackjax.adaptation.window_adaptation import build_schedule

        slow, ends = (column.astype(bool) for column in jnp.asarray(build_schedule(self.steps)).T)
        begin, follow, average = dual_averaging_adaptation(_TARGET_ACCEPTANCE)
        _, gather, conclude = mass_matrix_adaptation(True)

        def choose(condition: Array, new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)

        averaging, moments = state.adaptation
        averaging = follow(averaging, state.accepted)
        in_window = slow[jnp.minimum(number, self.steps - 1)]
        moments = choose(in_window, gather(moments, state.chain.position), moments)
        window_ends = ends[jnp.minimum(number, self.steps - 1)]
        moments = choose(window_ends, conclude(moments), moments)
        averaging = choose(window_ends, begin(average(averaging)), averaging)
        last = number >= self.steps - 1
        step_size = jnp.where(last, average(averaging), jnp.exp(averaging.log_step_size))
        inverse_mass = jnp.where(window_ends, moments.inverse_mass_matrix, state.inverse_mass)
        adaptation = jax.tree.map(
            lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype),
            (averaging, moments),
            state.adaptation,
        )
        return state._replace(
            step_size=step_size.astype(self.mover.dtype),
            inverse_mass=inverse_mass.astype(self.mover.dtype),
            adaptation=adaptation,
        )
