"""The network of extended fiducial inference: from observations and their errors to the
parameters of a model.

Each observation with its error goes through an encoder to a *neck* of a few numbers,
and from there linearly to all parameters. The answer is the mean over the observations.
Because the last layer is linear, that mean, and how far single observations are from
it, need only the neck: a table of observations times parameters is never made."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_LEAK = 0.01


class HyperNetwork(NamedTuple):
    """Its weights.

    Attributes:
        encoder: matrix and shift of each layer up to the neck.
        out: from the neck to the parameters.
        shift: what is added there.
    """

    encoder: tuple[tuple[Float[Array, "i o"], Float[Array, " o"]], ...]
    out: Float[Array, "d p"]
    shift: Float[Array, " p"]


def initial_network(
    theta: Float[Array, " p"], inputs: int, hidden: tuple[int, ...], neck: int, *, key: PRNGKeyArray
) -> HyperNetwork:
    """A network that sends every observation to ``theta``: a random encoder, nothing of
    which is passed on yet.

    Training a random last layer towards one theta, as is usual, ends in the same place.
    """
    sizes = (inputs, *hidden, neck)
    encoder = []
    for i, (a, b) in enumerate(itertools.pairwise(sizes)):
        matrix = jax.random.normal(jax.random.fold_in(key, i), (a, b), theta.dtype) * (2 / a) ** 0.5
        encoder.append((matrix, jnp.zeros(b, theta.dtype)))
    return HyperNetwork(tuple(encoder), jnp.zeros((neck, theta.size), theta.dtype), theta)


def encode(
    encoder: tuple[tuple[Array, Array], ...], rows: Float[Array, "n i"]
) -> Float[Array, "n d"]:
    """The neck for each observation: leaky rectifiers, and none at the neck itself."""
    for matrix, shift in encoder[:-1]:
        rows = jax.nn.leaky_relu(rows @ matrix + shift, _LEAK)
    matrix, shift = encoder[-1]
    return rows @ matrix + shift


def answer(network: HyperNetwork, neck: Float[Array, "n d"]) -> Float[Array, " p"]:
    """The parameters: the mean over all observations."""
    return jnp.mean(neck, axis=0) @ network.out + network.shift


def scatter_matrix(neck: Float[Array, "n d"]) -> Float[Array, "d d"]:
    """Sums of products of deviations from the mean; ``sum(scatter_matrix * (out out^T))`` is
    how far answers of single observations scatter.
    """
    off = neck - jnp.mean(neck, axis=0)
    return off.T @ off
