"""Damped Gauss-Newton steps, shared by all methods that fit.

With fewer residual rows than parameters, the usual case for a network, the step is solved in
the dual form: the m x m matrix ``J J^T + mu I`` is factored instead of the p x p one. All of
this wants float64: condition numbers reach 1e15.
"""

import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

from .model import Data, Model


def stack_linearisation(
    model: Model, theta: Float[Array, " p"], data: Data, exact_weight: Float[Array, ""]
) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
    """All residual rows and their (negated) Jacobian, that of the means."""
    parts = model.linearise(theta, data)
    weights = [exact_weight if g.exact else 1.0 for g in model.groups]
    residual = jnp.concatenate([parts[g.name][0] * w for g, w in zip(model.groups, weights, strict=True)])
    jacobian = jnp.concatenate([parts[g.name][1] * w for g, w in zip(model.groups, weights, strict=True)])
    return residual, jacobian


def damped_step(residual: Float[Array, " m"], jacobian: Float[Array, "m p"], damping: Float[Array, ""]) -> Float[Array, " p"]:
    """The step that minimises ``|r - J d|^2 + mu |d|^2`` with ``mu`` relative to the mean of ``diag(J J^T)``.

    The smaller of the two normal matrices is factored. Not finite when that fails for want of damping.

    Example:
        >>> J = jnp.array([[2.0, 0.0]])
        >>> damped_step(jnp.array([1.0]), J, jnp.asarray(0.0)).tolist()
        [0.5, 0.0]
    """
    m, p = jacobian.shape
    mu = damping * jnp.sum(jacobian**2) / m
    if m <= p:
        gram = jacobian @ jacobian.T + mu * jnp.eye(m, dtype=jacobian.dtype)
        return jacobian.T @ jsl.cho_solve(jsl.cho_factor(gram), residual)
    normal = jacobian.T @ jacobian + mu * jnp.eye(p, dtype=jacobian.dtype)
    return jsl.cho_solve(jsl.cho_factor(normal), jacobian.T @ residual)
