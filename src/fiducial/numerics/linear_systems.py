"""Linear systems of least squares: damped normal equations and small dense systems.

With fewer rows than parameters, the usual case for a network, the normal equations are
solved in their dual form: the m x m matrix ``J J^T + cost`` is factored instead of the
p x p one. All of this wants float64: condition numbers reach 1e15.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

_LOWER = False
"""Which triangle holds the Cholesky factor."""


class NormalEquations(NamedTuple):
    """Factored normal equations ``J^T J + diag(cost)``.

    Attributes:
        jacobian: the Jacobian J.
        cost: one cost for all parameters, or one for each.
        scaled: ``J / cost`` where the dual form is used and each parameter has a cost
            of its own, else None.
        root: Cholesky factor of the smaller matrix, m x m (dual) or p x p.
    """

    jacobian: Float[Array, "m p"]
    cost: Float[Array, "*p"]
    scaled: Float[Array, "m p"] | None
    root: Float[Array, "n n"]

    def solve(self, residual: Float[Array, "m *k"]) -> Float[Array, "p *k"]:
        """Return the step d that minimises ``|r - J d|^2 + sum(cost d^2)``."""
        m, p = self.jacobian.shape
        if m > p:
            return jsl.cho_solve((self.root, _LOWER), self.jacobian.T @ residual)
        left = self.jacobian if self.scaled is None else self.scaled
        return left.T @ jsl.cho_solve((self.root, _LOWER), residual)


def normal_equations(jacobian: Float[Array, "m p"], cost: Float[Array, "*p"]) -> NormalEquations:
    """Factor the smaller form of ``J^T J + diag(cost)``.

    Solutions are not finite where the factorisation fails because the cost is too
    small.

    Arguments:
        jacobian: the Jacobian J.
        cost: one cost for all parameters, or one for each.

    Example:
        >>> system = normal_equations(jnp.array([[2.0, 0.0]]), jnp.array([4.0, 1.0]))
        >>> [round(v, 4) for v in system.solve(jnp.array([1.0])).tolist()]
        [0.25, 0.0]
    """
    m, p = jacobian.shape
    scaled = None
    if m > p:
        matrix = jacobian.T @ jacobian + cost * jnp.eye(p, dtype=jacobian.dtype)
    elif cost.ndim == 0:  # spares a second Jacobian
        matrix = jacobian @ jacobian.T + cost * jnp.eye(m, dtype=jacobian.dtype)
    else:
        scaled = jacobian / cost
        matrix = scaled @ jacobian.T + jnp.eye(m, dtype=jacobian.dtype)
    return NormalEquations(jacobian, cost, scaled, jsl.cho_factor(matrix, lower=_LOWER)[0])


def damping_cost(jacobian: Float[Array, "m p"], damping: Float[Array, ""]) -> Float[Array, ""]:
    """Return the cost of all parameters that belongs to a damping, which is relative to
    the mean squared row of the Jacobian.

    Example:
        >>> float(damping_cost(jnp.array([[2.0, 0.0], [0.0, 0.0]]), jnp.asarray(0.5)))
        1.0
    """
    return damping * jnp.sum(jacobian**2) / len(jacobian)


def damped_solver(
    jacobian: Float[Array, "m p"], damping: Float[Array, ""]
) -> Callable[[Float[Array, "m *k"]], Float[Array, "p *k"]]:
    """Factor damped normal equations once, to solve for any number of residuals.

    Arguments:
        jacobian: the Jacobian J.
        damping: one cost for all parameters, relative to the mean squared row of J.

    Example:
        >>> solve = damped_solver(jnp.array([[2.0, 0.0]]), jnp.asarray(1.0))
        >>> [round(v, 4) for v in solve(jnp.array([1.0])).tolist()]
        [0.25, 0.0]
    """
    return normal_equations(jacobian, damping_cost(jacobian, damping)).solve


def eliminate(
    matrix: Float[Array, "n n"], right: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, ""]]:
    """Solve a small positive definite system by Gaussian elimination, written out.

    A batch of tiny systems is faster this way than in calls to LAPACK, several of which
    at once can also deadlock in XLA's threads on a CPU.

    Returns:
        The solution, and the log-determinant of the matrix.

    Example:
        >>> matrix, right = jnp.diag(jnp.array([2.0, 4.0])), jnp.array([[2.0], [2.0]])
        >>> found, log_determinant = eliminate(matrix, right)
        >>> found.ravel().tolist(), round(float(log_determinant), 4)
        ([1.0, 0.5], 2.0794)
    """
    n = len(matrix)
    log_determinant = jnp.asarray(0.0)
    for i in range(n):
        pivot = matrix[i, i]
        log_determinant += jnp.log(pivot)
        others = jnp.where(jnp.arange(n) == i, 0.0, matrix[:, i] / pivot)
        right = right - jnp.outer(others, right[i])
        matrix = matrix - jnp.outer(others, matrix[i])
    return right / jnp.diagonal(matrix)[:, None], log_determinant


def solve_small(
    matrix: Float[Array, "n n"], right: Float[Array, "n k"]
) -> tuple[Float[Array, "n k"], Float[Array, ""]]:
    """Solve any small regular system, through its normal equations.

    Returns:
        The solution, and the logarithm of the absolute determinant of the matrix.

    Example:
        >>> matrix, right = jnp.array([[-2.0]]), jnp.array([[4.0]])
        >>> found, log_determinant = solve_small(matrix, right)
        >>> found.tolist(), round(float(log_determinant), 4)
        ([[-2.0]], 0.6931)
    """
    found, log_determinant = eliminate(matrix.T @ matrix, matrix.T @ right)
    return found, 0.5 * log_determinant
