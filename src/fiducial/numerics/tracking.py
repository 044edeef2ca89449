"""Gauss-Newton steps that keep parameters at the least-squares fit while the errors
move.

Where the equation holds exactly, solutions are told apart by a few directions. How to
go along them is known from the pilot fit and turned with the solution; exact rows are
restored with the pilot fit's factorisation. Steps follow the *true* gradient of the
data's energy, so that they end only where it is least. What the next move of the errors
will do to the fit is foreseen with the same tangent, so that the parameters do not lag
behind."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

from ..device import apply_if
from ..model.model import Data, Model
from .energy import Energy, Evaluation
from .linear_systems import damped_solver, eliminate
from .linearisation import CORRECTION, RELEASE, Linearisation, jacobians, most_directions
from .tangents import informed_block, tangent_view

_LONGEST = 0.1
"""The logarithm of an unknown noise size moves no further than this in one step."""
_CAUTION = 30.0
"""Where a whole function is free, steps are so many times more costly than the ridge
says: the network bends within them.
"""


_TURN, _FACTOR = 0.05, 0.2
"""Where exact rows have slipped so far, in standard errors of the data, the tangent
is turned, and they are factored anew.
"""


class Tracker(NamedTuple):
    """How the parameters follow the data.

    Attributes:
        along: how to move at the pilot fit so that each informed direction rises by one
            and exact rows stay.
        restore: how to move so that exact rows fall by given amounts and informed
            directions stay; single precision is enough.
        moves: the first, turned to where the solution is.
        tangent: what they do to the whitened means of the noisy rows.
        informed: orthonormal directions of the noisy rows that are informed at the
            pilot fit, times the roots of their shares.
        longest: how far parameters go in a step at most: as far as at the pilot fit for
            a standard error. Where a network can hardly go on in some direction, others
            would have them go any distance.
    """

    along: Float[Array, "p r"]
    restore: Float[Array, "p e"]
    moves: Float[Array, "p r"]
    tangent: Float[Array, "k r"]
    informed: Float[Array, "k k"]
    longest: Float[Array, ""]


class Followed(NamedTuple):
    """Where the parameters go, and how far off the fit they were (a sum of squares,
    in standard errors).
    """

    theta: Float[Array, " p"]
    lag: Float[Array, ""]


def tracker(model: Model, fit: Linearisation) -> Tracker:
    """At the pilot fit."""
    along = fit.along[:, : most_directions(model)]
    restore = fit.restore - fit.along @ (fit.basis.T @ fit.side_effect)
    longest = jnp.sqrt(jnp.max(jnp.sum(along**2, axis=0), initial=0.0))
    at = Tracker(
        along,
        restore,
        along,
        fit.basis[:, : along.shape[1]],
        fit.basis * jnp.sqrt(fit.share),
        longest,
    )
    return turn(model, fit.theta, fit.theta, at)


def renew(
    energy: Energy, at: Tracker, theta: Float[Array, " p"], slip: Float[Array, " e"]
) -> Tracker:
    """The same with the exact rows factored anew at ``theta``, where they have slipped
    too far.

    The pilot fit's factorisation brings back small slips only: far from it corrections
    fall short or overshoot, and the next are larger.

    Arguments:
        energy: the energy.
        at: how to follow so far.
        theta: the parameters.
        slip: how far exact rows are from where the pilot fit has them.
    """
    model, pilot = energy.model, energy.fit.theta
    if model.has_free_function or not slip.size:
        return at
    size = slip_size(energy, slip)
    at = apply_if(size > _FACTOR, lambda at: _factored(model, pilot, theta, at), at)
    return apply_if(size > _TURN, lambda at: turn(model, pilot, theta, at), at)


def slip_size(energy: Energy, slip: Float[Array, " e"]) -> Float[Array, ""]:
    """How far exact rows have slipped, in standard errors of the data."""
    return (energy.model.precision(energy.fit.theta) * jnp.linalg.norm(slip)).astype(slip.dtype)


def _factored(
    model: Model, pilot: Float[Array, " p"], theta: Float[Array, " p"], at: Tracker
) -> Tracker:
    """How to move from ``theta`` along the pilot fit's directions, and so that exact
    rows fall by given amounts while these stay.
    """
    stretch, directions = (
        jnp.asarray(model.prior_scale)[:, None],
        at.informed[:, : at.along.shape[1]].astype(jnp.float64),
    )
    noisy, exact = (
        j * stretch.T
        for j in jacobians(model, theta.astype(jnp.float64), pilot.astype(jnp.float64))
    )
    held = damped_solver(exact, jnp.asarray(RELEASE * len(exact)))(exact @ noisy.T)
    along = (noisy.T - held) @ directions
    back = damped_solver(exact, jnp.asarray(CORRECTION * len(exact)))(jnp.eye(len(exact)))
    rise = directions.T @ noisy @ jnp.concatenate([along, back], axis=1)
    real = jnp.sum(directions**2, axis=0) > 0
    rise = jnp.where(real[:, None], rise, 0.0)
    along = (
        along
        @ eliminate(informed_block(rise[:, : len(real)], real), jnp.diag(real.astype(jnp.float64)))[
            0
        ]
    )
    back = back - along @ rise[:, len(real) :]
    return at._replace(
        along=(stretch * along).astype(at.along.dtype),
        restore=(stretch * back).astype(at.restore.dtype),
    )


def turn(
    model: Model, pilot: Float[Array, " p"], theta: Float[Array, " p"], at: Tracker
) -> Tracker:
    """The same with the tangent at ``theta``."""
    if model.has_free_function:
        return at
    seen = tangent_view(model, pilot, theta, at.along, at.restore)
    return at._replace(
        moves=seen.moves.astype(at.along.dtype), tangent=seen.tangent.astype(at.along.dtype)
    )


def follow(
    energy: Energy,
    at: Tracker,
    theta: Float[Array, " p"],
    gradient: Float[Array, " p"],
    seen: Evaluation,
    z: Float[Array, " n"],
    data: Data,
) -> Followed:
    """Where the fit is once the errors have moved to ``z``.

    Arguments:
        energy: the energy.
        at: how to follow.
        theta: parameters before.
        gradient: of the data's energy there (and the ridge's), for the errors before.
        seen: what that evaluation saw.
        z: the errors now.
        data: observed values.
    """
    model, place, pilot, dtype = (
        energy.model,
        energy.model.noise_slice,
        energy.fit.theta,
        theta.dtype,
    )

    def inside(rows: Array) -> Array:
        return at.informed.T @ energy.collapse(rows)

    if place.stop > place.start:
        # how unknown error sizes must change; they alone among the parameters act
        # differently in every step

        def gap(raw: Array) -> Array:
            return energy.gap(seen.means, theta.at[place].set(raw), z, data)

        rows, columns = gap(theta[place]), jax.jacfwd(gap)(theta[place])
        shares = jax.vmap(inside, in_axes=1, out_axes=1)(columns)
        right = columns.T @ rows - shares.T @ inside(rows)
        move = -eliminate(columns.T @ columns - shares.T @ shares, right[:, None])[0][:, 0]
        theta = theta.at[place].add(jnp.clip(move, -_LONGEST, _LONGEST))
    coming = energy.collapse(energy.gap(seen.means, theta, z, data) - seen.gap)
    if not model.has_free_function:
        real = jnp.sum(at.along**2, axis=0) > 0
        gram = informed_block(at.tangent.T @ at.tangent, real)
        right = jnp.stack([-at.moves.T @ gradient / energy.typical, at.tangent.T @ coming], axis=1)
        found, _ = eliminate(gram, jnp.where(real[:, None], right, 0.0))
        move = at.moves @ (found[:, 0] + found[:, 1])
        restored = (at.restore @ seen.slip.astype(at.restore.dtype)).astype(dtype)
        move = _short(move, at.tangent @ (found[:, 0] + found[:, 1]))
        # what has slipped is brought back before the next slips
        move, restored = (
            _within(move / jnp.maximum(1.0, slip_size(energy, seen.slip)), at.longest),
            _within(restored, at.longest),
        )
        return Followed(theta + move - restored, right[:, 0] @ found[:, 0])
    # where a whole function is free the tangent turns too fast for that of the pilot
    # fit, but there are fewer rows
    noisy, exact = (j.astype(dtype) for j in jacobians(model, theta, pilot.astype(dtype)))
    free = jnp.asarray(model.prior_scale, dtype).at[place].set(0.0)
    jacobian = jnp.concatenate([noisy, jnp.sqrt(energy.firmness) * exact]) * free
    slopes = free[:, None] * jnp.stack([gradient / energy.typical, -noisy.T @ coming], axis=1)
    factor = jsl.cho_factor(jacobian @ jacobian.T + _CAUTION * jnp.eye(len(jacobian), dtype=dtype))
    found = (
        -free[:, None] * (slopes - jacobian.T @ jsl.cho_solve(factor, jacobian @ slopes)) / _CAUTION
    )
    move = found[:, 0] + found[:, 1]
    return Followed(theta + _short(move, noisy @ move), jnp.sum((noisy @ found[:, 0]) ** 2))


def _short(move: Float[Array, " p"], effect: Float[Array, " k"]) -> Float[Array, " p"]:
    """The same move, shortened where it would change a datum by more than a standard
    error: the tangent is not good for more.
    """
    return move / jnp.maximum(1.0, jnp.max(jnp.abs(effect)))


def _within(move: Float[Array, " p"], longest: Float[Array, ""]) -> Float[Array, " p"]:
    """The same move, no longer than that."""
    return move * jnp.minimum(
        1.0, longest / jnp.maximum(jnp.linalg.norm(move), jnp.finfo(move.dtype).tiny)
    )
