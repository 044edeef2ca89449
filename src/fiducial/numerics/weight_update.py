"""Step (iii) of Algorithm 1: how the weights ``w`` of the w-network follow the errors.

Two updates, of one signature:

``GradientDescent``, as the paper has it (its equation ``sgd_update``, with momentum and
the N(0, 100) prior of its settings):

    v <- momentum v + d(lambda U)/dw + w / 100,    w <- w - gamma v.

``GaussNewton``, the default: the last layer ``(W, b)`` changes by the least amount that
puts ``theta_bar`` where the least-squares fit to the data less the *new* errors is
(``tracking.follow``), after the encoder has taken a gradient step of the same aim:

    t  = theta_bar + rate (fit(z') - theta_bar),
    W <- W + mean(m') d^T,  b <- b + d,  d = (t - mean(m') W - b) / (1 + |mean(m')|^2).

Because ``theta_bar`` then stays where ``dU/dtheta = 0``, the force on the errors needs
no path through ``theta_bar``; see ``FiducialChain``."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..schedules import Schedule
from .energy import Energy, Evaluation
from .hyper_network import HyperNetwork, encode, scatter_gradient, scatter_matrix
from .tracking import Tracker, follow

_AGREEMENT = 0.01
"""Share of their scatter that the answers for single observations lose in one
Gauss-Newton update; it takes the place of the energy's scatter term.
"""
_PRIOR_VARIANCE = 100.0
"""Variance of the normal prior on every weight, from the paper's settings ("a Gaussian
prior, N(0,100), on each connection weight").
"""


class Gradients(NamedTuple):
    """Derivatives of ``lambda U`` at ``(theta_bar, z)``.

    Attributes:
        theta: by the parameters.
        for_weights: by the parameters, as the weights are to see it: of a mini-batch,
            or of the free layers only.
        z: by the errors, at fixed parameters.
        evaluation: by-products of the evaluation.
    """

    theta: Float[Array, " p"]
    for_weights: Float[Array, " p"]
    z: Float[Array, " n"]
    evaluation: Evaluation


class Iteration(NamedTuple):
    """One iteration, as an update sees it: the w-network before, the errors after.

    Attributes:
        theta: ``theta_bar`` for the weights and errors before.
        gradients: of the energy there.
        neck: the neck of each observation there.
        encoder_pullback: from a cotangent of the neck to that of the encoder's weights.
        next_inputs: inputs of the encoder for the errors after the kernel's step.
        next_z: the errors after the kernel's step.
        plan: what the update planned for this iteration.
    """

    theta: Float[Array, " p"]
    gradients: Gradients
    neck: Float[Array, "n d"]
    encoder_pullback: Callable[[Array], Any]
    next_inputs: Float[Array, "n i"]
    next_z: Float[Array, " n"]
    plan: Any


class Updated(NamedTuple):
    """Outcome of an update.

    Attributes:
        network: the weights after it.
        memory: what the next update needs.
        lag: squared distance of ``theta_bar`` from the fit before it, in standard
            errors; zero for an update that does not know.
    """

    network: HyperNetwork
    memory: Any
    lag: Float[Array, ""]


class AbstractUpdate(eqx.Module):
    """One step of the weights.

    Attributes:
        stays_at_minimum: whether steps keep ``theta_bar`` where the energy is least, so
            that its derivative by the parameters vanishes; such an update also measures
            the lag.
    """

    stays_at_minimum: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def init(self, network: HyperNetwork) -> Any:
        """Return what the first update needs to remember."""

    def plan(self, progress: Float[Array, ""]) -> Any:
        """Return the settings for the iteration at a progress from 0 to 1; none by
        default.
        """
        del progress
        return ()

    @abc.abstractmethod
    def gradients(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        *,
        key: PRNGKeyArray,
    ) -> Gradients:
        """Evaluate the energy once, and return the derivatives that force and update
        need.
        """

    @abc.abstractmethod
    def step(
        self,
        network: HyperNetwork,
        memory: Any,
        energy: Energy,
        tracker: Tracker,
        iteration: Iteration,
    ) -> Updated:
        """Return the weights after this iteration."""


class GaussNewton(AbstractUpdate):
    """Put ``theta_bar`` at the least-squares fit for the new errors, by the smallest
    change of the last layer; see the module's text.

    Arguments:
        rate: share of the way to the fit that a step goes; less than one lags behind.
    """

    rate: float = 1.0
    stays_at_minimum: ClassVar[bool] = True

    def init(self, network: HyperNetwork) -> Any:
        return ()

    def gradients(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        *,
        key: PRNGKeyArray,
    ) -> Gradients:
        (_, evaluation), (by_theta, by_z) = jax.value_and_grad(
            energy.of_data, argnums=(0, 1), has_aux=True
        )(theta, z)
        if energy.model.has_free_function:
            # exact rows are weighted like the others
            (exact_energy, drift), by_exact = jax.value_and_grad(energy.of_exact, has_aux=True)(
                theta
            )
            by_theta = by_theta + by_exact
        else:
            exact_energy, drift = energy.of_exact(theta)
        evaluation = evaluation._replace(drift=drift, exact_energy=exact_energy)
        return Gradients(by_theta, for_weights=by_theta, z=by_z, evaluation=evaluation)

    def step(
        self,
        network: HyperNetwork,
        memory: Any,
        energy: Energy,
        tracker: Tracker,
        iteration: Iteration,
    ) -> Updated:
        gradients = iteration.gradients
        followed = follow(
            energy,
            tracker,
            iteration.theta,
            gradients.theta,
            gradients.evaluation,
            iteration.next_z,
        )
        move = self.rate * (followed.theta - iteration.theta)
        encoder = self._move_encoder(network, move, iteration)
        out = self._contract(network.out, iteration.neck)
        mean = jnp.mean(encode(encoder, iteration.next_inputs), axis=0)
        target = iteration.theta + move
        missing = (target - mean @ out - network.shift) / (1 + jnp.sum(mean**2))
        moved = HyperNetwork(encoder, out + jnp.outer(mean, missing), network.shift + missing)
        return Updated(moved, memory, followed.lag)

    def _move_encoder(
        self, network: HyperNetwork, move: Float[Array, " p"], iteration: Iteration
    ) -> Any:
        """Return the encoder after a gradient step towards necks whose answer is moved
        by ``move``.
        """
        neck = iteration.neck
        mean = jnp.mean(neck, axis=0)
        push = network.out @ move / (1 + jnp.sum(mean**2)) / len(neck)
        change = iteration.encoder_pullback(jnp.broadcast_to(push, neck.shape))
        return jax.tree.map(jnp.add, network.encoder, change)

    def _contract(self, out: Float[Array, "d p"], neck: Float[Array, "n d"]) -> Array:
        """Return the last layer with the answers for single observations drawn together
        a little.
        """
        scatter = scatter_matrix(neck)
        tiny = jnp.finfo(scatter.dtype).tiny
        share = _AGREEMENT * scatter / (jnp.trace(scatter) + tiny)
        return (jnp.eye(len(scatter), dtype=scatter.dtype) - share) @ out


class GradientDescent(AbstractUpdate):
    """Gradient descent with momentum, and the paper's N(0, 100) prior on every weight.

    Arguments:
        rate: schedule of the step size ``gamma``.
        momentum: schedule of the share of the last step that is kept.
        batch: number of observations, drawn anew in every step, that the weights see;
            None for all.
    """

    rate: Schedule
    momentum: Schedule
    batch: int | None = None
    stays_at_minimum: ClassVar[bool] = False

    def init(self, network: HyperNetwork) -> Any:
        return jax.tree.map(jnp.zeros_like, network)

    def plan(self, progress: Float[Array, ""]) -> Any:
        return self.momentum(progress), self.rate(progress)

    def gradients(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        *,
        key: PRNGKeyArray,
    ) -> Gradients:
        def total(theta: Array, z: Array) -> tuple[Array, Evaluation]:
            of_data, evaluation = energy.of_data(theta, z)
            of_exact, drift = energy.of_exact(theta)
            return of_data + of_exact, evaluation._replace(drift=drift, exact_energy=of_exact)

        (_, evaluation), (by_theta, by_z) = jax.value_and_grad(total, argnums=(0, 1), has_aux=True)(
            theta, z
        )
        for_weights = by_theta
        if self.batch is not None:
            # the other observations are taken away, and those of the batch stand for them
            in_batch = jax.random.permutation(key, z.size) < self.batch
            counted = jnp.where(in_batch, z.size / self.batch, 0.0) - 1
            for_weights = by_theta + jax.grad(
                lambda t: energy.of_data(t, z, counted.astype(z.dtype))[0]
            )(theta)
        if energy.model.free_layers is not None:
            for_weights = for_weights * jnp.asarray(energy.model.free_mask, theta.dtype)
        return Gradients(by_theta, for_weights=for_weights, z=by_z, evaluation=evaluation)

    def step(
        self,
        network: HyperNetwork,
        memory: Any,
        energy: Energy,
        tracker: Tracker,
        iteration: Iteration,
    ) -> Updated:
        gradient, network = self._gradient(network, energy, iteration)
        prior = network
        if energy.model.free_layers is not None:  # layers that are held have no prior
            free = jnp.asarray(energy.model.free_mask, gradient.shift.dtype)
            prior = network._replace(out=network.out * free, shift=network.shift * free)
        momentum, rate = iteration.plan
        memory = jax.tree.map(
            lambda v, g, w: momentum * v + g + w / _PRIOR_VARIANCE, memory, gradient, prior
        )
        moved = jax.tree.map(lambda w, v: w - rate * v, network, memory)
        return Updated(moved, memory, lag=jnp.zeros((), iteration.neck.dtype))

    def _gradient(
        self, network: HyperNetwork, energy: Energy, iteration: Iteration
    ) -> tuple[HyperNetwork, HyperNetwork]:
        """Return the derivative of ``lambda U`` by all weights, and the weights behind a
        barrier.

        The barrier keeps the product for the last layer apart from that for the neck:
        in one kernel with it the encoder would wait until the whole last layer is
        updated.
        """
        neck = iteration.neck
        weight = energy.weights.scatter
        mean = jnp.mean(neck, axis=0)
        scatter = scatter_matrix(neck)
        by_theta = iteration.gradients.for_weights
        by_neck = network.out @ by_theta / len(neck) + scatter_gradient(network, neck, weight)
        network, later = jax.lax.optimization_barrier((network, by_theta))
        by_out = jnp.outer(mean, later) + 2 * weight * scatter @ network.out
        return HyperNetwork(iteration.encoder_pullback(by_neck), by_out, by_theta), network
