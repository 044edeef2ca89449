"""Extended fiducial inference: exact answers, gradients, and a diagnosis that finds
intervals that are not calibrated.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fiducial as fd
from fiducial.methods._chain_answer import anderson_darling
from fiducial.methods.efi import EFI
from fiducial.model.binding import bind
from fiducial.numerics.energy import Energy
from fiducial.numerics.hyper_network import (
    HyperNetwork,
    encode,
    encoder_inputs,
    mean_answer,
    scatter_gradient,
    scatter_matrix,
)
from fiducial.numerics.linearisation import linearise
from fiducial.numerics.tracking import start_tracking
from fiducial.numerics.weight_update import GradientDescent, Iteration
from fiducial.results.figures import plot_errors
from fiducial.schedules import constant
from helpers import decay, poisson

pytestmark = pytest.mark.slow


def sd_error(result) -> float:
    """Return the relative standard error of a standard deviation of the draws."""
    return 1 / np.sqrt(2 * result.facts["effective_draws"])


@pytest.fixture(scope="module")
def known():
    return fd.fit(fd.problem("linear-regression"), EFI(), seed=1, multistart=False)


@pytest.fixture(scope="module")
def unknown():
    return fd.fit(fd.problem("linear-regression", told=False), EFI(), seed=1, multistart=False)


def regression(result):
    """Return least squares in the network's own coefficients: estimate, covariance for
    unit errors, residual sum of squares, degrees of freedom.
    """
    model, group = result.model, result.problem.groups[0]
    x = group.points.array[:, 0]
    rows = model.representation.numbers.output.unit[0] * (2 * x[:, None] - 1) ** np.arange(5)
    y = group.y - model.representation.numbers.output.offset[0]
    found = np.linalg.lstsq(rows, y, rcond=None)[0]
    return found, np.linalg.inv(rows.T @ rows), np.sum((y - rows @ found) ** 2), len(y) - 5


def test_regression_coefficients_have_their_normal_distribution(known):
    draws = known.draws["theta"].values.reshape(-1, 5)
    found, cov, _, _ = regression(known)
    sd = 0.1 * np.sqrt(np.diag(cov))
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 3.5 * sd_error(known) < 0.08
    assert np.abs((draws.mean(axis=0) - found) / sd).max() < 3.5 / np.sqrt(
        known.facts["effective_draws"]
    )
    assert np.abs(np.corrcoef(draws.T) - 0.01 * cov / np.outer(sd, sd)).max() < 0.1
    assert known.status.name == "CONVERGED"
    assert known.facts["effective_draws"] >= 1000


def test_regression_with_unknown_size_follows_t_and_chi_square(unknown):
    draws = unknown.draws["theta"].values.reshape(-1, 6)[:, :5]
    found, cov, rss, free = regression(unknown)
    exact = stats.t(free).std() * np.sqrt(rss / free * np.diag(cov))
    assert np.abs(draws.std(axis=0) / exact - 1).max() < 4 * sd_error(unknown) < 0.1
    assert np.abs((draws.mean(axis=0) - found) / exact).max() < 3.5 / np.sqrt(
        unknown.facts["effective_draws"]
    )
    ends = np.sqrt(rss / stats.chi2(free).ppf([0.975, 0.025]))
    row = unknown.parameters().loc["sd_u"]
    assert np.abs([row["lower"] / ends[0] - 1, row["upper"] / ends[1] - 1]).max() < 0.05
    pivot = rss / unknown.draws["sd_u"].values.ravel() ** 2
    assert stats.kstest(pivot, stats.chi2(free).cdf).statistic < 1.63 / np.sqrt(
        unknown.facts["effective_draws"]
    )


def test_imputed_errors_are_the_data_less_the_answer(known):
    z = known.tree["errors"]["u"].values
    means = known.problem.groups[0].y - 0.1 * z
    x = known.problem.groups[0].points.array[:, 0]
    units = known.model.representation.numbers.output
    rows = units.unit[0] * (2 * x[:, None] - 1) ** np.arange(5)
    answers = units.offset[0] + known.draws["theta"].values @ rows.T
    # what is left is the chain's own slack, 1 / (1 + stiffness) of the errors' variance
    assert np.std((means - answers) / 0.1) == pytest.approx(1 / np.sqrt(21), rel=0.15)


def test_good_runs_are_trusted(known, unknown):
    for result in (known, unknown):
        diagnosis = result.diagnose()
        assert diagnosis.verdict == "trust", diagnosis
        assert result.facts["informed_sd"] == pytest.approx(1, abs=0.06)
        assert result.facts["lag"] < 1e-6
        assert result.facts["energy"] == pytest.approx(1, abs=0.03)
        assert {"frozen_response", "neck_condition"} <= set(result.facts)


@pytest.mark.parametrize("spoilt", [EFI(learning_rate=0.01), EFI(draws=20)])
def test_a_run_whose_intervals_are_too_narrow_is_not_trusted(spoilt):
    """A hundredth of the learning rate; a twentieth of the iterations."""
    result = fd.fit(fd.problem("linear-regression"), spoilt, seed=1, multistart=False)
    assert result.diagnose().verdict == "do not trust"


def test_poisson_band_has_the_exact_centre_and_width_everywhere():
    problem = poisson()
    result = fd.fit(problem, EFI(), seed=2, multistart=False)
    x = np.linspace(-0.7, 0.7, 9)
    band, share = result.band(x), (x + 0.7) / 1.4
    exact = 0.05 / np.sqrt(10) * np.sqrt((1 - share) ** 2 + share**2)
    middle = np.mean(problem.exact({"u": problem.groups[0].y.reshape(2, 10)}, x, 0.95)["u"], axis=0)
    assert np.abs(band["sd"].values[0] / exact - 1).max() < 3.5 * sd_error(result) < 0.08
    assert np.abs((band["mean"].values[0] - middle) / exact).max() < 3.5 / np.sqrt(
        result.facts["effective_draws"]
    )
    assert result.diagnose().verdict == "trust"


@pytest.mark.parametrize(
    ("told", "network", "tolerance"),
    [
        (True, fd.MLP((20,)), 0.1),
        pytest.param(False, fd.MLP(), 0.2, marks=pytest.mark.extra),
    ],
)
def test_few_data_with_large_errors_do_not_make_it_leave_the_equation(told, network, tolerance):
    """A straight line by u'' = 0: far from the pilot fit its factorisation no longer
    brings the equation back, and sizes have long tails.
    """
    x = np.linspace(0, 1, 8)
    y = 1 + 0.5 * x + 0.1 * np.random.default_rng(3).standard_normal(8)
    problem = fd.Problem(
        equation=lambda u, x, p: fd.derivative(u, x, order=2),
        domain=fd.Box(x=(0, 1)),
        network=network,
        collocation=fd.collocation.grid(25),
        observations=[fd.Observed("u", x=x, y=y, noise=fd.Gaussian(sd=0.1 if told else None))],
    )
    result = fd.fit(problem, EFI(draws=250), seed=0, multistart=False)
    assert result.diagnose().verdict == "trust"
    at = np.array([0.0, 0.5, 1.0])
    design, there = np.stack([np.ones(8), x], axis=1), np.stack([np.ones(3), at], axis=1)
    beta, (rss,), *_ = np.linalg.lstsq(design, y)
    unit = np.sqrt(np.einsum("ki,ij,kj->k", there, np.linalg.inv(design.T @ design), there))
    half = unit * (
        0.1 * stats.norm.ppf(0.975) if told else np.sqrt(rss / 6) * stats.t.ppf(0.975, 6)
    )
    band = result.band(at)
    assert np.allclose((band.upper - band.lower).values[0], 2 * half, rtol=tolerance)
    assert np.allclose(band["mean"].values[0], there @ beta, atol=0.3 * half.min())


@pytest.mark.extra
def test_two_groups_with_sizes_of_their_own_agree_with_direct_draws():
    """One size unknown and not the same everywhere, one known; a constant unknown;
    the start exact.
    """
    random, t = np.random.default_rng(1), np.linspace(0.2, 2, 10)
    u = np.exp(-1.3 * t)
    uneven = fd.Observed(
        "u",
        x=t,
        y=u + 0.03 * np.sqrt(t) * random.standard_normal(10),
        noise=fd.Gaussian(h=jnp.sqrt),
        name="uneven",
    )
    even = fd.Observed(
        "u", x=t, y=u + 0.1 * random.standard_normal(10), noise=fd.Gaussian(sd=0.1), name="even"
    )
    problem = decay(
        observations=[uneven, even, fd.Observed("u", x=[0.0], y=[1.0], name="start")],
        network=fd.MLP((10, 10)),
    )
    result, direct = (
        fd.fit(problem, EFI(effective=400), seed=0, multistart=False),
        fd.fit(problem, fd.EFIDirect(), seed=0, multistart=False),
    )
    assert result.diagnose(against=[direct]).verdict == "trust", result.diagnose(against=[direct])
    mine, other = result.parameters(), direct.parameters()
    assert np.abs(mine["mean"] - other["mean"]).div(other["sd"]).max() < 3.5 * np.sqrt(
        1 / 400 + 1 / 1000
    )
    assert np.abs(mine["sd"] / other["sd"] - 1).max() < 4 * np.sqrt(1 / 800 + 1 / 2000)


def test_the_errors_have_a_figure(known):
    left, right = plot_errors(known).axes
    assert left.get_xlabel() == "true error"
    assert len(right.lines) >= 20


def test_last_layers_alone_give_the_same_band():
    """The hyper-network gives the last two of three layers; the first stays as the
    pilot fit has it.
    """
    result = fd.fit(poisson(), EFI(last_layers=2), seed=2, multistart=False)
    x = np.linspace(-0.7, 0.7, 9)
    share = (x + 0.7) / 1.4
    exact = 0.05 / np.sqrt(10) * np.sqrt((1 - share) ** 2 + share**2)
    assert np.abs(result.band(x)["sd"].values[0] / exact - 1).max() < 3.5 * sd_error(result) < 0.08
    theta = result.draws["theta"].values
    still = np.ptp(theta, axis=1).max(axis=0) == 0
    assert still.sum() == 2 * 20  # weights and shifts of the first layer
    assert np.array_equal(np.flatnonzero(still), [*range(20), *range(20 + 400 + 20, 20 + 400 + 40)])


def test_batches_see_all_observations_on_average(x64):
    model = bind(poisson(replicates=3))
    data = {name: jnp.asarray(v) for name, v in model.data.items()}
    theta, z = model.init(jax.random.key(0)), jnp.linspace(-1, 1, 6)
    fit = linearise(model, theta, data)
    dynamics = fd.paper.efi("poisson")._chain().dynamics
    energy = Energy(model, data, fit, dynamics.energy_weights(model, fit, jnp.asarray(1.0)))
    update = GradientDescent(constant(1.0), constant(0.0), batch=2)
    each = jax.vmap(lambda k: update.gradients(energy, theta, z, key=k).for_weights)(
        jax.random.split(jax.random.key(1), 500)
    )
    whole = update.gradients(energy, theta, z, key=jax.random.key(0)).theta
    error = each.std(axis=0) / np.sqrt(500)
    assert np.max(np.abs(each.mean(axis=0) - whole) / (error + 1e-9 * jnp.abs(whole).max())) < 5
    assert jnp.max(error) > 0


def test_units_do_not_matter():
    """x in [0, 1000] and y near 1e-6."""
    far = fd.problem("linear-regression")
    x, y = 1000 * far.groups[0].points.array[:, 0], 1e-6 * far.observations[0].y
    moved = far.replace(
        domain=fd.Box(x=(0, 1000)),
        observations=[fd.Observed("u", x=x, y=y, noise=fd.Gaussian(sd=1e-7))],
    )
    result = fd.fit(moved, EFI(), seed=1, multistart=False)
    found, cov, _, _ = regression(fd.fit(far, fd.PINN(adam_steps=0), seed=0, multistart=False))
    del found
    sd = 0.1 * np.sqrt(np.diag(cov))
    draws = result.draws["theta"].values.reshape(-1, 5)
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 3.5 * sd_error(result)
    assert result.diagnose().verdict == "trust"


def test_the_mean_over_observations_needs_no_table_of_parameters(x64):
    keys = jax.random.split(jax.random.key(0), 6)
    shapes = [((3, 5), (5,)), ((5, 4), (4,))]
    encoder = tuple(
        (jax.random.normal(k, a), jax.random.normal(k, b))
        for k, (a, b) in zip(keys, shapes, strict=False)
    )
    network = HyperNetwork(
        encoder, jax.random.normal(keys[2], (4, 7)), jax.random.normal(keys[3], (7,))
    )
    neck = encode(encoder, jax.random.normal(keys[4], (9, 3)))
    table = neck @ network.out + network.shift
    np.testing.assert_allclose(mean_answer(network, neck), table.mean(axis=0), rtol=1e-12)
    scatter = jnp.sum((table - table.mean(axis=0)) ** 2)
    np.testing.assert_allclose(
        jnp.sum(scatter_matrix(neck) * (network.out @ network.out.T)), scatter, rtol=1e-12
    )


def test_one_evaluation_gives_the_gradients_of_the_whole_energy(x64):
    """Force on the errors and steps of all weights, against automatic
    differentiation of Algorithm 1's energy written out.
    """
    problem = fd.problem("poisson", n_f=12).replace(network=fd.MLP((6,)))
    model = bind(problem)
    data = {name: jnp.asarray(v) for name, v in model.data.items()}
    theta = model.init(jax.random.key(0))
    fit = linearise(model, theta, data)
    dynamics = fd.paper.efi("poisson", steps=1000, encoder=(5, 4))._chain().dynamics
    weights = dynamics.energy_weights(model, fit, jnp.asarray(0.05))
    z = jax.random.normal(jax.random.key(1), (20,))
    rows = encoder_inputs(model, data, z)
    keys = jax.random.split(jax.random.key(2), 3)
    encoder = (
        (jax.random.normal(keys[0], (3, 5)), jnp.zeros(5)),
        (jax.random.normal(keys[1], (5, 4)), jnp.ones(4)),
    )
    network = HyperNetwork(encoder, 0.1 * jax.random.normal(keys[2], (4, model.size)), theta)
    strength = 50 + (500 - 50) * 0.5

    def written_out(network, z):
        each = encode(network.encoder, encoder_inputs(model, data, z)) @ network.out + network.shift
        mean = each.mean(axis=0)
        field = model.field(mean)
        u = jax.vmap(field)(jnp.asarray(problem.groups[0].points.array[:, 0]))
        f = model.mean(mean, problem.groups[1])
        gaps = jnp.sum((data["u"] - u - 0.05 * z) ** 2) + jnp.sum((data["equation"] - f) ** 2)
        return strength * (gaps + jnp.sum((each - mean) ** 2))

    by_network, by_z = jax.grad(written_out, argnums=(0, 1))(network, z)
    necks, pull = jax.vjp(
        lambda encoder, z: encode(encoder, encoder_inputs(model, data, z)), encoder, z
    )
    update = GradientDescent(constant(1.0), constant(0.0))
    energy = Energy(model, data, fit, weights)
    gradients = update.gradients(energy, mean_answer(network, necks), z, key=keys[0])
    by_neck = network.out @ gradients.theta / 20
    by_neck += scatter_gradient(network, necks, weights.scatter)
    np.testing.assert_allclose(gradients.z + pull(by_neck)[1], by_z, rtol=1e-8)
    iteration = Iteration(
        theta=mean_answer(network, necks),
        gradients=gradients,
        neck=necks,
        encoder_pullback=lambda c: pull(c)[0],
        next_inputs=rows,
        next_z=z,
        plan=update.plan(jnp.asarray(0.05)),
    )
    tracker = start_tracking(model, fit)
    moved = update.step(network, update.init(network), energy, tracker, iteration).network
    # the prior N(0, 100) adds a hundredth of each weight
    for before, after, slope in zip(
        *map(jax.tree.leaves, (network, moved, by_network)), strict=True
    ):
        np.testing.assert_allclose(before - after, slope + before / 100, rtol=1e-7, atol=1e-7)


def test_the_papers_settings_are_there_by_name_and_run():
    problem = poisson()
    short = fd.paper.efi("poisson", steps=2000, precision="float32", chains=2)
    result = fd.fit(problem, short, seed=0, multistart=False)
    assert result.status.name == "FINISHED"
    assert result.draws.sizes["draw"] == 900  # a thousand, without the first tenth
    assert result.diagnose().verdict == "do not trust"  # a hundredth of the iterations
    with pytest.raises(ValueError, match="has 3 layers"):
        fd.fit(problem, EFI(last_layers=4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "hmc"}, "'sghmc', 'sgld'"),
        ({"learning_rate": 2.0}, "share of the way"),
        ({"neck": 0}, "at least 1"),
        ({"neck_sd": -1.0}, "not negative"),
        ({"neck_sd": float("nan")}, "not negative"),
        ({"hidden": (0,)}, "widths of layers"),
        ({"learning_rate": -1.0}, "above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        EFI(**settings)


def test_anderson_darling_has_uniform_levels():
    random = np.random.default_rng(0)
    levels = [anderson_darling(random.standard_normal(20)) for _ in range(2000)]
    assert stats.kstest(levels, "uniform").statistic < 1.63 / np.sqrt(2000)
