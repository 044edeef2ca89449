"""A noise model from outside the package that is not Gaussian: one class with a quantile
function, against the exact fiducial density by quadrature.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fiducial as fd
from fiducial.extend import AbstractNoise
from fiducial.posing.coordinates import Points

START, RATE, SIZE = 3.0, 0.5, 0.3
TIMES = np.repeat(np.linspace(0.4, 4.0, 6), 2)
QUARTILE = stats.norm.ppf(0.75)


class LogNormal(AbstractNoise):
    """Data whose logarithm has normal errors; the mean is their median."""

    size: float | None = None

    def unknowns(self, y, points, index):
        return {} if self.size else {"size": fd.Positive(guess=0.1)}

    def push(self, mean, z, points, parameters):
        return mean * jnp.exp((self.size or parameters["size"]) * z)


def problem(noise, seed=4):
    errors = np.random.default_rng(seed).standard_normal(len(TIMES))
    y = START * np.exp(-RATE * TIMES + SIZE * errors)
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t),
        domain=fd.Box(t=(0, 4)),
        outputs={"u": fd.Output(positive=True)},
        unknowns={"k": fd.Positive(guess=1.0)},
        observations=[
            fd.Observed("u", x=TIMES, y=y, noise=noise),
            fd.Observed("u", x=[0.0], y=[START], name="start"),
        ],
        network=fd.MLP((16,)),
    )


def exact_density(y, sizes):
    """Return grids of k and of sizes, and the fiducial density on them:
    ``prod f det(D^T W D)^(1/2)`` by the formulas of the log-normal distribution, as a
    density of k and the logarithm of the size.
    """
    score = np.log(y / START)
    pilot = -(TIMES @ score) / (TIMES @ TIMES)
    weight = np.exp(2 * pilot * TIMES)  # 1 / s_i^2, up to a factor
    k = np.linspace(pilot - 0.5, pilot + 0.5, 801)
    mean = START * np.exp(-k[:, None] * TIMES)
    density = np.zeros((len(k), len(sizes)))
    for j, size in enumerate(sizes):
        z = np.log(y / mean) / size
        log_f = np.sum(-0.5 * z**2 - np.log(size * y), axis=1)
        by_k, by_size = -TIMES * y * np.ones_like(z), size * z * y
        kk, ks, ss = (
            np.sum(weight * a * b, axis=1)
            for a, b in ((by_k, by_k), (by_k, by_size), (by_size, by_size))
        )
        volume = kk if len(sizes) == 1 else kk * ss - ks**2
        density[:, j] = np.exp(log_f) * np.sqrt(volume)
    return k, density


def limits(values, density, draws):
    """Return the limits of the 95 % interval, and the Monte-Carlo error of each for a
    number of independent draws.
    """
    width = values[1] - values[0]
    density = density / (np.sum(density) * width)
    found = np.interp([0.025, 0.975], np.cumsum(density) * width, values)
    return found, np.sqrt(0.025 * 0.975 / draws) / np.interp(found, values, density)


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits once and for all tests with a method, and a known or
    an unknown size.
    """

    @cache
    def fit(method, known):
        posed = problem(LogNormal(SIZE if known else None))
        return fd.fit(posed, method(draws=4000), seed=0, multistart=False)

    return fit


def spread(values, density, draws):
    """Return the standard deviation, and its relative Monte-Carlo error."""
    share = density / np.sum(density)
    off = values - share @ values
    variance = share @ off**2
    return np.sqrt(variance), np.sqrt((share @ off**4 / variance**2 - 1) / (4 * draws))


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize(
    "method", [fd.EFIDirect, pytest.param(fd.EFILinear, marks=pytest.mark.extra)]
)
def test_draws_agree_with_quadrature(known, method, fitted):
    """Limits and standard deviation within four Monte-Carlo errors; for the linear model
    with a tenth of the width for the curvature that it leaves out.
    """
    result = fitted(method, known)
    draws = result.facts["effective_draws"]
    assert 2500 < draws <= 4000
    y = next(g.y for g in result.problem.groups if g.name == "u")
    logs = np.array([np.log(SIZE)]) if known else np.linspace(-2.5, 0.5, 401)
    k, density = exact_density(y, np.exp(logs))
    table = result.parameters()
    curvature = 0.0 if method is fd.EFIDirect else 0.1

    def agree(found, exact, error):
        near = 4 * error + curvature * (exact[1] - exact[0])
        assert np.all(np.abs(found - exact) < near), (found, exact, near)

    agree(table.loc["k", ["lower", "upper"]], *limits(k, density.sum(axis=1), draws))
    sd, error = spread(k, density.sum(axis=1), draws)
    assert table.loc["k", "sd"] == pytest.approx(sd, rel=4 * error + curvature)
    if not known:
        found = np.log(table.loc["size_u", ["lower", "upper"]].astype(float))
        agree(found, *limits(logs, density.sum(axis=0), draws))
    if method is fd.EFIDirect:
        assert result.diagnose().verdict == "trust"


@pytest.mark.slow
def test_intervals_of_new_measurements_are_skewed_like_the_errors(fitted):
    result = fitted(fd.EFIDirect, True)
    found = result.predict([1.0]).sel(output="u")
    band = result.band([1.0]).sel(output="u")
    spread = np.hypot(SIZE * 1.96, np.log(band["upper"] / band["lower"]) / 2)
    assert np.log(found["upper"] / found["mean"]).item() == pytest.approx(spread.item(), rel=0.12)
    assert (found["upper"] - found["mean"]) > 1.2 * (found["mean"] - found["lower"])


def test_density_inverse_and_spread_follow_from_the_quantile_function(x64):
    noise, points = LogNormal(SIZE), Points(("t",), TIMES[:3, None])
    mean, z = jnp.array([0.5, 1.0, 4.0]), jnp.array([-6.0, 0.0, 2.5])
    y = noise.push(mean, z, points, {})
    np.testing.assert_allclose(noise.pull(mean, y, points, {}), z, atol=1e-12)
    exact = stats.lognorm(SIZE, scale=mean)
    assert float(noise.log_prob(mean, y, points, {})) == pytest.approx(np.sum(exact.logpdf(y)))
    quartiles = exact.ppf(0.75) - exact.ppf(0.25)
    np.testing.assert_allclose(noise.spread(mean, points, {}), quartiles / (2 * QUARTILE))
    slope = jax.vmap(jax.grad(lambda m, v: noise.pull(m[None], v[None], points, {})[0]))
    np.testing.assert_allclose(slope(mean, y), -1 / (SIZE * mean), rtol=1e-10)
    second = jax.jacfwd(jax.jacfwd(lambda m: noise.pull(m[None], y[:1], points, {})[0]))(mean[0])
    assert float(second) == pytest.approx(1 / (SIZE * 0.25), rel=1e-8)


def test_impossible_data_have_no_density(x64):
    points, one = Points(("t",), TIMES[:1, None]), jnp.ones(1)
    assert float(LogNormal(SIZE).log_prob(one, -one, points, {})) == -np.inf


def test_unknown_parameters_are_estimated_by_maximum_likelihood(x64):
    noise, points = LogNormal(), Points(("t",), TIMES[:, None])
    mean = jnp.exp(-RATE * TIMES)
    y = noise.push(
        mean, jnp.asarray(np.random.default_rng(0).normal(size=12)), points, {"size": 0.3}
    )
    best = np.sqrt(np.mean(np.log(y / mean) ** 2))
    found = noise.estimate(mean, y, points, {"size": jnp.asarray(0.05)})["size"]
    for _ in range(3):  # a fit asks in each of its steps
        found = noise.estimate(mean, y, points, {"size": found})["size"]
    assert float(found) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("method", [fd.EFI(), fd.Laplace(), fd.Bayes(), fd.EFIGN(), fd.Ensemble()])
def test_methods_that_need_gaussian_errors_say_so(method):
    with pytest.raises(ValueError, match="those of 'u' are LogNormal; use efi-direct"):
        fd.fit(problem(LogNormal(SIZE)), method, seed=0)


def test_correlated_errors_beside_others_are_refused():
    posed = problem(LogNormal(SIZE))
    more = fd.Observed(
        lambda u, t, p: u(t), x=[1, 2, 3], y=[2, 1, 0.5], name="v", noise=fd.Correlated(over=("t",))
    )
    with pytest.raises(ValueError, match="give 'v' independent errors"):
        fd.fit(posed.replace(observations=[*posed.observations, more]), fd.EFIDirect(), seed=0)
