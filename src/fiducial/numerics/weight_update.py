"""How the weights of the hyper-network follow the errors."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data
from ..schedules import Schedule
from .energy import Energy, Evaluation
from .hyper_network import HyperNetwork, answer, encode, scatter_matrix
from .tracking import Tracker, follow

_AGREE = 0.01
"""Share by which answers of single observations are drawn together in a step."""
_PRIOR_VARIANCE = 100.0


class Slopes(NamedTuple):
    """Derivatives of the energy.

    Attributes:
        theta: by the parameters.
        for_weights: the same for the step of the weights, from a part of the
            observations perhaps.
        z: by the errors, the parameters fixed.
        seen: what the evaluation saw.
    """

    theta: Float[Array, " p"]
    for_weights: Float[Array, " p"]
    z: Float[Array, " n"]
    seen: Evaluation


class Now(NamedTuple):
    """One iteration, as an update sees it.

    Attributes:
        theta: the network's answer.
        slopes: of the energy there.
        neck: the neck of each observation.
        pull: from a cotangent of the neck to those of the encoder's weights.
        rows: what the encoder is given for the errors after the kernel's step.
        z: these errors.
        plan: what the update planned for it.
    """

    theta: Float[Array, " p"]
    slopes: Slopes
    neck: Float[Array, "n d"]
    pull: Callable[[Array], Any]
    rows: Float[Array, "n i"]
    z: Float[Array, " n"]
    plan: Any


class AbstractUpdate(eqx.Module):
    """One step of the weights.

    Attributes:
        keeps_up: whether steps keep the parameters where the energy is least. Its
            derivative through them then vanishes, and a step tells how far off they
            were; otherwise zero stands for that.
    """

    keeps_up: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def init(self, network: HyperNetwork) -> Any:
        """What to carry at the start."""

    def plan(self, progress: Float[Array, ""]) -> Any:
        """What the step at a progress from 0 to 1 needs of it; nothing by default."""
        del progress
        return ()

    @abc.abstractmethod
    def slopes(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        data: Data,
        *,
        key: PRNGKeyArray,
    ) -> Slopes:
        """What the step needs to know of the energy."""

    @abc.abstractmethod
    def step(
        self, network: HyperNetwork, memory: Any, energy: Energy, at: Tracker, data: Data, now: Now
    ) -> tuple[HyperNetwork, Any, Array]:
        """The weights after this iteration, what to carry on, and the lag (see
        ``Followed``).
        """


class Track(AbstractUpdate):
    """Follow the fit by Gauss-Newton steps.

    The last layer changes as little as it can for the answer to be where the fit to the
    data less the new errors is; the encoder moves along.

    Arguments:
        rate: share of the way that is gone; less than one lags behind.
    """

    rate: float = 1.0
    keeps_up: ClassVar[bool] = True

    def init(self, network: HyperNetwork) -> Any:
        return ()

    def slopes(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        data: Data,
        *,
        key: PRNGKeyArray,
    ) -> Slopes:
        (_, seen), (by_theta, by_z) = jax.value_and_grad(
            energy.of_data, argnums=(0, 1), has_aux=True
        )(theta, z, data)
        if energy.model.has_free_function:  # exact rows are weighed like the others
            (more, slip), by_exact = jax.value_and_grad(energy.of_exact, has_aux=True)(theta, data)
            by_theta = by_theta + by_exact
        else:
            more, slip = energy.of_exact(theta, data)
        return Slopes(by_theta, by_theta, by_z, seen._replace(slip=slip, exact_energy=more))

    def step(
        self, network: HyperNetwork, memory: Any, energy: Energy, at: Tracker, data: Data, now: Now
    ) -> tuple[HyperNetwork, Any, Array]:
        target, lag = follow(energy, at, now.theta, now.slopes.theta, now.slopes.seen, now.z, data)
        move = self.rate * (target - now.theta)
        mean = jnp.mean(now.neck, axis=0)
        push = network.out @ move / (1 + jnp.sum(mean**2)) / len(now.neck)
        encoder = jax.tree.map(
            jnp.add, network.encoder, now.pull(jnp.broadcast_to(push, now.neck.shape))
        )
        apart = scatter_matrix(now.neck)
        closer = jnp.eye(len(apart), dtype=apart.dtype) - _AGREE * apart / (
            jnp.trace(apart) + jnp.finfo(apart.dtype).tiny
        )
        out = closer @ network.out
        # then whatever is missing, by the last layer
        mean = jnp.mean(encode(encoder, now.rows), axis=0)
        missing = (now.theta + move - mean @ out - network.shift) / (1 + jnp.sum(mean**2))
        return (
            HyperNetwork(encoder, out + jnp.outer(mean, missing), network.shift + missing),
            memory,
            lag,
        )


class Descend(AbstractUpdate):
    """Gradient descent with momentum, and the N(0, 100) prior of the paper on every
    weight.

    Arguments:
        rate: schedule of the step size.
        momentum: schedule of the share of the last step that is kept.
        batch: number of observations, drawn anew in every step, that the weights see;
            None for all.
    """

    rate: Schedule
    momentum: Schedule
    batch: int | None = None
    keeps_up: ClassVar[bool] = False

    def init(self, network: HyperNetwork) -> Any:
        return jax.tree.map(jnp.zeros_like, network)

    def plan(self, progress: Float[Array, ""]) -> Any:
        return self.momentum(progress), self.rate(progress)

    def slopes(
        self,
        energy: Energy,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        data: Data,
        *,
        key: PRNGKeyArray,
    ) -> Slopes:
        def total(theta: Array, z: Array) -> tuple[Array, Evaluation]:
            (fit, seen), (more, slip) = energy.of_data(theta, z, data), energy.of_exact(theta, data)
            return fit + more, seen._replace(slip=slip, exact_energy=more)

        (_, seen), (by_theta, by_z) = jax.value_and_grad(total, argnums=(0, 1), has_aux=True)(
            theta, z
        )
        for_weights = by_theta
        if self.batch is not None:
            drawn = jax.random.permutation(key, z.size) < self.batch
            counted = jnp.where(drawn, z.size / self.batch, 0.0) - 1
            for_weights = by_theta + jax.grad(
                lambda t: energy.of_data(t, z, data, counted.astype(z.dtype))[0]
            )(theta)
        if energy.model.free_layers is not None:
            for_weights = for_weights * jnp.asarray(energy.model.free_mask, theta.dtype)
        return Slopes(by_theta, for_weights, by_z, seen)

    def step(
        self, network: HyperNetwork, memory: Any, energy: Energy, at: Tracker, data: Data, now: Now
    ) -> tuple[HyperNetwork, Any, Array]:
        mean, apart, slope = (
            jnp.mean(now.neck, axis=0),
            scatter_matrix(now.neck),
            now.slopes.for_weights,
        )
        pull = network.out @ slope / len(now.neck) + scatter_slope(
            network, now.neck, energy.terms.together
        )
        # apart from the product above: in one kernel with it the encoder would wait
        # until the whole last layer is updated
        network, later = jax.lax.optimization_barrier((network, slope))
        out = jnp.outer(mean, later) + 2 * energy.terms.together * apart @ network.out
        slopes = HyperNetwork(now.pull(pull), out, slope)
        kept, rate = now.plan
        prior = network
        if energy.model.free_layers is not None:  # what is held has none
            moves = jnp.asarray(energy.model.free_mask, slope.dtype)
            prior = network._replace(out=network.out * moves, shift=network.shift * moves)
        memory = jax.tree.map(
            lambda v, g, w: kept * v + g + w / _PRIOR_VARIANCE, memory, slopes, prior
        )
        return (
            jax.tree.map(lambda w, v: w - rate * v, network, memory),
            memory,
            jnp.zeros((), apart.dtype),
        )


def lag_of(energy: Energy, at: Tracker, seen: Evaluation) -> Float[Array, ""]:
    """How far the parameters are off the fit, seen from the data."""
    return jnp.sum((at.informed.T @ energy.collapse(seen.gap)) ** 2)


def scatter_slope(
    network: HyperNetwork, neck: Float[Array, "n d"], together: Float[Array, ""]
) -> Float[Array, "n d"]:
    """Derivative by the neck of how far the answers of single observations scatter."""
    return 2 * together * (neck - jnp.mean(neck, axis=0)) @ (network.out @ network.out.T)


def respond(network: HyperNetwork, rows: Float[Array, "n i"]) -> Float[Array, " p"]:
    """The network's answer for given observations and errors."""
    return answer(network, encode(network.encoder, rows))
