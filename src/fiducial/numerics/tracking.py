"""Gauss-Newton steps that keep the parameters at the least-squares fit while the errors
move.

For given errors ``z`` the parameters that Algorithm 1 aims at minimise the energy over
``theta``. Where the equation holds exactly, solutions near the pilot fit differ along a
few informed directions only. With ``M`` the moves of the parameters along these
directions, ``T = J M`` the tangent (what they do to the whitened means) and ``R`` moves
that bring exact rows back, one step goes from ``theta`` to

    theta + M (T^T T)^-1 (-M^T dU/dtheta / kappa + T^T (gap(z') - gap(z))) - R drift.

The first term follows the *true* gradient of the energy, so that steps end only where
it is least; the second foresees what the next errors ``z'`` do to the fit, so that the
parameters do not lag behind; the third is a chord step back to the equation. ``M`` and
``R`` come from the pilot fit. ``M`` is turned with the solution, and both are computed
anew where the exact rows have drifted too far.

Where a whole function is free, tangents turn too fast for that, but there are fewer
rows: each step then has a Jacobian of its own."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

from ..device import apply_if
from ..model.model import Model
from .energy import Energy, Evaluation
from .linear_systems import damped_solver, eliminate
from .linearisation import CORRECTION, RELEASE, Linearisation, jacobians, most_directions
from .tangents import informed_block, tangent_view

_LONGEST_SIZE_STEP = 0.1
"""Largest change of the logarithm of an unknown noise size in one step, about a tenth
of the size.
"""
_CAUTION = 30.0
"""Factor on the ridge of a step where a whole function is free: the network bends
within longer steps, which the ridge of the fit does not count.
"""
_TURN_BEYOND = 0.05
"""Drift of the exact rows, in standard errors of the data, beyond which the tangent is
turned within a draw.
"""
_REFACTOR_BEYOND = 0.2
"""Drift of the exact rows, in standard errors of the data, beyond which they are
factored anew. Without, straight lines through eight data drift away from their
equation (tests/exact/test_efi.py, few data with large errors).
"""


class Tracker(NamedTuple):
    """Moves by which the parameters follow the data.

    Attributes:
        along: moves at the last factorisation, each of which raises one informed
            direction by one and keeps the exact rows.
        restore: ``R``, moves that lower each exact row by one and keep the informed
            directions; single precision is enough.
        moves: ``M``, the moves ``along`` turned to where the solution is.
        tangent: ``T``, what ``moves`` do to the whitened means of the noisy rows.
        informed: orthonormal directions of the noisy rows that are informed at the
            pilot fit, times the roots of their shares.
        longest: largest length of a step: that of a move by one standard error at the
            pilot fit. Where a network can hardly go on in some direction, others would
            have to go any distance.
    """

    along: Float[Array, "p r"]
    restore: Float[Array, "p e"]
    moves: Float[Array, "p r"]
    tangent: Float[Array, "k r"]
    informed: Float[Array, "k k"]
    longest: Float[Array, ""]


class Followed(NamedTuple):
    """Outcome of a step.

    Attributes:
        theta: the parameters after it.
        lag: squared distance of the parameters from the fit before it, in standard
            errors.
    """

    theta: Float[Array, " p"]
    lag: Float[Array, ""]


def start_tracking(model: Model, fit: Linearisation) -> Tracker:
    """Return the tracker at the pilot fit."""
    along = fit.along[:, : most_directions(model)]
    tracker = Tracker(
        along=along,
        restore=fit.restore - fit.along @ (fit.basis.T @ fit.side_effect),
        moves=along,
        tangent=fit.basis[:, : along.shape[1]],
        informed=fit.basis * jnp.sqrt(fit.share),
        longest=jnp.sqrt(jnp.max(jnp.sum(along**2, axis=0), initial=0.0)),
    )
    return turn_tangent(model, fit.theta, fit.theta, tracker)


def refresh(
    energy: Energy, tracker: Tracker, theta: Float[Array, " p"], drift: Float[Array, " e"]
) -> Tracker:
    """Return the tracker with moves and tangent computed anew at ``theta``, where the
    exact rows have drifted too far.

    The pilot fit's factorisation brings back small drifts only: far from it corrections
    fall short or overshoot, and the next ones are larger.

    Arguments:
        energy: the energy.
        tracker: the tracker so far.
        theta: the parameters.
        drift: how far exact rows are from where the pilot fit has them.
    """
    model, pilot = energy.model, energy.fit.theta
    if model.has_free_function or not drift.size:
        return tracker
    size = drift_in_errors(energy, drift)
    tracker = apply_if(
        size > _REFACTOR_BEYOND, lambda t: _refactor(model, pilot, theta, t), tracker
    )
    return apply_if(size > _TURN_BEYOND, lambda t: turn_tangent(model, pilot, theta, t), tracker)


def drift_in_errors(energy: Energy, drift: Float[Array, " e"]) -> Float[Array, ""]:
    """Return the length of a drift of the exact rows, in standard errors of the data."""
    return (energy.model.precision(energy.fit.theta) * jnp.linalg.norm(drift)).astype(drift.dtype)


def _refactor(
    model: Model, pilot: Float[Array, " p"], theta: Float[Array, " p"], tracker: Tracker
) -> Tracker:
    """Return the tracker with ``along`` and ``restore`` computed at ``theta``, for the
    informed directions of the pilot fit.
    """
    scale = jnp.asarray(model.prior_scale)[:, None]
    directions = tracker.informed[:, : tracker.along.shape[1]].astype(jnp.float64)
    noisy, exact = (
        j * scale.T for j in jacobians(model, theta.astype(jnp.float64), pilot.astype(jnp.float64))
    )
    held = damped_solver(exact, jnp.asarray(RELEASE * len(exact)))(exact @ noisy.T)
    along = (noisy.T - held) @ directions
    back = damped_solver(exact, jnp.asarray(CORRECTION * len(exact)))(jnp.eye(len(exact)))
    rise = directions.T @ noisy @ jnp.concatenate([along, back], axis=1)
    real = jnp.sum(directions**2, axis=0) > 0
    rise = jnp.where(real[:, None], rise, 0.0)
    unit = jnp.diag(real.astype(jnp.float64))
    along = along @ eliminate(informed_block(rise[:, : len(real)], real), unit)[0]
    back = back - along @ rise[:, len(real) :]
    return tracker._replace(
        along=(scale * along).astype(tracker.along.dtype),
        restore=(scale * back).astype(tracker.restore.dtype),
    )


def turn_tangent(
    model: Model, pilot: Float[Array, " p"], theta: Float[Array, " p"], tracker: Tracker
) -> Tracker:
    """Return the tracker with ``moves`` and ``tangent`` at ``theta``."""
    if model.has_free_function:
        return tracker
    view = tangent_view(model, pilot, theta, tracker.along, tracker.restore)
    dtype = tracker.along.dtype
    return tracker._replace(moves=view.moves.astype(dtype), tangent=view.tangent.astype(dtype))


def follow(
    energy: Energy,
    tracker: Tracker,
    theta: Float[Array, " p"],
    gradient: Float[Array, " p"],
    evaluation: Evaluation,
    z: Float[Array, " n"],
) -> Followed:
    """Return the parameters of the least-squares fit once the errors have moved to
    ``z``, by one Gauss-Newton step.

    Arguments:
        energy: the energy.
        tracker: the moves to follow by.
        theta: the parameters before.
        gradient: of the data's energy there (and the ridge's), for the errors before.
        evaluation: by-products of that evaluation.
        z: the errors now.
    """
    theta = _with_sizes_moved(energy, tracker, theta, evaluation, z)
    change = energy.collapse(energy.gap(evaluation.means, theta, z) - evaluation.gap)
    if energy.model.has_free_function:
        return _follow_free_function(energy, theta, gradient, change)
    return _follow_solution(energy, tracker, theta, gradient, change, evaluation.drift)


def _with_sizes_moved(
    energy: Energy,
    tracker: Tracker,
    theta: Float[Array, " p"],
    evaluation: Evaluation,
    z: Float[Array, " n"],
) -> Float[Array, " p"]:
    """Return the parameters with unknown noise sizes moved by a Gauss-Newton step on the
    gaps, less the informed part of these, which the other parameters can take away.

    Sizes alone among the parameters act differently in every step, as they multiply the
    errors.
    """
    place = energy.model.noise_slice
    if place.stop == place.start:
        return theta

    def gap(raw: Array) -> Array:
        return energy.gap(evaluation.means, theta.at[place].set(raw), z)

    def informed_part(rows: Array) -> Array:
        return tracker.informed.T @ energy.collapse(rows)

    rows = gap(theta[place])
    columns = jax.jacfwd(gap)(theta[place])
    informed = jax.vmap(informed_part, in_axes=1, out_axes=1)(columns)
    right = columns.T @ rows - informed.T @ informed_part(rows)
    move = -eliminate(columns.T @ columns - informed.T @ informed, right[:, None])[0][:, 0]
    return theta.at[place].add(jnp.clip(move, -_LONGEST_SIZE_STEP, _LONGEST_SIZE_STEP))


def _follow_solution(
    energy: Energy,
    tracker: Tracker,
    theta: Float[Array, " p"],
    gradient: Float[Array, " p"],
    change: Float[Array, " k"],
    drift: Float[Array, " e"],
) -> Followed:
    """Return the step along the informed directions of an equation that holds exactly;
    see the module's text for its formula.
    """
    real = jnp.sum(tracker.along**2, axis=0) > 0
    gram = informed_block(tracker.tangent.T @ tracker.tangent, real)
    right = jnp.stack(
        [-tracker.moves.T @ gradient / energy.stiffness, tracker.tangent.T @ change], axis=1
    )
    found, _ = eliminate(gram, jnp.where(real[:, None], right, 0.0))
    coordinates = found[:, 0] + found[:, 1]
    move = _limit_effect(tracker.moves @ coordinates, tracker.tangent @ coordinates)
    # a drift is brought back before the next step adds to it
    move = _limit_length(move / jnp.maximum(1.0, drift_in_errors(energy, drift)), tracker.longest)
    back = (tracker.restore @ drift.astype(tracker.restore.dtype)).astype(theta.dtype)
    back = _limit_length(back, tracker.longest)
    return Followed(theta + move - back, lag=right[:, 0] @ found[:, 0])


def _follow_free_function(
    energy: Energy,
    theta: Float[Array, " p"],
    gradient: Float[Array, " p"],
    change: Float[Array, " k"],
) -> Followed:
    """Return the ridge-damped Gauss-Newton step where a whole function is free.

    With ``c`` for ``_CAUTION``, ``J`` the rows of all groups and both gradients ``g``
    in units of the prior scales, it is ``-(J^T J + c)^-1 g``, solved in the dual form.
    """
    model, dtype = energy.model, theta.dtype
    pilot = energy.fit.theta.astype(dtype)
    noisy, exact = (j.astype(dtype) for j in jacobians(model, theta, pilot))
    scale = jnp.asarray(model.prior_scale, dtype).at[model.noise_slice].set(0.0)
    jacobian = jnp.concatenate([noisy, jnp.sqrt(energy.exact_weight_ratio) * exact]) * scale
    slopes = scale[:, None] * jnp.stack([gradient / energy.stiffness, -noisy.T @ change], axis=1)
    factor = jsl.cho_factor(jacobian @ jacobian.T + _CAUTION * jnp.eye(len(jacobian), dtype=dtype))
    solved = slopes - jacobian.T @ jsl.cho_solve(factor, jacobian @ slopes)
    found = -scale[:, None] * solved / _CAUTION
    move = found[:, 0] + found[:, 1]
    return Followed(
        theta + _limit_effect(move, noisy @ move), lag=jnp.sum((noisy @ found[:, 0]) ** 2)
    )


def _limit_effect(move: Float[Array, " p"], effect: Float[Array, " k"]) -> Float[Array, " p"]:
    """Return the move, shortened where it would change a datum by more than a standard
    error: the tangent is not good for more.
    """
    return move / jnp.maximum(1.0, jnp.max(jnp.abs(effect)))


def _limit_length(move: Float[Array, " p"], longest: Float[Array, ""]) -> Float[Array, " p"]:
    """Return the move, shortened to a largest length."""
    length = jnp.maximum(jnp.linalg.norm(move), jnp.finfo(move.dtype).tiny)
    return move * jnp.minimum(1.0, longest / length)


def measure_lag(energy: Energy, tracker: Tracker, evaluation: Evaluation) -> Float[Array, ""]:
    """Return the squared distance of the parameters from the fit, in standard errors:
    the informed part of the gaps.
    """
    return jnp.sum((tracker.informed.T @ energy.collapse(evaluation.gap)) ** 2)
