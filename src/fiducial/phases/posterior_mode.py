"""The mode of a posterior, by Levenberg-Marquardt."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ..model.model import Data, Model
from ..numerics.least_squares import Damping, NielsenRule, Ridge, curvature, judge, propose
from ..numerics.linear_systems import damping_cost, normal_equations
from ..numerics.posterior import Posterior
from .base import AbstractCostlyPhase, Info

_CONVERGED_STEPS = 3
"""Number of converged steps in a row that end the phase (convention)."""
_DAMPING_RULE = NielsenRule(smallest=1e-14, largest=1e6)
"""At the largest damping a step moves next to nothing, at the smallest it is undamped
to within the rounding of float64 (convention).
"""
_FIRST_DAMPING = 1e-3
"""Damping of the first step, small since the fit is a good start (convention)."""


class ModeState(NamedTuple):
    """What the next step needs.

    Attributes:
        theta: the parameters.
        weights: weights of the exact groups.
        damping: damping of the next step.
        converged_steps: number of converged steps in a row.
    """

    theta: Float[Array, " p"]
    weights: dict[str, Array]
    damping: Damping
    converged_steps: Int[Array, ""]


class PosteriorMode(AbstractCostlyPhase):
    """Find the parameters at which the posterior is largest, with the noise sizes of
    the fit before.

    Arguments:
        steps: largest number of steps.
        posterior: priors and weights.
        tolerance: decrease of minus twice the log-density that counts as none.
    """

    steps: int
    posterior: Posterior
    tolerance: float = 1e-2
    name: ClassVar[str] = "mode"
    activity: ClassVar[str] = "finding the mode"

    @property
    def must_settle(self) -> bool:
        return True

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ModeState:
        return ModeState(
            theta=previous.theta,
            weights=self.posterior.weights(previous.theta),
            damping=Damping.at(_FIRST_DAMPING),
            converged_steps=jnp.asarray(0),
        )

    def step(
        self, model: Model, data: Data, state: ModeState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[ModeState, Info]:
        posterior = self.posterior
        residual, jacobian = posterior.rows_and_jacobians(state.theta, data, state.weights)
        prior = Ridge(1 / jnp.asarray(posterior.sd) ** 2, jnp.asarray(posterior.mean))

        def rows(theta: Array) -> Array:
            return posterior.rows(theta, data, state.weights)

        def cost(theta: Array) -> Array:
            return jnp.sum(rows(theta) ** 2) + prior.at(theta)

        trial = propose(
            state.theta,
            residual,
            normal_equations(jacobian, damping_cost(jacobian, state.damping.value) + prior.cost),
            ridge=prior,
            second_derivative=lambda move: curvature(rows, state.theta, move),
        )
        noise = model.noise_slice
        trial = trial._replace(theta=trial.theta.at[noise].set(state.theta[noise]))
        before = cost(state.theta)
        after = cost(trial.theta)
        verdict = judge(
            trial, before=before, after=after, damping=state.damping, rule=_DAMPING_RULE
        )
        stuck = verdict.damping.value >= _DAMPING_RULE.largest
        converged = (verdict.accepted & (before - after < self.tolerance)) | stuck
        new = ModeState(
            theta=verdict.choose(trial.theta, state.theta),
            weights=state.weights,
            damping=verdict.damping,
            converged_steps=jnp.where(
                converged,
                state.converged_steps + 1,
                jnp.where(verdict.accepted, 0, state.converged_steps),
            ),
        )
        return new, {"loss": jnp.minimum(before, after), "damping": state.damping.value}

    def done(self, state: ModeState) -> Bool[Array, ""]:
        return state.converged_steps >= _CONVERGED_STEPS
