"""Damped steps against NumPy's linear algebra, and the polish on a problem with an
exact solution.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.numerics.least_squares import (
    curvature,
    damped_solver,
    eliminate,
    ridge_solver,
    stack_linearisation,
    stack_rows,
)
from helpers import TINY, decay

pytestmark = pytest.mark.usefixtures("x64")


@pytest.mark.parametrize(("m", "p"), [(5, 12), (12, 5), (6, 6)], ids=["dual", "primal", "square"])
@pytest.mark.parametrize("damping", [1e-3, 0.1, 10.0])
def test_a_damped_step_is_ridge_regression(m, p, damping):
    random = np.random.default_rng(0)
    jacobian, residual = random.normal(size=(m, p)), random.normal(size=m)
    mu = damping * np.sum(jacobian**2) / m
    expected = np.linalg.solve(jacobian.T @ jacobian + mu * np.eye(p), jacobian.T @ residual)
    np.testing.assert_allclose(
        damped_solver(jnp.asarray(jacobian), jnp.asarray(damping))(jnp.asarray(residual)),
        expected,
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize(("m", "p"), [(5, 12), (12, 5)], ids=["dual", "primal"])
def test_without_damping_it_is_the_shortest_least_squares_step(m, p):
    random = np.random.default_rng(1)
    jacobian, residual = random.normal(size=(m, p)), random.normal(size=m)
    expected = np.linalg.lstsq(jacobian, residual, rcond=None)[0]
    np.testing.assert_allclose(
        damped_solver(jnp.asarray(jacobian), jnp.asarray(1e-14))(jnp.asarray(residual)),
        expected,
        rtol=1e-8,
    )


def test_curvature_is_the_second_derivative_along_a_line():
    random = np.random.default_rng(2)
    square, linear = random.normal(size=(3, 4, 4)), random.normal(size=(3, 4))
    along = random.normal(size=4)
    found = curvature(
        lambda t: jnp.einsum("i,mij,j->m", t, square, t) + linear @ t,
        jnp.asarray(random.normal(size=4)),
        jnp.asarray(along),
    )
    np.testing.assert_allclose(found, 2 * np.einsum("i,mij,j->m", along, square, along), rtol=1e-9)


def test_residual_rows_and_jacobian_belong_together():
    """The rows are weighted and whitened data minus means, and the Jacobian is their
    negative derivative.
    """
    model = bind(decay(network=TINY))
    theta = model.init(jax.random.key(0))
    residual, jacobian = jax.jit(
        lambda t: stack_linearisation(model, t, model.data, jnp.asarray(7.0))
    )(theta)

    def rows(theta):
        parts = model.residuals(theta, model.data)
        return jnp.concatenate([parts[g.name] * (7.0 if g.exact else 1.0) for g in model.groups])

    np.testing.assert_allclose(residual, rows(theta), rtol=1e-12)
    np.testing.assert_allclose(
        stack_rows(model, theta, model.data, jnp.asarray(7.0)), residual, rtol=1e-9
    )
    np.testing.assert_allclose(jacobian, -jax.jit(jax.jacfwd(rows))(theta), rtol=1e-9, atol=1e-9)
    noisy = np.asarray(model.residuals(theta, model.data)["u"])
    np.testing.assert_allclose(
        noisy, (model.data["u"] - np.asarray(model.mean(theta, model.groups[0]))) / 0.05, rtol=1e-9
    )


@pytest.mark.slow
def test_the_polish_alone_solves_a_problem_of_exact_values():
    """u' = cos t, u(0) = 0: no data, no noise, the answer is sin t."""
    problem = fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) - jnp.cos(t),
        domain=fd.Box(t=(0, 3)),
        observations=[fd.Observed("u", x=[0.0], y=[0.0])],
        collocation=fd.collocation.grid(25),
        network=fd.MLP((12,)),
    )
    result = fd.fit(problem, fd.PINN(adam_steps=0), seed=0)
    assert result.status.usable
    t = np.linspace(0, 3, 40)
    # the stop rule asks for residuals below 1e-4 of their scale
    assert np.abs(result.band(t)["mean"].values[0] - np.sin(t)).max() < 1e-3


def test_a_cost_for_each_parameter_is_a_general_ridge():
    random = np.random.default_rng(3)
    for m, p in ((5, 12), (12, 5)):
        jacobian, residual, cost = (
            random.normal(size=(m, p)),
            random.normal(size=m),
            random.uniform(0.1, 10.0, p),
        )
        expected = np.linalg.solve(jacobian.T @ jacobian + np.diag(cost), jacobian.T @ residual)
        np.testing.assert_allclose(
            ridge_solver(jnp.asarray(jacobian), jnp.asarray(cost))(jnp.asarray(residual)),
            expected,
            rtol=1e-9,
        )


def test_small_systems_are_solved_as_by_numpy():
    root = np.random.default_rng(4).normal(size=(6, 6))
    matrix, right = root @ root.T, root[:, :2]
    found, log_determinant = eliminate(jnp.asarray(matrix), jnp.asarray(right))
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-6)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(matrix)[1], rtol=1e-9)
