"""Hamiltonian Monte Carlo on a posterior: a warm-up that sets step size and mass, and draws."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..linearisation import probe
from ..method import AbstractPhase, Drawn, Info
from ..model import Data, Model
from ..posterior import Posterior
from ..schedules import Schedule

_FIRST_STEP = 1e-2
_TARGET = 0.8
"""Acceptance rate that step sizes are adapted to."""


class HamiltonianState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        chain: BlackJAX's state: the parameters in units of their priors, log-density and gradient.
        weights: of exact groups.
        step_size: of the integrator.
        mass: diagonal of the inverse mass matrix.
        adaptation: of the warm-up: dual averaging and moments.
        accepted: acceptance rate of the last move.
        diverged: whether it diverged.
    """

    theta: Float[Array, " p"]
    chain: Any
    weights: dict[str, Array]
    step_size: Float[Array, ""]
    mass: Float[Array, " p"]
    adaptation: Any
    accepted: Float[Array, ""]
    diverged: Float[Array, ""]


class Mover(NamedTuple):
    """How a chain moves.

    Attributes:
        posterior: where.
        sampler: ``"nuts"`` or ``"hmc"``.
        leapfrog: steps of the integrator in a move of ``hmc``.
        doublings: largest number of doublings of a trajectory of ``nuts``.
        dtype: of the chain.
    """

    posterior: Posterior
    sampler: str
    leapfrog: int
    doublings: int
    dtype: Any

    def density(self, data: Data, weights: dict[str, Array]) -> Any:
        return lambda q: self.posterior.log_density(q, data, weights)

    def begin(self, q: Array, data: Data, weights: dict[str, Array]) -> Any:
        from blackjax.mcmc import hmc

        return hmc.init(q, self.density(data, weights))

    def move(self, state: HamiltonianState, data: Data, key: PRNGKeyArray) -> HamiltonianState:
        from blackjax.mcmc import hmc, nuts

        density = self.density(data, state.weights)
        if self.sampler == "hmc":
            chain, info = hmc.build_kernel()(key, state.chain, density, state.step_size, state.mass, self.leapfrog)
        else:
            chain, info = nuts.build_kernel()(key, state.chain, density, state.step_size, state.mass, self.doublings)
        accepted = jnp.nan_to_num(info.acceptance_rate).astype(self.dtype)
        theta = self.posterior.theta(chain.position)
        return state._replace(theta=theta, chain=chain, accepted=accepted, diverged=info.is_divergent.astype(self.dtype))


class WarmUp(AbstractPhase):
    """Windows of growing length, as in Stan: the step size follows the acceptance rate, the mass the variances of the last window.

    With schedules nothing is adapted: step size and the size of the equation's errors follow them.

    Arguments:
        steps: number of moves.
        mover: how the chain moves.
        step_size: schedule of the step size; None to adapt it, and the mass.
        sigma_f: schedule of the size of the equation's errors; None for that of the posterior.
        plain: where there is no phase before, start from a network that is fresh for inputs and outputs in the user's units.
    """

    steps: int
    mover: Mover
    step_size: Schedule | None = None
    sigma_f: Schedule | None = None
    plain: bool = False
    name: ClassVar[str] = "warm-up"

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> HamiltonianState:
        mover, dtype = self.mover, self.mover.dtype
        theta = (model.init(key) / (model.unscaled if self.plain else 1.0) if previous is None else previous.theta).astype(jnp.float64)
        weights = {name: w.astype(dtype) for name, w in self._weights(model, theta, jnp.asarray(0.0)).items()}
        q = mover.posterior.q(theta).astype(dtype)
        mass, first = jnp.ones(q.size, dtype), jnp.asarray(_FIRST_STEP if self.step_size is None else self.step_size(jnp.asarray(0.0)), dtype)
        chain = mover.begin(q, data, weights)
        zero = jnp.zeros((), dtype)
        return HamiltonianState(mover.posterior.theta(q), chain, weights, first, mass, self._first_adaptation(q, first), zero, zero)

    def _weights(self, model: Model, theta: Array, progress: Array) -> dict[str, Array]:
        if self.sigma_f is None:
            return self.mover.posterior.weights(theta)
        return {g.name: jnp.asarray(model.scales[g.name] / self.sigma_f(progress)) for g in model.groups if g.exact}

    def step(self, model: Model, data: Data, state: HamiltonianState, progress: Array, *, key: PRNGKeyArray) -> tuple[HamiltonianState, Info]:
        dtype = self.mover.dtype
        if self.sigma_f is not None:
            weights = {name: w.astype(dtype) for name, w in self._weights(model, state.theta, progress).items()}
            state = state._replace(weights=weights, chain=self.mover.begin(state.chain.position, data, weights))
        if self.step_size is not None:
            state = state._replace(step_size=jnp.asarray(self.step_size(progress), dtype))
        state = self.mover.move(state, data, key)
        if self.step_size is None:
            state = self._adapt(state, jnp.round(progress * self.steps).astype(int))
        return state, {"acceptance": state.accepted, "divergent": state.diverged, "step size": state.step_size}

    def _first_adaptation(self, q: Array, first: Array) -> Any:
        if self.step_size is not None:
            return ()
        from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
        from blackjax.adaptation.step_size import dual_averaging_adaptation

        found = dual_averaging_adaptation(_TARGET)[0](first), mass_matrix_adaptation(True)[0](q.size)
        return jax.tree.map(
            lambda v: jnp.asarray(v, self.mover.dtype) if jnp.issubdtype(jnp.asarray(v).dtype, jnp.floating) else jnp.asarray(v), found
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
        moments = jax.tree.map(lambda a, b: jnp.where(here, a, b), gather(moments, state.chain.position), moments)
        end = ends[jnp.minimum(step, self.steps - 1)]
        concluded = conclude(moments)
        moments = jax.tree.map(lambda a, b: jnp.where(end, a, b), concluded, moments)
        sizes = jax.tree.map(lambda a, b: jnp.where(end, a, b), begin(average(sizes)), sizes)
        last = step >= self.steps - 1
        size = jnp.where(last, average(sizes), jnp.exp(sizes.log_step_size))
        mass = jnp.where(end, moments.inverse_mass_matrix, state.mass)
        adapted = jax.tree.map(lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype), (sizes, moments), state.adaptation)
        return state._replace(step_size=size.astype(self.mover.dtype), mass=mass.astype(self.mover.dtype), adaptation=adapted)


class HamiltonianDraws(AbstractPhase):
    """Moves with everything as the warm-up left it, some of which are kept.

    Arguments:
        steps: number of moves.
        thin: moves from one draw to the next.
        mover: how the chain moves.
    """

    steps: int
    thin: int
    mover: Mover
    name: ClassVar[str] = "draw"

    @property
    def record_every(self) -> int:
        return self.thin

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> "DrawState":
        return DrawState(previous, previous.theta, probe(model, previous.theta), previous.theta, previous.chain.logdensity)

    def step(self, model: Model, data: Data, state: "DrawState", progress: Array, *, key: PRNGKeyArray) -> tuple["DrawState", Info]:
        chain = self.mover.move(state.chain, data, key)
        step = jnp.round(progress * self.steps).astype(int)
        shown = jax.lax.cond((step + 1) % self.thin == 0, lambda: probe(model, chain.theta), lambda: state.probe)
        better = chain.chain.logdensity > state.density
        best, density = (jnp.where(better, new, old) for new, old in ((chain.theta, state.best), (chain.chain.logdensity, state.density)))
        return DrawState(chain, chain.theta, shown, best, density), {"acceptance": chain.accepted, "divergent": chain.diverged}

    def draw(self, state: "DrawState") -> Drawn:
        noisy = {"probe": state.probe, "accepted": state.chain.accepted, "divergent": state.chain.diverged}
        return Drawn(state.theta[None], {name: v[None] for name, v in noisy.items()})


class DrawState(NamedTuple):
    """The chain, its parameters, what it is compared by, and the best parameters so far with their log-density."""

    chain: HamiltonianState
    theta: Float[Array, " p"]
    probe: Float[Array, " q"]
    best: Float[Array, " p"]
    density: Float[Array, ""]
