"""Damped Gauss-Newton steps, shared by all methods that fit.

With fewer residual rows than parameters, the usual case for a network, the step is
solved in the dual form: the m x m matrix ``J J^T + mu I`` is factored instead of the p
x p one. All of this wants float64: condition numbers reach 1e15."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Bool, Float

from ..model.model import Data, Model
from ..posing.groups import Group


def stack_rows(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> Float[Array, " m"]:
    """All residual rows, those of exact groups last and multiplied by their weight."""
    rows = model.residuals(theta, data)
    return jnp.concatenate(
        [rows[g.name] * (exact_weight if g.exact else 1.0) for g in _noisy_first(model)]
    )


def stack_linearisation(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
    """All residual rows and their (negated) Jacobian, that of the means, in the same
    order.
    """
    parts = model.rows_and_jacobians(theta, data)
    weights = [(g.name, exact_weight if g.exact else 1.0) for g in _noisy_first(model)]
    return tuple(jnp.concatenate([parts[name][i] * w for name, w in weights]) for i in (0, 1))  # type: ignore[return-value]


def _noisy_first(model: Model) -> list[Group]:
    return sorted(model.groups, key=lambda g: g.exact)


def ridge_solver(
    jacobian: Float[Array, "m p"], cost: Float[Array, "*p"]
) -> Callable[[Float[Array, "m *k"]], Float[Array, "p *k"]]:
    """Factor once, then solve for any number of residuals.

    The step for a residual r minimises ``|r - J d|^2 + sum(cost d^2)``, with one cost
    for all parameters or one for each. The smaller of the two normal matrices is
    factored, m x m or p x p; steps are not finite when that fails for want of cost.

    Example:
        >>> solve = ridge_solver(jnp.array([[2.0, 0.0]]), jnp.array([4.0, 1.0]))
        >>> [round(v, 4) for v in solve(jnp.array([1.0])).tolist()]
        [0.25, 0.0]
    """
    m, p = jacobian.shape
    if m <= p and cost.ndim == 0:  # spares a second Jacobian
        dual = jsl.cho_factor(jacobian @ jacobian.T + cost * jnp.eye(m, dtype=jacobian.dtype))
        return lambda residual: jacobian.T @ jsl.cho_solve(dual, residual)
    if m <= p:
        scaled = jacobian / cost
        dual = jsl.cho_factor(scaled @ jacobian.T + jnp.eye(m, dtype=jacobian.dtype))
        return lambda residual: scaled.T @ jsl.cho_solve(dual, residual)
    normal = jsl.cho_factor(jacobian.T @ jacobian + cost * jnp.eye(p, dtype=jacobian.dtype))
    return lambda residual: jsl.cho_solve(normal, jacobian.T @ residual)


def damped_solver(
    jacobian: Float[Array, "m p"], damping: Float[Array, ""]
) -> Callable[[Float[Array, "m *k"]], Float[Array, "p *k"]]:
    """The same with one cost for all parameters, relative to the mean of ``diag(J
    J^T)``.

    Example:
        >>> solve = damped_solver(jnp.array([[2.0, 0.0]]), jnp.asarray(1.0))
        >>> [round(v, 4) for v in solve(jnp.array([1.0])).tolist()]
        [0.25, 0.0]
    """
    return ridge_solver(jacobian, damping * jnp.sum(jacobian**2) / len(jacobian))


def eliminate(
    matrix: Float[Array, "n n"], right: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, ""]]:
    """Solution and log-determinant for a small positive definite matrix, written out.

    A batch of tiny systems is faster this way than in calls to LAPACK, several of which
    at once can also wait for each other for ever in XLA's threads on a CPU.

    Example:
        >>> matrix, right = jnp.diag(jnp.array([2.0, 4.0])), jnp.array([[2.0], [2.0]])
        >>> found, log_determinant = eliminate(matrix, right)
        >>> found.ravel().tolist(), round(float(log_determinant), 4)
        ([1.0, 0.5], 2.0794)
    """
    n, log_determinant = len(matrix), jnp.asarray(0.0)
    for i in range(n):
        pivot = matrix[i, i]
        log_determinant += jnp.log(pivot)
        others = jnp.where(jnp.arange(n) == i, 0.0, matrix[:, i] / pivot)
        right = right - jnp.outer(others, right[i])
        matrix = matrix - jnp.outer(others, matrix[i])
    return right / jnp.diagonal(matrix)[:, None], log_determinant


class Step(NamedTuple):
    """A step of Levenberg and Marquardt.

    Attributes:
        move: the step of the linear model.
        trial: where to go, the bend of the model followed too.
        predicted: by how much the linear model says that the cost falls.
    """

    move: Float[Array, " p"]
    trial: Float[Array, " p"]
    predicted: Float[Array, ""]


def ridge_step(
    residual: Float[Array, " m"],
    jacobian: Float[Array, "m p"],
    theta: Float[Array, " p"],
    *,
    damping: Float[Array, ""],
    ridge: Float[Array, "*p"],
    gone: Float[Array, " p"],
    bend: Callable[[Float[Array, " p"]], Float[Array, " m"]] | None,
) -> Step:
    """One step that lowers ``|r|^2 + sum(ridge gone^2)``.

    Arguments:
        residual: the rows r at theta.
        jacobian: their negated Jacobian.
        theta: where the step starts.
        damping: relative to the mean squared row of the Jacobian.
        ridge: cost of being away from where the ridge pulls to; 0 for none.
        gone: how far theta is from there.
        bend: the second derivative of the rows along a move, for geodesic acceleration:
            the bend of the model is followed, unless it would rule the step. None to
            leave it out.
    """
    cost = damping * jnp.sum(jacobian**2) / len(jacobian) + ridge
    solve, pull = ridge_solver(jacobian, cost), ridge / cost * gone
    move = solve(residual + jacobian @ pull) - pull
    predicted = (
        jnp.sum(residual**2)
        - jnp.sum((residual - jacobian @ move) ** 2)
        - jnp.sum(ridge * move * (move + 2 * gone))
    )
    whole = move if bend is None else bent(move, solve(0.5 * bend(move)))
    return Step(move, theta + whole, predicted)


def bent(move: Float[Array, " p"], correction: Float[Array, " p"]) -> Float[Array, " p"]:
    """A step with its correction for curvature, unless that would rule the step
    (geodesic acceleration).

    Example:
        >>> [float(bent(jnp.array([1.0]), jnp.array([c]))[0]) for c in (0.25, 0.75)]
        [1.25, 1.0]
    """
    return move + jnp.where(jnp.sum(correction**2) < 0.25 * jnp.sum(move**2), correction, 0.0)


def adapt_damping(
    damping: Float[Array, ""],
    growth: Float[Array, ""],
    better: Bool[Array, ""],
    gain: Float[Array, ""],
    lowest: float,
    highest: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Nielsen's rule: relax by how well the linear model predicted, tighten ever faster
    after failures.

    Arguments:
        damping: of the step that was tried.
        growth: factor for it after a failure.
        better: whether the step lowered the cost.
        gain: by how much, over what the linear model predicted.
        lowest: smallest damping.
        highest: largest damping.

    Returns:
        The damping and the growth for the next step.

    Example:
        >>> one, two, failed = jnp.asarray(1.0), jnp.asarray(2.0), jnp.asarray(False)
        >>> [float(v) for v in adapt_damping(one, two, failed, jnp.asarray(0.0), 0.0, 10.0)]
        [2.0, 4.0]
    """
    relaxed = damping * jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3)
    return jnp.clip(jnp.where(better, relaxed, damping * growth), lowest, highest), jnp.where(
        better, 2.0, 2 * growth
    )


def curvature(
    rows: Callable[[Float[Array, " p"]], Float[Array, " m"]],
    theta: Float[Array, " p"],
    along: Float[Array, " p"],
) -> Float[Array, " m"]:
    """The second derivative of the rows along a direction.

    Example:
        >>> curvature(lambda t: t**3, jnp.array([2.0]), jnp.array([1.0])).tolist()
        [12.0]
    """

    def slope(t: Float[Array, " p"]) -> Float[Array, " m"]:
        return jax.jvp(rows, (t,), (along,))[1]

    return jax.jvp(slope, (theta,), (along,))[1]
