"""Algorithm 1 of the paper: extended fiducial inference by a chain over the errors.

``z`` are the standardised errors of the noisy observations, ``w`` the weights of the
w-network, ``theta_i`` its answer for observation i and ``theta_bar`` their mean, ``U``
the energy, ``lambda = 1 / epsilon``, ``v`` the step size of the errors and ``gamma``
that of the weights. One *draw* takes ``thin`` iterations.

    (i) initialisation                                   FiducialChain.init
        theta^ <- pilot fit (the phase before), linearised        linearise
        z <- errors of the pilot fit                              _first_errors
        w <- a network with theta_bar = theta^ for every z        initial_network

    for each draw                                        FiducialChain.step
        turn the tangent of the pilot fit to theta_bar            turn_tangent
        weights of lambda U, v, gamma, noise of all iterations    _plan
        for each of thin iterations                               iterate
            m_i <- encoder(x_i, y_i, z_i)                         encode
            theta_bar <- mean(m) W + b                            mean_answer
            lambda U, its derivatives by theta_bar and z          AbstractUpdate.gradients
            (ii) latent variable imputation
                force <- -z - d(lambda U)/dz                      iterate
                as written: force <- force - path through w       _force_through_network
                z <- z + v force + sqrt(2 v) N(0, 1)              AbstractKernel.step
            (iii) parameter updating
                w <- w moved to follow the errors                 AbstractUpdate.step
        (iv) fiducial sample collection
            theta_bar at the last z and w is the draw             _record

    (v) statistical inference                            methods/_chain_answer.py

With ``GradientDescent`` and ``SGLD``, the paper's settings, this is Algorithm 1 as
written. The default differs from it in three things:

- Step (iii) sets the last layer of the w-network so that its answer is the Gauss-Newton
  target, the least-squares fit to the data less the *new* errors (``GaussNewton``).
  Algorithm 1 takes a gradient step for the old ones.
- The force leaves out the path through the w-network, that is ``dU/dtheta_bar
  dtheta_bar/dz`` and the scatter of the ``theta_i``: at the Gauss-Newton target
  ``dU/dtheta_bar`` vanishes.
- Step (ii) uses a kernel with momentum (``SGHMC``), as the paper's conclusion proposes.

In all cases network, energy and derivatives are evaluated once, at the old ``z`` and
``w``; of the new errors only the Gauss-Newton target knows.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.base import KernelState
from ..model.model import Data, Model
from ..numerics.hyper_network import (
    HyperNetwork,
    HyperNetworkShape,
    initial_network,
    respond,
)
from ..numerics.linearisation import Linearisation, collapse, linearise, probe
from ..numerics.mixing import convergence
from ..numerics.nearby_solutions import MOST_POINTS
from ..numerics.tracking import Tracker, measure_lag, start_tracking, turn_tangent
from ._fiducial_iteration import Dynamics, Iterate, Plan, Setting, Sums, iterate
from .base import AbstractPhase, Drawn, Info

_FEWEST_DRAWS = 20
"""Draws after the warm-up below which an effective sample size says nothing."""


class Sampling(eqx.Module):
    """Which iterations give draws, and how many draws are enough.

    Attributes:
        thin: iterations between two draws.
        warm_up: draws at the start that do not count.
        effective: stop when the other draws of all chains together have this effective
            sample size; None for all draws.
    """

    thin: int
    warm_up: int
    effective: int | None = None


class ChainState(NamedTuple):
    """State between two draws.

    Attributes:
        theta: ``theta_bar``, the last answer of the w-network.
        fit: the pilot fit, linearised.
        tracker: moves by which the parameters follow the data.
        network: the weights ``w``.
        update_memory: memory of the update of the weights.
        z: the errors of all noisy observations.
        kernel_state: state of the kernel.
        neck_moment: mean of ``m m^T`` over all draws so far.
        draw_count: number of draws so far.
        drawn: the last draw.
    """

    theta: Float[Array, " p"]
    fit: Linearisation
    tracker: Tracker
    network: HyperNetwork
    update_memory: Any
    z: Float[Array, " n"]
    kernel_state: KernelState
    neck_moment: Float[Array, "d d"]
    draw_count: Array
    drawn: Drawn


class FiducialChain(AbstractPhase):
    """Algorithm 1 for one chain; each step of the phase gives one draw. See the
    module's text for the algorithm.

    Arguments:
        steps: largest number of draws, those of the warm-up included.
        sampling: which iterations give draws, and how many draws are enough.
        shape: widths of the w-network.
        dynamics: rules by which errors and weights move.
        plain: start from a fresh network of the model and fresh errors instead of the
            pilot fit's, and let the w-network give parameters for inputs and outputs in
            the user's units, as the paper has them.
        dtype: of the iterations.
    """

    steps: int
    sampling: Sampling
    shape: HyperNetworkShape
    dynamics: Dynamics
    plain: bool = False
    dtype: Any = jnp.float64
    name: ClassVar[str] = "draw"
    activity: ClassVar[str] = "imputing the errors"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model: Model, data: Data, previous: Any, *, key: PRNGKeyArray) -> ChainState:
        model = self._restrict(model)
        keys = jax.random.split(key, 4)
        fit = linearise(model, previous.theta.astype(jnp.float64), data)
        tracker = start_tracking(model, fit)
        theta = self._first_theta(model, fit, key=keys[0])
        fit, tracker, theta = jax.tree.map(lambda v: v.astype(self.dtype), (fit, tracker, theta))
        # single precision, because every iteration reads it, which takes longer than the
        # product; the next correction removes what rounding leaves
        tracker = tracker._replace(restore=tracker.restore.astype(jnp.float32))
        z = self._first_errors(model, fit, key=keys[1])
        setting = self._setting(model, data, fit)
        inputs = setting.inputs(z).shape[1]
        network = initial_network(theta * setting.units, inputs, self.shape, key=keys[2])
        return ChainState(
            theta=theta,
            # what only draws around the fit need is left behind
            fit=fit._replace(
                along=fit.along[:, :0],
                restore=fit.restore[:, :0],
                side_effect=fit.side_effect[:, :0],
            ),
            tracker=tracker,
            network=network,
            update_memory=self.dynamics.update.init(network),
            z=z,
            kernel_state=self.dynamics.kernel.init(z, key=keys[3]),
            neck_moment=jnp.zeros((self.shape.neck, self.shape.neck), self.dtype),
            draw_count=jnp.asarray(0),
            drawn=Drawn(theta[None], self._judged_by(setting, theta, theta, z)),
        )

    def step(
        self, model: Model, data: Data, state: ChainState, progress: Array, *, key: PRNGKeyArray
    ) -> tuple[ChainState, Info]:
        model = self._restrict(model)
        data = {name: y.astype(self.dtype) for name, y in data.items()}
        setting = self._setting(model, data, state.fit)
        zero = jnp.asarray(0.0, self.dtype)
        start = Iterate(
            network=state.network,
            update_memory=state.update_memory,
            z=state.z,
            kernel_state=state.kernel_state,
            neck_moment=jnp.zeros_like(state.neck_moment),
            tracker=turn_tangent(model, state.fit.theta, state.theta, state.tracker),
            sums=Sums(zero, zero, zero),
        )
        plans = self._plan(setting, progress, key)

        def one(i: Array, now: Iterate) -> Iterate:
            plan = jax.tree.map(lambda v: v[i], plans)
            return iterate(self.dynamics, setting, plan, now, key=jax.random.fold_in(key, i))

        end = jax.lax.fori_loop(0, self.sampling.thin, one, start)
        after = self._record(setting, state, end)
        return after, self._info(setting, after, end, progress + 1 / self.steps)

    def enough(self, extra: dict[str, np.ndarray]) -> bool:
        draws = extra["probe"][:, :, self.sampling.warm_up :]
        if self.sampling.effective is None or draws.shape[2] < _FEWEST_DRAWS:
            return False
        return all(convergence(one).effective.min() >= self.sampling.effective for one in draws)

    def draw(self, state: ChainState) -> Drawn:
        return state.drawn

    def _restrict(self, model: Model) -> Model:
        """Return the model with the equation at fewer points and only the layers free
        that the w-network gives.
        """
        return model.thinned(MOST_POINTS).with_free_layers(self.shape.last_layers)

    def _setting(self, model: Model, data: Data, fit: Linearisation) -> Setting:
        """Return the fixed parts of the run."""
        units = model.unit_factors if self.plain else np.ones(model.size)
        return Setting(model, data, fit, self.shape, jnp.asarray(units, self.dtype))

    def _first_theta(self, model: Model, fit: Linearisation, *, key: PRNGKeyArray) -> Array:
        """Return the parameters at the start: those of the pilot fit, or of a fresh
        network.
        """
        if not self.plain:
            return fit.theta
        fresh = model.init(key) / model.unit_factors
        # layers that are held stay as the pilot fit has them
        return jnp.where(model.free_mask > 0, fresh, fit.theta)

    def _first_errors(self, model: Model, fit: Linearisation, *, key: PRNGKeyArray) -> Array:
        """Return the errors at the start: those of the pilot fit, at which the energy
        has no gradient, or random ones.
        """
        if self.plain:
            count = sum(g.size for g in model.groups if not g.exact)
            return jax.random.normal(key, (count,), self.dtype)
        return jnp.concatenate([fit.errors[g.name] for g in model.groups if not g.exact])

    def _plan(self, setting: Setting, progress: Array, key: PRNGKeyArray) -> Plan:
        """Return the plans of all iterations of a draw, along the first axis.

        All schedules and random numbers are made at once: one by one they would be
        programs of their own in every iteration.
        """
        dynamics, thin = self.dynamics, self.sampling.thin
        count = sum(g.size for g in setting.model.groups if not g.exact)

        def scheduled(now: Array) -> Any:
            values = (
                dynamics.energy_weights(setting.model, setting.fit, now),
                dynamics.step_size(setting.model, setting.fit, now),
                dynamics.update.plan(now),
            )
            return jax.tree.map(lambda v: jnp.asarray(v, self.dtype), values)

        weights, step_size, update = jax.vmap(scheduled)(
            progress + jnp.arange(thin) / (thin * self.steps)
        )
        noise = jax.random.normal(jax.random.fold_in(key, thin), (thin, count), self.dtype)
        return Plan(weights, step_size, update, noise)

    def _record(self, setting: Setting, state: ChainState, end: Iterate) -> ChainState:
        """Return the state with the answer of the last iterate as a draw: step (iv) of
        Algorithm 1.
        """
        inputs = setting.inputs(end.z)
        theta = respond(end.network, inputs) / setting.units
        with_weights_before = respond(state.network, inputs) / setting.units
        drawn = Drawn(theta[None], self._judged_by(setting, theta, with_weights_before, end.z))
        share = 1 / (state.draw_count + 1.0).astype(self.dtype)
        moment = (1 - share) * state.neck_moment + share * end.neck_moment / self.sampling.thin
        return state._replace(
            theta=theta,
            tracker=end.tracker,
            network=end.network,
            update_memory=end.update_memory,
            z=end.z,
            kernel_state=end.kernel_state,
            neck_moment=moment,
            draw_count=state.draw_count + 1,
            drawn=drawn,
        )

    def _judged_by(
        self, setting: Setting, theta: Array, with_weights_before: Array, z: Array
    ) -> dict[str, Array]:
        """Return the numbers by which a draw is judged: quantities of the answer, those
        of the answer with the weights of the draw before, the errors, and their
        informed part.
        """
        model, fit = setting.model, setting.fit
        sizes = model.noise_slice
        errors = model.split_by_group(z)
        found = {
            "probe": jnp.concatenate([probe(model, theta), theta[sizes]]),
            "frozen": jnp.concatenate(
                [probe(model, with_weights_before), with_weights_before[sizes]]
            ),
            "informed": fit.basis.T @ collapse(model, fit.theta, errors),
            "z": z,
        }
        return {name: jnp.asarray(v, self.dtype)[None] for name, v in found.items()}

    def _info(self, setting: Setting, after: ChainState, end: Iterate, progress: Array) -> Info:
        """Return numbers of a draw for people and checks: means over its iterations."""
        model, fit, dynamics = setting.model, setting.fit, self.dynamics
        means = jax.tree.map(lambda v: v / self.sampling.thin, end.sums)
        weights = dynamics.energy_weights(model, fit, progress)
        step_size = dynamics.step_size(model, fit, progress)
        lag = means.lag
        if not dynamics.update.stays_at_minimum:
            energy = setting.energy(weights)
            lag = measure_lag(energy, end.tracker, energy.of_data(after.theta, end.z)[1])
        return {
            "data energy": means.data_energy,
            "exact energy": means.exact_energy,
            "lag": lag / jnp.maximum(1.0, jnp.sum(fit.share)),
            "stiffness": weights.stiffness,
            "step size": jnp.mean(step_size),
            "sensitivity": fit.sensitivity,
        }
