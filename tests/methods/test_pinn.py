"""The point estimate against answers known in closed form or from SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import curve_fit, least_squares

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.problems._poisson import solution, source
from fiducial.status import Status
from helpers import SMALL, TINY, batch, decay, poisson, run

pytestmark = pytest.mark.slow

ENDS = np.array([-0.7, 0.7])
GRID = np.linspace(-0.7, 0.7, 101)


def exact_poisson(y: np.ndarray) -> np.ndarray:
    """METHOD.md section 3: the truth plus the straight line through the mean errors
    at both ends.
    """
    left, right = y.reshape(2, -1).mean(axis=1) - np.sin(6 * ENDS) ** 3
    s = (GRID + 0.7) / 1.4
    return np.sin(6 * GRID) ** 3 + (1 - s) * left + s * right


def observed(problem: fd.Problem, name: str = "u") -> np.ndarray:
    return next(g.y for g in problem.groups if g.name == name)


def assert_poisson_exact(result: fd.Result, standard_error: float) -> None:
    # 2 % of a standard error would change a 95 % interval's coverage by less than .01 %
    deviation = np.abs(
        result.band(GRID)["mean"].sel(output="u").values - exact_poisson(observed(result.problem))
    )
    assert deviation.max() <= 0.02 * standard_error


def test_poisson_estimate_is_the_exact_constrained_one(poisson_fit):
    assert poisson_fit.status is Status.CONVERGED
    assert_poisson_exact(poisson_fit, 0.05 / np.sqrt(10))


def test_poisson_estimate_stays_exact_for_very_precise_data():
    result = fd.fit(poisson(sd=0.001), fd.PINN(), seed=0, multistart=False)
    assert result.status.usable
    assert_poisson_exact(result, 0.001 / np.sqrt(10))


def test_units_do_not_matter():
    """The same problem with x in [0, 1000] and u near 1e-6: the scaling is
    automatic, so the accuracy is the same.
    """
    length, size = 1000.0, 1e-6
    x_f = np.linspace(0, length, 100)
    y = size * observed(poisson()).reshape(2, 10)
    # 0.01 u'' = f  becomes  0.01 v'' = f * size * (1.4 / length)^2  for v = size * u on
    # the longer line
    f = source(-0.7 + 1.4 * x_f / length) * size * (1.4 / length) ** 2
    problem = fd.Problem(
        equation=lambda u, x, p: 0.01 * fd.derivative(u, x, order=2),
        domain=fd.Box(x=(0, length)),
        observations=[
            fd.Observed("u", x=[0, length], y=y, noise=fd.Gaussian(sd=0.05 * size)),
            fd.Observed("equation", x=x_f, y=f),
        ],
        network=SMALL,
    )
    result = fd.fit(problem, fd.PINN(), seed=0, multistart=False)
    assert result.status is Status.CONVERGED
    fitted = result.band(length * (GRID + 0.7) / 1.4)["mean"].values[0] / size
    assert np.abs(fitted - exact_poisson(y / size)).max() <= 0.02 * 0.05 / np.sqrt(10)


def decay_by_scipy(problem: fd.Problem) -> tuple[float, float]:
    """Least-squares k of exp(-k t), and its standard error at sd 0.05."""
    group = problem.groups[0]
    t = group.points.array[:, 0]
    k, covariance = curve_fit(
        lambda t, k: np.exp(-k * t),
        t,
        group.y,
        p0=1.0,
        sigma=np.full(t.size, 0.05),
        absolute_sigma=True,
    )
    return float(k[0]), float(np.sqrt(covariance[0, 0]))


def test_inverse_problem_finds_the_least_squares_constant():
    problem = decay()
    result = fd.fit(problem, fd.PINN(), seed=0, multistart=False)
    k, error = decay_by_scipy(problem)
    assert abs(result.parameters().loc["k", "estimate"] - k) <= 0.01 * error


def test_unknown_noise_size_is_its_maximum_likelihood_value(decay_fit):
    problem = decay_fit.problem
    k, error = decay_by_scipy(problem)
    group = problem.groups[0]
    sd = np.sqrt(np.mean((group.y - np.exp(-k * group.points.array[:, 0])) ** 2))
    table = decay_fit.parameters()
    assert abs(table.loc["k", "estimate"] - k) <= 0.01 * error
    # the sd is flat in k at the optimum, so an error of 1 % of a standard error in k
    # hardly moves it
    assert table.loc["sd_u", "estimate"] == pytest.approx(sd, rel=1e-3)


def test_system_with_named_outputs():
    """A chain of two decays, a -> b -> nothing, against least squares on its closed
    form.
    """
    t = np.linspace(0.1, 3, 15)

    def a(t, k1, k2):
        return np.exp(-k1 * t)

    def b(t, k1, k2):
        return k1 / (k2 - k1) * (np.exp(-k1 * t) - np.exp(-k2 * t))

    random = np.random.default_rng(1)
    sd = 0.02
    y_a, y_b = (f(t, 1.2, 0.5) + sd * random.standard_normal(t.size) for f in (a, b))

    def equation(f, t, p):
        return fd.derivative(f.a, t) + p["k1"] * f.a(t), fd.derivative(f.b, t) - p["k1"] * f.a(
            t
        ) + p["k2"] * f.b(t)

    problem = fd.Problem(
        equation=equation,
        domain=fd.Box(t=(0, 3)),
        unknowns={"k1": fd.Positive(1.0), "k2": fd.Interval(0.0, 2.0)},
        outputs=("a", "b"),
        observations=[
            fd.Observed("b", x=t, y=y_b, noise=fd.Gaussian(sd)),
            fd.Observed("a", x=t, y=y_a, noise=fd.Gaussian(sd)),
            fd.Observed("a", x=[0.0], y=[1.0]),
            fd.Observed("b", x=[0.0], y=[0.0]),
        ],
        collocation=fd.collocation.grid(40),
        network=SMALL,
    )
    result = fd.fit(problem, fd.PINN(), seed=0, multistart=False)
    assert result.status is Status.CONVERGED
    best = least_squares(
        lambda k: np.concatenate([a(t, *k) - y_a, b(t, *k) - y_b]) / sd,
        [1.0, 0.6],
        xtol=1e-12,
        ftol=1e-12,
    )
    errors = np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    found = result.parameters().loc[["k1", "k2"], "estimate"].to_numpy()
    assert np.all(np.abs(found - best.x) <= 0.01 * errors)


@pytest.fixture(scope="session")
def heat_fit() -> fd.Result:
    """u_t = D u_xx with u = exp(-pi^2 D t) sin(pi x), D = 0.1, exact initial and
    boundary values.
    """
    random = np.random.default_rng(2)
    x, t = random.uniform(0.1, 0.9, 25), random.uniform(0.1, 1.0, 25)
    y = np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x) + 0.02 * random.standard_normal(25)
    edge = np.linspace(0, 1, 12)
    problem = fd.Problem(
        name="heat",
        equation=lambda u, at, p: fd.time_derivative(u, at) - p["D"] * fd.laplacian(u, at),
        domain=fd.Box(x=(0, 1), t=(0, 1)),
        unknowns={"D": fd.Positive(0.3)},
        observations=[
            fd.Observed("u", x={"x": x, "t": t}, y=y, noise=fd.Gaussian(0.02)),
            fd.Observed("u", x={"x": edge, "t": 0.0}, y=np.sin(np.pi * edge), name="start"),
            fd.Observed("u", x={"x": 0.0, "t": edge}, name="left"),
            fd.Observed("u", x={"x": 1.0, "t": edge}, name="right"),
        ],
        collocation=fd.collocation.sobol(144),
        network=fd.MLP((12, 12)),
        units={"x": "m", "t": "s", "D": "m^2/s"},
    )
    return fd.fit(problem, fd.PINN(adam_steps=300), seed=0, multistart=False)


def test_partial_differential_equation_with_unknown_diffusivity(heat_fit):
    group = heat_fit.problem.groups[0]
    x, t = group.points.array.T
    d, covariance = curve_fit(
        lambda at, d: np.exp(-(np.pi**2) * d * at[1]) * np.sin(np.pi * at[0]),
        (x, t),
        group.y,
        p0=0.2,
        sigma=np.full(x.size, 0.02),
        absolute_sigma=True,
    )
    assert heat_fit.status.usable
    assert abs(heat_fit.parameters().loc["D", "estimate"] - d[0]) <= 0.01 * np.sqrt(
        covariance[0, 0]
    )


def test_too_few_collocation_points_are_noticed():
    """Between four points a network may do what it likes; the residual at new points
    says so.
    """
    diagnosis = fd.fit(
        decay(collocation=fd.collocation.grid(4)), fd.PINN(), seed=0, multistart=False
    ).diagnose()
    assert diagnosis.verdict == "do not trust"
    assert any("new points" in c.name and not c.ok for c in diagnosis.checks)


def test_point_estimate_says_why_it_has_no_interval(poisson_fit):
    band = poisson_fit.band(GRID)
    assert np.isnan(band.lower).all()
    assert np.isnan(band.upper).all()
    assert np.isfinite(band["mean"]).all()
    assert "point estimate" in band.attrs["note"]
    assert poisson_fit.draws is None
    assert poisson_fit.diagnose().verdict == "caution"


def test_several_chains_give_the_best_one(x64):
    """Of several chains a converged one with the smallest loss is the answer,
    whatever the order.
    """
    method = fd.PINN(adam_steps=1, lm_steps=1, chains=3)
    model = bind(decay())
    losses = np.array([[[3.0, 2.0], [5.0, np.nan], [4.0, 1.0]]])
    status = np.array([[Status.CONVERGED, Status.CONVERGED, Status.DIVERGED]])
    theta = np.arange(3.0)[None, :, None] * np.ones(model.size)
    from types import SimpleNamespace

    from fiducial.methods.base import Outcome

    answer = method.collect(
        model,
        model.data,
        Outcome(SimpleNamespace(theta=theta), status, {"lm": {"loss": losses}}, {}, {}),
    )
    assert answer.estimate[0, 0] == 0.0  # chain 2 has a smaller loss but failed; chain 1 ended at 5


@pytest.fixture(scope="module")
def batched():
    """Three data sets in one program, with the model and data they came from."""
    with jax.enable_x64(True):
        model = bind(poisson())
        data = batch(model, 3)
        data["u"] = data["u"] + 0.02 * np.arange(3)[:, None]
        return model, data, run(model, fd.PINN(adam_steps=300), data, seed=0).outcome


def field_on_grid(model, theta) -> np.ndarray:
    points = model.problem.domain.points(GRID)
    return np.asarray(jax.jit(lambda t: model.evaluate(t, points))(jnp.asarray(theta)))[:, 0]


def test_data_sets_in_one_batch_each_get_their_exact_answer(x64, batched):
    model, data, outcome = batched
    assert outcome.status.shape == (3, 1)
    for i in range(3):
        assert Status(int(outcome.status[i, 0])).usable
        deviation = np.abs(
            field_on_grid(model, outcome.state.theta[i, 0]) - exact_poisson(data["u"][i])
        )
        assert deviation.max() <= 0.02 * 0.05 / np.sqrt(10)


def test_a_data_set_alone_gives_what_it_gives_in_a_batch(x64, batched):
    model, data, outcome = batched
    alone = run(
        model, fd.PINN(adam_steps=300), {n: y[1:2] for n, y in data.items()}, seed=0, first=1
    ).outcome
    # same random start; rounding differs with the batch size and grows along Adam's
    # path, but not above its convergence error
    both = (
        field_on_grid(model, alone.state.theta[0, 0]),
        field_on_grid(model, outcome.state.theta[1, 0]),
    )
    assert np.abs(both[0] - both[1]).max() <= 0.01 * 0.05 / np.sqrt(10)


def test_chains_start_apart_and_do_not_depend_on_how_many_there_are(x64):
    model = bind(decay())
    data = batch(model, 1)
    one, three = (
        run(model, fd.PINN(adam_steps=5, lm_steps=0, chains=c), data, seed=0).outcome.state.theta
        for c in (1, 3)
    )
    np.testing.assert_allclose(one[0, 0], three[0, 0], rtol=1e-4, atol=1e-5)  # float32 steps
    assert np.abs(three[0, 1] - three[0, 0]).max() > 0.01


def test_one_diverging_data_set_leaves_the_others_alone(x64):
    model = bind(poisson())
    method = fd.PINN(adam_steps=20, lm_steps=10)
    healthy, spoilt = batch(model, 3), batch(model, 3)
    spoilt["u"][1] = 1e300  # overflows in Adam's float32
    good, bad = (run(model, method, data, seed=0).outcome for data in (healthy, spoilt))
    assert bad.status[1, 0] == Status.DIVERGED
    assert not (good.status == Status.DIVERGED).any()
    # the same program on the same numbers: not a bit may differ
    for i in (0, 2):
        assert bad.status[i, 0] == good.status[i, 0]
        np.testing.assert_array_equal(bad.state.theta[i], good.state.theta[i])
    assert np.isfinite(bad.state.theta[1]).all(), "the last finite state is kept"


def test_divergence_is_a_status_of_the_result_and_not_an_exception():
    problem = poisson()
    problem = problem.with_data({"u": np.full(20, 1e300)})
    with np.errstate(all="ignore"):
        result = fd.fit(problem, fd.PINN(adam_steps=20, lm_steps=10), seed=0, multistart=False)
    assert result.status is Status.DIVERGED
    assert result.diagnose().verdict == "do not trust"


def test_other_data_stay_when_something_else_is_changed():
    changed = poisson().with_data({"u": np.arange(20.0)})
    np.testing.assert_array_equal(changed.replace(name="mine").groups[0].y, np.arange(20.0))
    np.testing.assert_array_equal(
        changed.replace(observations=poisson().observations).groups[0].y, poisson().groups[0].y
    )
    values = np.arange(float(decay().groups[0].y.size))
    other = (
        decay()
        .with_data({"u": values})
        .replace(
            collocation=fd.collocation.grid(7),
            equation=lambda u, t, p: fd.derivative(u, t) + p["k"],
        )
    )
    np.testing.assert_array_equal(other.groups[0].y, values)
    assert other.groups[-1].y.size == 7
    with pytest.raises(ValueError, match="1 of the values are not finite"):
        changed.with_data({"u": np.where(np.arange(20) == 3, np.nan, 1.0)})


def test_points_that_the_user_chose_stay(x64):
    """In a plane points that fill the domain move while a network is fitted; others
    are where the equation holds, and it may not hold elsewhere.
    """
    box, key = fd.Box(x=(0, 1), t=(0, 1)), jax.random.key(0)
    mine = {"x": np.linspace(0, 0.2, 30), "t": np.linspace(0, 0.3, 30)}

    datum = fd.Observed("u", x={"x": [0.5], "t": [0.5]}, y=[1.0], noise=fd.Gaussian(sd=0.1))

    def moved(rule, *more):
        given = {"collocation": rule, "observations": [datum, *more]}
        problem = fd.Problem(
            equation=lambda u, at, p: fd.derivative(u, at, "t"), domain=box, network=TINY, **given
        )
        model = bind(problem)
        return [
            np.abs(np.asarray(b.sites.array) - a.sites.array).max() > 0
            for a, b in zip(model.groups, model.with_moved_points(key).groups, strict=True)
        ]

    for rule in (
        None,
        fd.collocation.grid(5),
        fd.collocation.sobol(16),
        fd.collocation.latin_hypercube(16),
    ):
        assert moved(rule) == [False, True]
    assert moved(fd.collocation.at_points(mine)) == [False, False]
    assert moved(lambda domain: np.stack([mine["x"], mine["t"]], axis=1)) == [False, False]
    assert moved(None, fd.Observed("equation", x=mine, y=0.0)) == [False, False]


def test_a_wrong_noise_size_would_be_noticed(poisson_fit):
    """The misfit check is what tells a user that her sd is too small."""
    problem = poisson_fit.problem
    assert any(c.name == "misfit of 'u'" and c.ok for c in poisson_fit.diagnose().checks)
    precise = fd.Observed("u", x=ENDS, y=observed(problem).reshape(2, 10), noise=fd.Gaussian(0.01))
    closer = problem.replace(observations=[precise, problem.observations[1]])
    check = next(
        c
        for c in fd.Result(poisson_fit.tree, closer).diagnose().checks
        if c.name == "misfit of 'u'"
    )
    assert not check.ok


def test_misuse_of_settings_is_refused():
    with pytest.raises(ValueError, match="adam_steps=-1"):
        fd.PINN(adam_steps=-1)
    with pytest.raises(ValueError, match="float16"):
        fd.PINN(precision="float16")
    with pytest.raises(TypeError, match="with brackets"):
        fd.fit(poisson(), fd.PINN, multistart=False)
    with pytest.raises(ValueError, match="seed=-1"):
        fd.fit(poisson(), fd.PINN(), seed=-1, multistart=False)


def test_truth_of_the_catalogue_problem_solves_its_equation(x64):
    field = jax.vmap(lambda x: 0.01 * fd.derivative(solution, x, order=2))(jnp.asarray(GRID))
    np.testing.assert_allclose(field, source(GRID), rtol=1e-9, atol=1e-9)
