"""Direct fiducial sampling against exact distributions and certified values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

import fiducial as fd
from fiducial import device
from fiducial.model.binding import bind
from fiducial.numerics import nearby_solutions
from fiducial.problems._poisson import solution
from fiducial.problems.poisson import poisson
from helpers import SMALL, decay

pytestmark = pytest.mark.slow

DRAWS = 4000
X = np.linspace(-0.7, 0.7, 15)
SHARE = (X + 0.7) / 1.4
# relative standard error of a standard deviation from so many independent draws
SD_ERROR = 1 / np.sqrt(2 * DRAWS)

# NIST StRD, nonlinear regression
MISRA1A, RAT42 = (
    np.stack(list(fd.datasets.nist(name).values()), axis=1) for name in ("misra1a", "rat42")
)


def field_draws(result, x):
    points = result.problem.domain.points(x)
    return result.evaluate(result.parameter_vectors("draws"), points)[:, :, 0]


@pytest.fixture(scope="module")
def known():
    return fd.fit(
        poisson(data_seed=3).replace(network=SMALL),
        fd.EFIDirect(draws=DRAWS),
        seed=1,
        multistart=False,
    )


@pytest.fixture(scope="module")
def unknown():
    base = poisson(sd=0.1, replicates=10, data_seed=4)
    noisy = fd.Observed(
        "u", x=np.array([-0.7, 0.7]), y=base.groups[0].y.reshape(2, 10), noise=fd.Gaussian()
    )
    return fd.fit(
        base.replace(observations=[noisy, base.observations[1]], exact=None, network=SMALL),
        fd.EFIDirect(draws=DRAWS),
        seed=2,
        multistart=False,
    )


def test_each_draw_is_an_exact_solution(known):
    """With f exact, every solution is the truth plus the straight line between its
    ends.
    """
    u = field_draws(known, X)
    off = u - np.asarray(solution(X))
    line = off[:, :1] * (1 - SHARE) + off[:, -1:] * SHARE
    assert np.abs(off - line).max() < 0.01 * 0.05 / np.sqrt(10)


def test_each_draw_meets_its_own_errors(known):
    """The imputed errors turn the draw into the data: y = u + sd z."""
    u = field_draws(known, np.array([-0.7, 0.7]))
    z = known.tree["errors"]["u"].values.reshape(DRAWS, 2, 10)
    y = known.problem.groups[0].y.reshape(2, 10)
    np.testing.assert_allclose(
        u[:, :, None] + 0.05 * z, np.broadcast_to(y, z.shape), atol=1e-4 * 0.05
    )


def test_poisson_band_has_the_exact_centre_and_width_everywhere(known):
    u = field_draws(known, X)
    exact = 0.05 / np.sqrt(10) * np.sqrt((1 - SHARE) ** 2 + SHARE**2)
    middle = np.mean(
        known.problem.exact({"u": known.problem.groups[0].y.reshape(2, 10)}, X, 0.95)["u"], axis=0
    )
    assert np.abs(u.std(axis=0) / exact - 1).max() < 3.5 * SD_ERROR  # 3.9 %: a band 10 % off fails
    assert np.abs((u.mean(axis=0) - middle) / exact).max() < 3.5 / np.sqrt(DRAWS)
    assert known.facts["effective_parameters"] == 2
    assert known.facts["effective_draws"] == pytest.approx(DRAWS, rel=1e-3)
    assert known.diagnose().verdict == "trust"


def test_unknown_sd_follows_chi_square_and_the_field_follows_t(unknown):
    y = unknown.problem.groups[0].y.reshape(2, 10)
    means = y.mean(axis=1)
    rss = np.sum((y - means[:, None]) ** 2)
    sd = unknown.draws["sd_u"].values.ravel()
    # Kolmogorov distance to the exact distribution: 1.63 / sqrt(n) is its 1 % point
    assert stats.kstest(rss / sd**2, stats.chi2(18).cdf).statistic < 1.63 / np.sqrt(DRAWS)
    ends = field_draws(unknown, np.array([-0.7, 0.7]))
    scale = np.sqrt(rss / 18 / 10)
    for i in range(2):
        pivot = (ends[:, i] - means[i]) / scale
        assert stats.kstest(pivot, stats.t(18).cdf).statistic < 1.63 / np.sqrt(DRAWS)
        # Kolmogorov's test hardly sees a scale that is 10 % off; this does (a t has
        # wider tails than a normal: 4 instead of 3.5)
        assert abs(pivot.std() / stats.t(18).std() - 1) < 4 * SD_ERROR
    row = unknown.parameters().loc["sd_u"]
    assert abs(row["estimate"] / np.sqrt(rss / 18) - 1) < 4 * np.sqrt(2 / 18 / DRAWS) / 2
    lower, upper = np.sqrt(rss / stats.chi2(18).ppf([0.975, 0.025]))
    assert abs(row["lower"] - lower) < 0.05 * (upper - lower)
    assert abs(row["upper"] - upper) < 0.05 * (upper - lower)


@pytest.mark.parametrize("free", [pytest.param(False, marks=pytest.mark.extra), True])
def test_draws_one_by_one_are_those_of_a_batch(free, monkeypatch):
    """A CPU takes one draw after another where an accelerator takes a block of them."""
    posed = decay(
        network=fd.MLP((10,)),
        **({"equation": None, "unknowns": {}, "collocation": None, "truth": None} if free else {}),
    )
    alone = fd.fit(posed, fd.EFIDirect(draws=100), seed=0, multistart=False)
    for module in (device, nearby_solutions):
        monkeypatch.setattr(module, "loops_per_lane", lambda: False)
    together = fd.fit(posed, fd.EFIDirect(draws=100), seed=0, multistart=False)
    at = posed.domain.points(np.linspace(0, 2, 5))
    ours, theirs = (r.evaluate(r.parameter_vectors("draws"), at) for r in (alone, together))
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * ours.std())


def test_certified_values_follow_from_the_data():
    found, cov = optimize.curve_fit(
        lambda x, a, b: a * (1 - np.exp(-b * x)), *MISRA1A.T, (250.0, 5e-4)
    )
    np.testing.assert_allclose(
        [*found, *np.sqrt(np.diag(cov))],
        [238.94212918, 5.5015643181e-4, 2.7070075241, 7.2668688436e-6],
        rtol=1e-4,
    )
    found, cov = optimize.curve_fit(
        lambda x, a, b, c: a / (1 + np.exp(b - c * x)), *RAT42.T, (75.0, 2.5, 0.07)
    )
    np.testing.assert_allclose([found[0], found[2]], [72.462237576, 0.067359200066], rtol=1e-5)
    np.testing.assert_allclose(
        np.sqrt(np.diag(cov))[[0, 2]], [1.7340283401, 0.0034465663377], rtol=1e-4
    )


def _nist(equation, data, unknowns, start=()):
    return fd.Problem(
        equation=equation,
        domain=fd.Box(x=(0, 1.05 * data[-1, 0])),
        unknowns=unknowns,
        outputs=("y",),
        observations=[fd.Observed("y", *data.T, fd.Gaussian()), *start],
        network=SMALL,
    )


def _check_nist(result, certified, exact):
    """Estimates within 5 % of a certified sd; limits within 3 % of the width, plus
    the error of so many draws.
    """
    table = result.parameters()
    for name, (value, sd) in certified.items():
        assert abs(table.loc[name, "estimate"] - value) < 0.05 * sd
    for name, limits in exact.items():
        width = limits[1] - limits[0]
        # a limit of 4,000 draws has an error of 1 % of the width, so both together 1.4
        # %
        assert abs((table.loc[name, "upper"] - table.loc[name, "lower"]) / width - 1) < 0.06
        for side, limit in zip(("lower", "upper"), limits, strict=True):
            assert abs(table.loc[name, side] - limit) < 0.055 * width, (
                name,
                side,
                table.loc[name, side],
            )


def test_misra1a_as_an_ode():
    problem = _nist(
        lambda y, x, p: fd.derivative(y, x) - p["b2"] * (p["b1"] - y(x)),
        MISRA1A,
        {"b1": fd.Positive(500.0), "b2": fd.Positive(1e-4)},  # NIST's first, far start
        [fd.Observed("y", x=0.0, y=0.0)],
    )
    result = fd.fit(problem, fd.EFIDirect(draws=DRAWS), seed=0, multistart=False)
    _check_nist(
        result,
        {
            "b1": (238.94212918, 2.7070075241),
            "b2": (5.5015643181e-4, 7.2668688436e-6),
            "sd_y": (0.10187876330, 0.02),
        },
        {"b1": (233.19, 245.02), "b2": (5.3433e-4, 5.6603e-4)},
    )


def test_rat42_as_an_ode():
    problem = _nist(
        lambda y, x, p: fd.derivative(y, x) - p["b3"] * y(x) * (1 - y(x) / p["b1"]),
        RAT42,
        {"b1": fd.Positive(100.0), "b3": fd.Positive(0.1)},  # NIST's first start
    )
    result = fd.fit(problem, fd.EFIDirect(draws=DRAWS), seed=0, multistart=False)
    _check_nist(
        result,
        {"b1": (72.462237576, 1.7340283401), "b3": (0.067359200066, 0.0034465663377)},
        {"b1": (68.83, 77.15), "b3": (0.05962, 0.07598)},
    )


def curved():
    """The means (k, k^2) bend within one standard error; the exact density of k is L
    |J|, by quadrature.
    """
    x, y, sd = np.array([0.0, 1.0]), np.array([0.6, 1.3]), 0.3
    problem = fd.Problem(
        equation=None,
        domain=fd.Box(x=(0, 1)),
        unknowns={"k": fd.Real(1.0)},
        observations=[fd.Observed("u", x, y, fd.Gaussian(sd=sd))],
        network=fd.MLP((1,)),
        constraint=lambda u, x, p: (1 - x) * p["k"] + x * p["k"] ** 2 + 0.0 * u,
    )
    k = np.linspace(-1.5, 4.0, 20_001)
    misfit = ((y[0] - k) / sd) ** 2 + ((y[1] - k**2) / sd) ** 2
    density = np.exp(-0.5 * misfit) * np.sqrt(1 + 4 * k**2)
    cumulative = np.cumsum(density) / density.sum()
    return problem, lambda v: np.interp(v, k, cumulative)


def test_a_strongly_curved_model_needs_its_weights():
    problem, density = curved()
    draws = 20_000
    result = fd.fit(problem, fd.EFIDirect(draws=draws), seed=0, multistart=False)
    facts = result.facts
    assert facts["failed_draws"] < 0.01
    assert facts["effective_draws"] > 0.9 * draws
    # without the weights the distance is .020
    distance = stats.kstest(result.draws["k"].values.ravel(), density).statistic
    assert distance < 1.63 / np.sqrt(draws)


def test_an_unknown_that_the_data_do_not_inform_is_named():
    t = np.linspace(0, 1, 6)
    problem = fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t) + 0.0 * p["idle"],
        domain=fd.Box(t=(0, 1)),
        unknowns={"k": fd.Positive(1.5), "idle": fd.Real(1.0)},
        observations=[
            fd.Observed("u", t, np.exp(-t), fd.Gaussian(sd=0.05)),
            fd.Observed("u", 0.0, 1.0),
        ],
        network=fd.MLP((12,)),
    )
    diagnosis = fd.fit(problem, fd.EFIDirect(draws=200), seed=0, multistart=False).diagnose()
    assert diagnosis.verdict == "do not trust"
    assert any("idle" in reason for reason in diagnosis.reasons)


def test_unknowns_of_which_only_the_product_is_informed_are_not_trusted():
    """Both move with every draw, but along one direction: each one's limits are
    those of a start, not of the data.
    """
    t = np.linspace(0, 3, 12)
    problem = fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["a"] * p["b"] * u(t),
        domain=fd.Box(t=(0, 3)),
        unknowns={"a": fd.Positive(1.0), "b": fd.Positive(1.5)},
        observations=[
            fd.Observed("u", t, np.exp(-1.2 * t), fd.Gaussian(sd=0.01)),
            fd.Observed("u", 0.0, 1.0),
        ],
        network=fd.MLP((12,)),
    )
    diagnosis = fd.fit(problem, fd.EFIDirect(draws=500), seed=0, multistart=False).diagnose()
    assert diagnosis.verdict == "do not trust"
    assert any(
        "of 2 unknowns the data inform one combination only" in reason
        for reason in diagnosis.reasons
    )


@pytest.mark.parametrize("method", [fd.EFIDirect, fd.EFILinear, fd.EFIGN])
def test_problems_that_it_cannot_serve_are_told_so(method):
    exact = fd.Problem(
        equation=None, domain=fd.Box(t=(0, 1)), observations=[fd.Observed("u", [0.0], [1.0])]
    )
    with pytest.raises(ValueError, match="all observations are exact"):
        fd.fit(exact, method(), multistart=False)
    assert fd.catalogue.default_method(exact).name == "pinn"
    assert fd.catalogue.default_method(poisson()).name == "efi-direct"
    assert jnp.ones(1).dtype == jnp.float32  # nothing here switched float64 on for others


def test_the_linear_method_agrees_and_needs_no_weights(known):
    """On Poisson the linearisation is exact: the same seed gives the same draws, up
    to curvature of the network.
    """
    linear = fd.fit(known.problem, fd.EFILinear(draws=DRAWS), seed=1, multistart=False)
    a, b = field_draws(known, X), field_draws(linear, X)
    assert np.abs(a - b).max() < 0.02 * 0.05 / np.sqrt(10)
    assert linear.diagnose().verdict == "trust"
    agreement = linear.diagnose(against=[known]).checks[-1]
    assert agreement.ok
    assert agreement.value < 0.02  # the draws share their errors
    assert known.facts["linear_difference"] < 0.01


def test_the_walk_has_the_exact_distribution():
    """efi-gn on the curved model: a chain, so the tolerance is that of its effective
    draws.
    """
    problem, density = curved()
    result = fd.fit(problem, fd.EFIGN(draws=4000, moves=10), seed=0, multistart=False)
    facts = result.facts
    assert facts["r_hat"] < 1.02
    assert facts["effective_draws"] > 4000
    k = result.draws["k"].values.ravel()
    assert stats.kstest(k, density).statistic < 1.63 / np.sqrt(facts["effective_draws"])
    middle = np.quantile(
        k, [0.16, 0.84]
    )  # Kolmogorov's test hardly sees a scale that is 10 % off; this does
    assert abs(np.diff(density(middle))[0] - 0.68) < 3.5 * np.sqrt(
        0.68 * 0.32 / facts["effective_draws"]
    )


def test_two_unknown_sizes_have_the_exact_distribution():
    """Two groups measure one mean, each with a noise size of its own: the density is
    known up to a quadrature.
    """
    random = np.random.default_rng(5)
    a, b, draws = (
        1.0 + 0.2 * random.standard_normal(8),
        1.0 + 0.6 * random.standard_normal(12),
        20_000,
    )
    problem = fd.Problem(
        equation=None,
        domain=fd.Box(x=(0, 1)),
        unknowns={"m": fd.Real(0.5)},
        observations=[
            fd.Observed("u", 0.0, a[None], fd.Gaussian(), name="a"),
            fd.Observed("u", 1.0, b[None], fd.Gaussian(), name="b"),
        ],
        network=fd.MLP((1,)),
        constraint=lambda u, x, p: p["m"] + 0.0 * u,
    )
    result = fd.fit(problem, fd.EFIDirect(draws=draws), seed=0, multistart=False)
    m = np.linspace(0.0, 2.0, 8001)
    # the size of the first group in the units in which the fit saw them, as the density
    # is weighed
    s = [float(result.tree["estimate"][f"sd_{g}"]) for g in "ab"]
    parts = [((y[:, None] - m) / size, size) for y, size in ((a, s[0]), (b, s[1]))]
    rss = [np.sum(r**2, axis=0) for r, _ in parts]
    sums = [np.sum(r / size, axis=0) for r, size in parts]
    gram = sum(r.shape[0] / size**2 for r, size in parts) - sum(
        t**2 / q for t, q in zip(sums, rss, strict=True)
    )
    density = np.prod(
        [q ** (-r.shape[0] / 2 + 0.5) for q, (r, _) in zip(rss, parts, strict=True)], axis=0
    ) * np.sqrt(gram)
    cumulative = np.cumsum(density) / density.sum()
    assert result.facts["effective_draws"] > 0.5 * draws
    found = result.draws["m"].values.ravel()
    distance = stats.kstest(found, lambda v: np.interp(v, m, cumulative)).statistic
    assert distance < 1.63 / np.sqrt(result.facts["effective_draws"])
    # given the mean, each size is an independent chi-square: check the first moment of
    # the precisions
    for g, y, n in (("a", a, 8), ("b", b, 12)):
        own = np.sum((y[:, None] - found) ** 2, axis=0)
        pivot = own / result.draws[f"sd_{g}"].values.ravel() ** 2
        assert abs(pivot.mean() - n) < 4 * np.sqrt(2 * n / result.facts["effective_draws"])


@pytest.mark.parametrize(
    "name", ["poisson-noisy-f", pytest.param("poisson-nonlinear", marks=pytest.mark.extra)]
)
def test_noisy_physics_has_the_width_of_the_exact_answer(name):
    problem, draws = fd.problem(name), 450
    result = fd.fit(problem, fd.EFIDirect(draws=draws), seed=0, multistart=False)
    x = np.linspace(-0.7, 0.7, 50)
    lower, upper = problem.exact({g.name: g.y.reshape(g.shape) for g in problem.groups}, x, 0.95)[
        "u"
    ]
    band = result.band(x)
    sd, exact = band["sd"].values[0], (upper - lower) / (2 * stats.norm.ppf(0.975))
    # neighbouring points go together, so that the mean over the points has about a
    # quarter of their error
    assert abs(sd.mean() / exact.mean() - 1) < 0.02 + 3 / np.sqrt(2 * draws) / 2
    assert np.abs(sd / exact - 1).max() < 0.03 + 4 / np.sqrt(2 * draws)
    assert np.abs(
        (band["mean"].values[0] - (lower + upper) / 2) / exact
    ).max() < 0.05 + 4 / np.sqrt(draws)
    assert result.diagnose().verdict == "trust", result.diagnose().reasons
    # the discrepancy rule: residuals of the size that the noise and the effective
    # number of parameters predict
    with jax.enable_x64(True):
        theta = jnp.asarray(result.tree["estimate"]["theta"].values)
        rss = sum(
            float(jnp.sum(r**2)) for r in result.model.residuals(theta, result.model.data).values()
        )
    free = 44 - result.facts["effective_parameters"]
    assert stats.chi2.ppf(0.001, free) < rss < stats.chi2.ppf(0.999, free)


def test_the_inverse_problem_has_the_exact_widths():
    problem = fd.problem("poisson-inverse").replace(network=SMALL)
    result = fd.fit(problem, fd.EFIDirect(draws=DRAWS), seed=0, multistart=False)
    limits = problem.exact({g.name: g.y.reshape(g.shape) for g in problem.groups}, X, 0.95)
    k = result.parameters().loc["k"]
    half = (limits["k"][1] - limits["k"][0]) / 2
    assert abs(k["sd"] / (half / stats.norm.ppf(0.975)) - 1) < 0.03 + 3.5 * SD_ERROR
    assert (
        abs(k["estimate"] - (limits["k"][0] + limits["k"][1]) / 2) < 0.05 * half
    )  # that is linear, this is not
    sd = result.band(X)["sd"].values[0]
    assert (
        np.abs(sd / ((limits["u"][1] - limits["u"][0]) / (2 * stats.norm.ppf(0.975))) - 1).max()
        < 0.03 + 3.5 * SD_ERROR
    )


def test_each_equation_keeps_as_many_points():
    """However many equations there are: with fewer points than that a network bends
    between them.
    """
    with jax.enable_x64(True):
        for most, left in ((5, 5), (1000, 7)):
            model = bind(
                fd.problem("lotka-volterra").replace(collocation=fd.collocation.grid(t=7))
            ).thinned(most)
            assert [len(g.sites) for g in model.groups if g.physics] == [left, left]


def test_of_many_points_each_keeps_its_own_right_hand_side(x64):
    model = bind(fd.problem("poisson", n_f=60))
    few, data = model.thinned(25), model.data
    theta = model.init(jax.random.key(0))
    whole, part = model.residuals(theta, data)["equation"], few.residuals(theta, data)["equation"]
    assert part.shape == (25,)
    kept = [
        np.flatnonzero((model.groups[1].sites.array == row).all(axis=1))[0]
        for row in few.groups[1].sites.array
    ]
    np.testing.assert_allclose(part, whole[np.array(kept)], rtol=1e-10)


@pytest.mark.extra
def test_more_points_than_draws_use_are_met_and_thinned():
    """1,200 points of f: the fit meets all of them, the band is that of 200."""
    problem = poisson(data_seed=3, n_f=1200).replace(network=SMALL)
    result = fd.fit(problem, fd.EFIDirect(draws=500), seed=1, multistart=False)
    sd = result.band(X)["sd"].values[0]
    exact = 0.05 / np.sqrt(10) * np.sqrt((1 - SHARE) ** 2 + SHARE**2)
    assert np.abs(sd / exact - 1).max() < 4 / np.sqrt(2 * 500)
    assert result.facts["effective_parameters"] == 2
    assert result.diagnose().verdict == "trust", result.diagnose().reasons
