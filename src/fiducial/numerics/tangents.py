"""The model around one solution: its means, and how they respond to moving along the
informed directions of a fit.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..model.model import Model
from .linearisation import exact_means, noisy_means


class TangentView(NamedTuple):
    """Means at some parameters, and their derivative along r informed directions.

    Attributes:
        noisy: whitened means of the noisy rows.
        exact: scaled means of the exact rows.
        moves: moves of the parameters along which the exact rows stay.
        tangent: response of the noisy rows to these moves.
    """

    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    moves: Float[Array, "p r"]
    tangent: Float[Array, "k r"]


def tangent_view(
    model: Model,
    fit: Float[Array, " p"],
    theta: Float[Array, " p"],
    along: Float[Array, "p r"],
    restore: Float[Array, "p e"],
    count: Int[Array, ""] | None = None,
) -> TangentView:
    """Return the means at ``theta``, with the moves of a fit corrected so that they
    keep the exact rows there.

    Arguments:
        model: the problem made computable.
        fit: the fit, whose errors are the unit of the noisy rows.
        theta: the parameters.
        along: moves that keep the exact rows at the fit.
        restore: how to move so that exact rows fall by given amounts.
        count: number of directions to look along, one after the other; the others have
            no moves. By default all at once.
    """
    noisy, push_noisy = jax.linearize(lambda t: noisy_means(model, t, fit), theta)
    exact, push_exact = jax.linearize(lambda t: exact_means(model, t), theta)
    if count is None:
        drift = jax.vmap(push_exact, in_axes=1, out_axes=1)(along)
        moves = along - (restore @ drift.astype(restore.dtype)).astype(along.dtype)
        tangent = jax.vmap(push_noisy, in_axes=1, out_axes=1)(moves.astype(theta.dtype))
        return TangentView(noisy, exact, moves, tangent)

    def look(i: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        moves, tangent = found
        move = along[:, i] - restore @ push_exact(along[:, i])
        return moves.at[:, i].set(move), tangent.at[:, i].set(push_noisy(move))

    none = jnp.zeros_like(along), jnp.zeros((noisy.size, along.shape[1]), noisy.dtype)
    return TangentView(noisy, exact, *jax.lax.fori_loop(0, count, look, none))


def informed_block(matrix: Float[Array, "r r"], informed: Bool[Array, " r"]) -> Float[Array, "r r"]:
    """Return a matrix with the identity outside the block of informed directions, so
    that determinants and solutions leave the others out.

    Example:
        >>> informed_block(jnp.full((2, 2), 3.0), jnp.array([True, False])).tolist()
        [[3.0, 0.0], [0.0, 1.0]]
    """
    return jnp.where(
        informed[:, None] & informed, matrix, jnp.eye(len(informed), dtype=matrix.dtype)
    )
