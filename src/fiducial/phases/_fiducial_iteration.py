"""One iteration of Algorithm 1: steps (ii) and (iii), from one evaluation of network and
energy. The algorithm as a whole is told in ``fiducial_chain``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.base import AbstractKernel, KernelState
from ..model.model import Data, Model
from ..numerics.energy import Energy, EnergyWeights
from ..numerics.hyper_network import (
    Encoder,
    HyperNetwork,
    HyperNetworkShape,
    encode,
    encoder_inputs,
    mean_answer,
    perturb_neck,
    scatter_gradient,
)
from ..numerics.linearisation import Linearisation
from ..numerics.tracking import Tracker, refresh
from ..numerics.weight_update import AbstractUpdate, Gradients, Iteration


class Dynamics(eqx.Module):
    """What moves the errors and the weights. Functions of model, pilot fit and a
    progress from 0 to 1 are schedules.

    Attributes:
        kernel: moves the errors.
        step_size: schedule of the kernel's step size ``v``, one or one for each error.
        energy_weights: schedule of the weights of the energy's terms.
        update: moves the weights of the w-network.
    """

    kernel: AbstractKernel
    step_size: Callable[[Model, Linearisation, Array], Array]
    energy_weights: Callable[[Model, Linearisation, Array], EnergyWeights]
    update: AbstractUpdate


class Setting(NamedTuple):
    """What stays as it is throughout a run.

    Attributes:
        model: the problem made computable, with fewer points and the free layers only.
        data: observed values.
        fit: the pilot fit, linearised.
        shape: widths of the w-network.
        units: factors from the model's parameters to those that the w-network gives.
    """

    model: Model
    data: Data
    fit: Linearisation
    shape: HyperNetworkShape
    units: Float[Array, " p"]

    def energy(self, weights: EnergyWeights) -> Energy:
        """Return the energy with given weights of its terms."""
        return Energy(self.model, self.data, self.fit, weights)

    def inputs(self, z: Float[Array, " n"]) -> Float[Array, "n i"]:
        """Return the inputs of the encoder for given errors."""
        return encoder_inputs(self.model, self.data, z)


class Plan(NamedTuple):
    """What schedules and random numbers say for one iteration.

    Attributes:
        weights: of the energy's terms.
        step_size: ``v``.
        update: settings of the update.
        noise: N(0, 1) numbers for the kernel.
    """

    weights: EnergyWeights
    step_size: Array
    update: Any
    noise: Float[Array, " n"]


class Sums(NamedTuple):
    """Sums over the iterations of a draw.

    Attributes:
        data_energy: the noisy groups' part of ``lambda U``.
        exact_energy: the exact groups' part.
        lag: squared distance of ``theta_bar`` from the fit, in standard errors.
    """

    data_energy: Array
    exact_energy: Array
    lag: Array


class Iterate(NamedTuple):
    """State between two iterations.

    Attributes:
        network: the weights ``w``.
        update_memory: what the update of the weights carries along.
        z: the errors.
        kernel_state: what the kernel carries along.
        neck_moment: sum of ``mean_i(m_i m_i^T)`` over the iterations of this draw.
        tracker: moves by which the parameters follow the data.
        sums: what is averaged over the iterations.
    """

    network: HyperNetwork
    update_memory: Any
    z: Float[Array, " n"]
    kernel_state: KernelState
    neck_moment: Float[Array, "d d"]
    tracker: Tracker
    sums: Sums


class Response(NamedTuple):
    """The w-network evaluated at ``z`` and ``w``.

    Attributes:
        neck: ``m_i`` of each observation.
        pullback: from a cotangent of the neck to those of the encoder's weights and of
            the errors.
        theta: ``theta_bar``.
    """

    neck: Float[Array, "n d"]
    pullback: Callable[[Array], tuple[Any, Array]]
    theta: Float[Array, " p"]


def iterate(
    dynamics: Dynamics, setting: Setting, plan: Plan, now: Iterate, *, key: PRNGKeyArray
) -> Iterate:
    """Return the next iterate: errors moved by the kernel (ii), weights by the update
    (iii).
    """
    energy = setting.energy(plan.weights)
    response = _respond(setting, now, key=jax.random.fold_in(key, 2))
    gradients = _differentiate(
        dynamics.update, setting, energy, response, now.z, key=jax.random.fold_in(key, 3)
    )
    force = -gradients.z - now.z
    if not dynamics.update.stays_at_minimum:
        force -= _force_through_network(energy, now.network, response, gradients)
    z, kernel_state = dynamics.kernel.step(
        now.z, now.kernel_state, force, plan.step_size, plan.noise
    )
    iteration = Iteration(
        theta=response.theta,
        gradients=gradients,
        neck=response.neck,
        encoder_pullback=lambda cotangent: response.pullback(cotangent)[0],
        next_inputs=setting.inputs(z),
        next_z=z,
        plan=plan.update,
    )
    seen = gradients.evaluation
    tracker = now.tracker
    if dynamics.update.stays_at_minimum:
        tracker = refresh(energy, tracker, response.theta, seen.drift)
    updated = dynamics.update.step(now.network, now.update_memory, energy, tracker, iteration)
    more = Sums(seen.data_energy, seen.exact_energy, updated.lag)
    return Iterate(
        network=updated.network,
        update_memory=updated.memory,
        z=z,
        kernel_state=kernel_state,
        neck_moment=now.neck_moment + response.neck.T @ response.neck / len(response.neck),
        tracker=tracker,
        sums=jax.tree.map(jnp.add, now.sums, more),
    )


def _respond(setting: Setting, now: Iterate, *, key: PRNGKeyArray) -> Response:
    """Evaluate the w-network at ``z`` and ``w``."""

    def neck(encoder: Encoder, z: Array) -> Array:
        return perturb_neck(encode(encoder, setting.inputs(z)), setting.shape.neck_sd, key)

    necks, pullback = jax.vjp(neck, now.network.encoder, now.z)
    return Response(necks, pullback, mean_answer(now.network, necks) / setting.units)


def _differentiate(
    update: AbstractUpdate,
    setting: Setting,
    energy: Energy,
    response: Response,
    z: Float[Array, " n"],
    *,
    key: PRNGKeyArray,
) -> Gradients:
    """Return the derivatives of ``lambda U``, those by the parameters in the units of
    the w-network's answer.
    """
    gradients = update.gradients(energy, response.theta, z, key=key)
    return gradients._replace(
        theta=gradients.theta / setting.units,
        for_weights=gradients.for_weights / setting.units,
    )


def _force_through_network(
    energy: Energy, network: HyperNetwork, response: Response, gradients: Gradients
) -> Float[Array, " n"]:
    """Return the derivative of ``lambda U`` by the errors along the path through the
    w-network: by ``theta_bar``, and by the scatter of the answers.
    """
    neck = response.neck
    by_neck = network.out @ gradients.theta / len(neck) + scatter_gradient(
        network, neck, energy.weights.scatter
    )
    return response.pullback(by_neck)[1]
