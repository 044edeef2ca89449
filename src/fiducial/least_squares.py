"""Damped Gauss-Newton steps, shared by all methods that fit.

With fewer residual rows than parameters, the usual case for a network, the step is solved in
the dual form: the m x m matrix ``J J^T + mu I`` is factored instead of the p x p one. All of
this wants float64: condition numbers reach 1e15.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

from .model import Data, Model


def stack_rows(model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]) -> Float[Array, " m"]:
    """All residual rows, exact groups multiplied by their weight."""
    rows = model.residuals(theta, data)
    return jnp.concatenate([rows[g.name] * (exact_weight if g.exact else 1.0) for g in model.groups])


def stack_linearisation(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
    """All residual rows and their (negated) Jacobian, that of the means."""
    parts = model.linearise(theta, data)
    weights = [exact_weight if g.exact else 1.0 for g in model.groups]
    residual = jnp.concatenate([parts[g.name][0] * w for g, w in zip(model.groups, weights, strict=True)])
    jacobian = jnp.concatenate([parts[g.name][1] * w for g, w in zip(model.groups, weights, strict=True)])
    return residual, jacobian


def damped_solver(jacobian: Float[Array, "m p"], damping: Float[Array, ""]) -> Callable[[Float[Array, " m"]], Float[Array, " p"]]:
    """Factor once, then solve for any number of residuals.

    The step for a residual r minimises ``|r - J d|^2 + mu |d|^2``, with ``mu`` relative to the mean
    of ``diag(J J^T)``. The smaller of the two normal matrices is factored; steps are not finite
    when that fails for want of damping.

    Example:
        >>> solve = damped_solver(jnp.array([[2.0, 0.0]]), jnp.asarray(0.0))
        >>> solve(jnp.array([1.0])).tolist()
        [0.5, 0.0]
    """
    m, p = jacobian.shape
    mu = damping * jnp.sum(jacobian**2) / m
    if m <= p:
        dual = jsl.cho_factor(jacobian @ jacobian.T + mu * jnp.eye(m, dtype=jacobian.dtype))
        return lambda residual: jacobian.T @ jsl.cho_solve(dual, residual)
    normal = jsl.cho_factor(jacobian.T @ jacobian + mu * jnp.eye(p, dtype=jacobian.dtype))
    return lambda residual: jsl.cho_solve(normal, jacobian.T @ residual)


def curvature(rows: Callable[[Float[Array, " p"]], Float[Array, " m"]], theta: Float[Array, " p"], along: Float[Array, " p"]) -> Float[Array, " m"]:
    """The second derivative of the rows along a direction.

    Example:
        >>> curvature(lambda t: t**3, jnp.array([2.0]), jnp.array([1.0])).tolist()
        [12.0]
    """

    def slope(t: Float[Array, " p"]) -> Float[Array, " m"]:
        return jax.jvp(rows, (t,), (along,))[1]

    return jax.jvp(slope, (theta,), (along,))[1]
