"""The w-network of extended fiducial inference: from observations and their errors to
the parameters of a model.

Each noisy observation goes through an encoder to a narrow *neck* of ``d`` numbers, and
from there linearly to all ``p`` parameters:

    m_i       = encoder(x_i, y_i, z_i),    theta_i = m_i W + b    (the paper's g^)
    theta_bar = mean_i theta_i = mean(m) W + b                    (its equation A5)

Because the last layer is linear, the mean and the scatter of the answers need only the
neck, and a table of observations times parameters is never made:

    sum_i |theta_i - theta_bar|^2 = sum(S * (W W^T)),
    S = sum_i (m_i - mean(m)) (m_i - mean(m))^T

Here ``W`` is ``HyperNetwork.out`` and ``b`` is ``HyperNetwork.shift``."""

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Data, Model

_LEAK = 0.01
"""Slope of the leaky rectifiers below zero, the usual default of deep-learning
libraries; the paper names leaky rectifiers without a slope.
"""

Encoder = tuple[tuple[Float[Array, "_ _"], Float[Array, " _"]], ...]
"""Matrix and shift of each layer up to the neck."""


class HyperNetworkShape(eqx.Module):
    """Widths of the w-network, and which parameters it gives.

    Attributes:
        hidden: widths of the encoder's hidden layers.
        neck: width of the neck.
        neck_sd: standard deviation of the noise added to the neck (the paper's
            stochastic neck), 0 for none.
        last_layers: how many of the last layers of the model's network it gives; the
            others stay as the pilot fit has them. None for all.
    """

    hidden: tuple[int, ...]
    neck: int
    neck_sd: float = 0.0
    last_layers: int | None = None


class HyperNetwork(NamedTuple):
    """Weights of the w-network.

    Attributes:
        encoder: matrix and shift of each layer up to the neck.
        out: matrix from the neck to the parameters.
        shift: constant part of the parameters.
    """

    encoder: Encoder
    out: Float[Array, "d p"]
    shift: Float[Array, " p"]


def initial_network(
    theta: Float[Array, " p"], inputs: int, shape: HyperNetworkShape, *, key: PRNGKeyArray
) -> HyperNetwork:
    """Return a network that sends every observation to ``theta``: its encoder is
    random, and its last layer passes nothing of that on yet.

    The paper trains a random last layer for about 1,000 steps until every answer is
    near one theta, which ends in the same place.
    """
    sizes = (inputs, *shape.hidden, shape.neck)
    encoder = []
    for i, (a, b) in enumerate(itertools.pairwise(sizes)):
        matrix = jax.random.normal(jax.random.fold_in(key, i), (a, b), theta.dtype) * (2 / a) ** 0.5
        encoder.append((matrix, jnp.zeros(b, theta.dtype)))
    out = jnp.zeros((shape.neck, theta.size), theta.dtype)
    return HyperNetwork(tuple(encoder), out, theta)


def encoder_inputs(model: Model, data: Data, z: Float[Array, " n"]) -> Float[Array, "n i"]:
    """Return what the encoder is given for each noisy observation: its point, its value
    and its error, all of unit size.

    Errors of each group have a column of their own, which is zero for other groups.
    """
    box = model.problem.domain
    noisy = [g for g in model.groups if not g.exact]
    middle = (box.upper + box.lower) / 2
    half_width = (box.upper - box.lower) / 2
    points = jnp.concatenate([(g.points.array - middle) / half_width for g in noisy])
    tiny = jnp.finfo(z.dtype).tiny
    values = [
        (data[g.name] - jnp.mean(data[g.name])) / (jnp.std(data[g.name]) + tiny) for g in noisy
    ]
    group = np.concatenate([np.full(g.size, i) for i, g in enumerate(noisy)])
    errors = jnp.where(group[:, None] == np.arange(len(noisy)), z[:, None], 0.0)
    columns = [points, jnp.concatenate(values)[:, None], errors]
    return jnp.concatenate(columns, axis=1).astype(z.dtype)


def encode(encoder: Encoder, rows: Float[Array, "n i"]) -> Float[Array, "n d"]:
    """Return the neck of each observation: leaky rectifiers after all layers but the
    last.
    """
    for matrix, shift in encoder[:-1]:
        rows = jax.nn.leaky_relu(rows @ matrix + shift, _LEAK)
    matrix, shift = encoder[-1]
    return rows @ matrix + shift


def perturb_neck(neck: Float[Array, "n d"], sd: float, key: PRNGKeyArray) -> Float[Array, "n d"]:
    """Return the neck with N(0, sd^2) noise added, and unchanged for ``sd = 0``."""
    if sd:
        neck = neck + sd * jax.random.normal(key, neck.shape, neck.dtype)
    return neck


def mean_answer(network: HyperNetwork, neck: Float[Array, "n d"]) -> Float[Array, " p"]:
    """Return ``theta_bar``, the mean of the answers for all observations."""
    return jnp.mean(neck, axis=0) @ network.out + network.shift


def respond(network: HyperNetwork, rows: Float[Array, "n i"]) -> Float[Array, " p"]:
    """Return ``theta_bar`` for given inputs of the encoder."""
    return mean_answer(network, encode(network.encoder, rows))


def scatter_matrix(neck: Float[Array, "n d"]) -> Float[Array, "d d"]:
    """Return ``S``, the sums of products of deviations of the neck from its mean.

    The scatter of the answers is ``sum(S * (W W^T))``.
    """
    off = neck - jnp.mean(neck, axis=0)
    return off.T @ off


def scatter_gradient(
    network: HyperNetwork, neck: Float[Array, "n d"], weight: Float[Array, ""]
) -> Float[Array, "n d"]:
    """Return the derivative of ``weight * scatter`` by the neck."""
    return 2 * weight * (neck - jnp.mean(neck, axis=0)) @ (network.out @ network.out.T)
