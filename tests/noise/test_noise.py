"""What every noise model promises, and the Gaussian one against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

import fiducial as fd
from fiducial import catalogue
from fiducial.posing.coordinates import Points

pytestmark = pytest.mark.usefixtures("x64")

SITES = np.array([0.5, 1.0, 2.0, 4.0])
INDEX = np.array([0, 0, 0, 1, 2, 2, 3])
POINTS = Points(("t",), SITES[INDEX][:, None])
RANDOM = np.random.default_rng(0)
MEAN, Z = RANDOM.normal(size=4)[INDEX], RANDOM.normal(size=7)
Y = MEAN + 0.3 * Z

# One line for each way to declare a model, with its parameters and the covariance that
# it states; a new model adds its own, and the test below asks for it.
T = SITES[INDEX]
CASES = {
    "Gaussian known": (fd.Gaussian(sd=0.3), {}, np.full(7, 0.3)),
    "Gaussian per point": (fd.Gaussian(sd=np.linspace(0.1, 0.7, 7)), {}, np.linspace(0.1, 0.7, 7)),
    "Gaussian unknown": (fd.Gaussian(), {"sd": 0.4}, np.full(7, 0.4)),
    "Gaussian heteroscedastic": (fd.Gaussian(sd=0.3, h=jnp.sqrt), {}, 0.3 * np.sqrt(T)),
    "Gaussian heteroscedastic unknown": (
        fd.Gaussian(h=lambda t: 1 + t),
        {"sd": 0.2},
        0.2 * (1 + T),
    ),
}
CASES = {
    name: (noise, parameters, np.diag(sd**2)) for name, (noise, parameters, sd) in CASES.items()
}
UNIT = np.array([0, 1, 2, 0, 0, 1, 0])  # the how-manieth replicate of its point


def falling(sd, length):
    """Covariance of errors within a unit, with 2 % of the variance to each by
    itself.
    """
    near = np.where(UNIT[:, None] == UNIT, np.exp(-np.abs(T[:, None] - T) / length), 0.0)
    return sd**2 * (0.98 * near + 0.02 * np.eye(7))


CASES |= {
    "Correlated known": (fd.Correlated(over=("t",), sd=0.3, length=1.5), {}, falling(0.3, 1.5)),
    "Correlated unknown": (
        fd.Correlated(over=("t",)),
        {"sd": 0.4, "length_t": 0.8},
        falling(0.4, 0.8),
    ),
    "Correlated size unknown": (
        fd.Correlated(over=("t",), length={"t": 3.0}),
        {"sd": 0.4},
        falling(0.4, 3.0),
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


@pytest.mark.parametrize("name", catalogue.noise_models())
def test_every_model_of_the_catalogue_has_a_case_here(name):
    assert any(type(noise).__name__ == name for noise, *_ in CASES.values())


@every_case
def test_pull_undoes_push(case):
    noise, parameters, _ = CASES[case]
    y = noise.push(MEAN, Z, POINTS, parameters)
    assert np.abs(y - MEAN).max() > 0.01
    np.testing.assert_allclose(noise.pull(MEAN, y, POINTS, parameters), Z, rtol=1e-10)


@every_case
def test_pushed_errors_have_the_stated_size(case):
    noise, parameters, covariance = CASES[case]
    factor = np.asarray(
        jax.vmap(lambda z: noise.push(MEAN, z, POINTS, parameters) - MEAN)(np.eye(7))
    ).T
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        noise.sd(POINTS, parameters) if "per point" not in case else np.sqrt(np.diag(covariance)),
        np.sqrt(np.diag(covariance)),
    )


@every_case
def test_whitened_data_have_unit_variance_and_keep_the_whole_likelihood(case):
    """Replicates collapse without loss: whitened rows and the scatter within
    replicates make up sum z^2.
    """
    noise, parameters, covariance = CASES[case]
    rows = noise.whiten_data(Y, POINTS, INDEX, 4, parameters) - noise.whiten_mean(
        MEAN[[0, 3, 4, 6]], POINTS, INDEX, 4, parameters
    )
    z = np.asarray(noise.pull(MEAN, Y, POINTS, parameters))
    weight, design = np.linalg.inv(covariance), np.eye(4)[INDEX]
    centre = np.linalg.solve(design.T @ weight @ design, design.T @ weight @ Y)
    within = (Y - centre[INDEX]) @ weight @ (Y - centre[INDEX])
    assert within > 0.1
    assert float(np.sum(np.asarray(rows) ** 2)) + within == pytest.approx(np.sum(z**2), rel=1e-10)
    errors = np.random.default_rng(2).standard_normal((4000, 7))
    target = noise.whiten_mean(MEAN[[0, 3, 4, 6]], POINTS, INDEX, 4, parameters)

    def whitened(e):
        return (
            noise.whiten_data(noise.push(MEAN, e, POINTS, parameters), POINTS, INDEX, 4, parameters)
            - target
        )

    simulated = np.asarray(jax.vmap(whitened)(errors))
    np.testing.assert_allclose(np.cov(simulated.T), np.eye(4), atol=4 * np.sqrt(2 / 4000))


@every_case
def test_jacobians_are_whitened_like_means(case):
    noise, parameters, _ = CASES[case]
    columns = np.random.default_rng(3).normal(size=(4, 5))
    whole = noise.whiten_mean(columns, POINTS, INDEX, 4, parameters)
    loops_per_lane = [noise.whiten_mean(c, POINTS, INDEX, 4, parameters) for c in columns.T]
    np.testing.assert_allclose(whole, np.stack(loops_per_lane, axis=1), rtol=1e-12)


@every_case
def test_estimate_is_where_the_likelihood_is_largest(case):
    noise, parameters, _ = CASES[case]
    found = noise.estimate(MEAN, Y, POINTS, parameters)
    assert set(found) == set(parameters)
    here = float(noise.log_prob(MEAN, Y, POINTS, found))
    for name, best in found.items():
        for factor in (
            (0.99, 1.01) if name == "sd" else ()
        ):  # lengths have a test of their own below
            assert float(noise.log_prob(MEAN, Y, POINTS, {**found, name: factor * best})) < here


@every_case
def test_log_prob_is_the_logarithm_of_the_density(case):
    noise, parameters, covariance = CASES[case]
    expected = stats.multivariate_normal.logpdf(Y, MEAN, covariance)
    assert float(noise.log_prob(MEAN, Y, POINTS, parameters)) == pytest.approx(expected, rel=1e-10)


def test_gaussian_sizes_in_closed_form():
    t = SITES[INDEX]
    assert np.asarray(fd.Gaussian(sd=0.3).sd(POINTS, {})).tolist() == [0.3] * 7
    np.testing.assert_allclose(
        fd.Gaussian(sd=0.3, h=jnp.sqrt).sd(POINTS, {}), 0.3 * np.sqrt(t), rtol=1e-6
    )
    np.testing.assert_allclose(fd.Gaussian(h=lambda t: 2.0).sd(POINTS, {"sd": 0.5}), np.ones(7))
    h = 1 + t
    found = fd.Gaussian(h=lambda t: 1 + t).estimate(MEAN, Y, POINTS, {"sd": 1.0})["sd"]
    assert float(found) == pytest.approx(np.sqrt(np.mean(((Y - MEAN) / h) ** 2)), rel=1e-10)


def test_the_pilot_guess_of_an_unknown_size_comes_from_the_replicates():
    pilot = fd.Gaussian().unknowns(Y, POINTS, INDEX)["sd"]
    groups = [Y[i == INDEX] for i in range(4)]
    pooled = np.sqrt(sum(np.sum((g - g.mean()) ** 2) for g in groups) / (7 - 4))
    assert float(pilot.guess) == pytest.approx(pooled)
    single = fd.Gaussian().unknowns(
        np.zeros(3), Points(("t",), np.arange(3.0)[:, None]), np.arange(3)
    )["sd"]
    assert float(single.guess) > 0
    assert fd.Gaussian(sd=1.0).unknowns(Y, POINTS, INDEX) == {}


def test_correlation_lengths_are_found():
    """As likely, to a step of a fifth, as the best that SciPy finds within the same
    reach, for a grid of two coordinates.
    """
    x, t = (v.ravel() for v in np.meshgrid(np.arange(12.0), np.arange(6.0), indexing="ij"))
    points, noise = Points(("x", "t"), np.stack([x, t], axis=1)), fd.Correlated(over=("x", "t"))
    true = {"sd": 2.0, "length_x": 3.0, "length_t": 0.8}
    z = np.random.default_rng(4).standard_normal(72)
    y = np.asarray(noise.push(np.zeros(72), z, points, true))

    def cost(logs):
        return -float(
            noise.log_prob(np.zeros(72), y, points, dict(zip(true, np.exp(logs), strict=True)))
        )

    start = {name: guess.guess for name, guess in noise.unknowns(y, points, np.arange(72)).items()}
    best = optimize.minimize(cost, np.zeros(3), method="Nelder-Mead", options={"maxiter": 400})
    step, found = jax.jit(lambda found: noise.estimate(np.zeros(72), y, points, found)), start
    for _ in range(25):
        found = step(found)
    reached = cost(np.log([float(found[name]) for name in true]))
    assert reached < best.fun + 0.1
    assert (
        reached < cost(np.log([float(start[name]) for name in true])) - 1
    )  # the start was not good enough already
    assert abs(best.x[1] - np.log(3.0)) < 1.5  # the sample knows its lengths at all


def test_lengths_that_cannot_be_are_refused():
    with pytest.raises(TypeError, match="names of coordinates"):
        fd.Correlated(over="t")
    with pytest.raises(ValueError, match="positive length for each of x, t"):
        fd.Correlated(over=("x", "t"), length={"x": 1.0})
    with pytest.raises(ValueError, match="no coordinate x"):
        fd.Correlated(over=("x",)).unknowns(Y, POINTS, INDEX)
    with pytest.raises(ValueError, match="same t"):
        fd.Correlated(over=("t",)).unknowns(Y, Points(("t",), np.ones((7, 1))), np.zeros(7, int))


def test_wrong_sizes_and_values_are_refused():
    with pytest.raises(ValueError, match="sd has 3 values for 7 observations"):
        fd.Gaussian(sd=[1.0, 2.0, 3.0]).check((7,), "observations of 'u'")
    for sd in (0.0, -1.0, np.nan, [1.0, 0.0]):
        with pytest.raises(ValueError, match="must be positive"):
            fd.Gaussian(sd=sd)
    with pytest.raises(TypeError, match="function of the point"):
        fd.Gaussian(h=2.0)
    with pytest.raises(ValueError, match="per observation"):
        fd.Gaussian(sd=np.ones(7)).sd(Points(("t",), np.ones((3, 1))), {})


def test_sizes_in_another_shape_than_the_values_are_refused():
    noise = fd.Gaussian(sd=np.full((3, 2), 0.1))
    with pytest.raises(ValueError, match=r"shape \(3, 2\), the values have \(2, 3\)"):
        fd.Problem(
            equation=None,
            domain=fd.Box(x=(0, 1)),
            network=fd.MLP((4,)),
            observations=[fd.Observed("u", x=[0.0, 1.0], y=np.ones((2, 3)), noise=noise)],
        )
