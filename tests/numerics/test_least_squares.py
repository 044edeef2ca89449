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
    Damping,
    FixedFactors,
    NielsenRule,
    Ridge,
    curvature,
    judge,
    propose,
    stack_linearisation,
    stack_rows,
)
from fiducial.numerics.linear_systems import damped_solver, eliminate, normal_equations
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


TIMES = np.linspace(0.0, 3.0, 8)
VALUES = 2.0 * np.exp(-0.8 * TIMES) + 0.05 * np.cos(5 * TIMES)


def decay_residual(theta):
    """Data minus the curve ``a exp(-k t)``: a plain nonlinear least-squares problem."""
    return VALUES - theta[0] * jnp.exp(-theta[1] * TIMES)


def decay_trial(theta, damping, **more):
    """Our step, with the same absolute cost for both parameters."""
    jacobian = -jax.jacfwd(decay_residual)(theta)
    system = normal_equations(jacobian, jnp.asarray(damping))
    return propose(theta, decay_residual(theta), system, **more)


@pytest.mark.parametrize("damping", [0.0, 1.0], ids=["Gauss-Newton", "Levenberg-Marquardt"])
def test_one_step_is_that_of_optimistix(damping):
    optimistix = pytest.importorskip("optimistix")
    # its Levenberg-Marquardt begins with a damping of one
    solver = optimistix.LevenbergMarquardt if damping else optimistix.GaussNewton
    theta = jnp.array([1.0, 0.5])
    # it evaluates the start in a step of its own
    theirs = optimistix.least_squares(
        lambda t, _: decay_residual(t), solver(1e-8, 1e-8), theta, max_steps=2, throw=False
    ).value
    np.testing.assert_allclose(decay_trial(theta, damping).theta, theirs, rtol=1e-10)
    assert np.abs(theirs - theta).max() > 0.05


def test_a_trial_is_accepted_by_its_cost_and_damped_by_its_gain():
    theta = jnp.array([1.0, 0.5])
    damping = Damping.at(1.0)

    def cost(theta):
        return jnp.sum(decay_residual(theta) ** 2)

    def verdict(trial, rule):
        return judge(trial, before=cost(theta), after=cost(trial.theta), damping=damping, rule=rule)

    nielsen = NielsenRule(smallest=1e-9, largest=1e9)
    good = decay_trial(theta, 1.0)
    bad = good._replace(theta=theta - good.move)
    lost = good._replace(theta=jnp.full(2, jnp.nan))
    assert verdict(good, nielsen).accepted
    assert 1 / 3 <= float(verdict(good, nielsen).damping.value) < 1
    for trial in (bad, lost):
        failed = verdict(trial, nielsen)
        assert not failed.accepted
        assert (float(failed.damping.value), float(failed.damping.growth)) == (2.0, 4.0)
        np.testing.assert_array_equal(failed.choose(trial.theta, theta), theta)
    fixed = FixedFactors(success=0.2, failure=4.0, smallest=0.5)
    assert float(verdict(good, fixed).damping.value) == 0.5
    assert float(verdict(bad, fixed).damping.value) == 4.0


def test_a_linear_model_keeps_its_prediction_and_a_ridge_is_further_rows():
    random = np.random.default_rng(5)
    jacobian, data = jnp.asarray(random.normal(size=(5, 12))), jnp.asarray(random.normal(size=5))
    theta, origin = jnp.asarray(random.normal(size=(2, 12)))
    ridge = Ridge(jnp.asarray(random.uniform(0.1, 10.0, 12)), origin)
    residual = data - jacobian @ theta
    trial = propose(theta, residual, normal_equations(jacobian, ridge.cost), ridge=ridge)
    root = np.diag(np.sqrt(ridge.cost))
    best = np.linalg.lstsq(
        np.concatenate([jacobian, root]), np.concatenate([data, root @ origin]), rcond=None
    )[0]
    np.testing.assert_allclose(trial.theta, best, rtol=1e-9)
    before = jnp.sum(residual**2) + ridge.at(theta)
    after = jnp.sum((data - jacobian @ trial.theta) ** 2) + ridge.at(trial.theta)
    np.testing.assert_allclose(trial.predicted, before - after, rtol=1e-9)


def test_geodesic_acceleration_takes_a_step_closer_to_the_curve():
    """Along one parameter the linear step of ``exp`` is short of its goal; its
    correction is half the second derivative over the first, and is left out where it
    is as long.
    """

    def residual(theta):
        return 1.0 - jnp.exp(theta)

    def step(start):
        theta = jnp.array([start])
        system = normal_equations(jnp.exp(theta)[:, None], jnp.asarray(0.0))
        second = lambda move: curvature(residual, theta, move)  # noqa: E731
        trial = propose(theta, residual(theta), system, second_derivative=second)
        return float(trial.move[0]), float(trial.theta[0]) - start

    move, whole = step(0.5)
    assert whole == pytest.approx(move - move**2 / 2)
    move, whole = step(2.0)
    assert whole == pytest.approx(move - move**2 / 2)
    move, whole = step(-1.0)  # here the step is 1.7 times too long, the correction longer
    assert whole == pytest.approx(move)


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
            normal_equations(jnp.asarray(jacobian), jnp.asarray(cost)).solve(jnp.asarray(residual)),
            expected,
            rtol=1e-9,
        )


def test_small_systems_are_solved_as_by_numpy():
    root = np.random.default_rng(4).normal(size=(6, 6))
    matrix, right = root @ root.T, root[:, :2]
    found, log_determinant = eliminate(jnp.asarray(matrix), jnp.asarray(right))
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-6)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(matrix)[1], rtol=1e-9)
