"""Data sets that were measured at other times share one compiled program."""

import jax
import numpy as np
import pytest

import fiducial as fd
from fiducial.extend import bind
from fiducial.model.placement import stack_data, stack_placements
from fiducial.model.residuals import log_density
from fiducial.running.driver import Runner

TRUE_RATE = 0.5
METHOD = fd.EFIDirect(draws=2000)
KNOWN = fd.Gaussian(sd=0.05)


def decay(times, dose, seed, noise=KNOWN):
    """u' + k u = 0 with u(0) = dose known and k unknown."""
    times = np.asarray(times, float)
    errors = 0.05 * np.random.default_rng(seed).standard_normal(len(times))
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t),
        domain=fd.Box(t=(0, 4)),
        unknowns={"k": fd.Positive(guess=1.0)},
        known={"dose": dose},
        observations=[
            fd.Observed("u", x=times, y=dose * np.exp(-TRUE_RATE * times) + errors, noise=noise)
        ],
        constraint=lambda u, t, p: p["dose"] + t * u,
        network=fd.MLP((12,)),
    )


def exact_rate(problem):
    """Estimate of k, and its standard error, by the closed form and least squares."""
    (group,) = [g for g in problem.groups if g.name == "u"]
    t, y, dose = group.points.array[:, 0], group.y, float(problem.known["dose"])
    k = 0.5
    for _ in range(30):
        mean = dose * np.exp(-k * t)
        slope = -t * mean
        k = k + slope @ (y - mean) / (slope @ slope)
    return k, 0.05 / np.linalg.norm(slope)


def together(problems):
    """Return a runner of the first problem, and the placement and data of all."""
    models = [bind(p) for p in problems]
    placement = stack_placements([m.placement for m in models])
    return models, placement, stack_data([m.data for m in models], sizes(models[0], placement))


def sizes(model, placement):
    """Return the number of observations of each group, padded ones included."""
    groups = zip(model.groups, placement.groups, strict=True)
    return {g.name: p.points.shape[1] for g, p in groups}


def rates(models, outcome):
    """Return mean and standard deviation of k for each data set."""
    model = models[0]
    drawn = np.asarray(METHOD.collect(model, None, outcome).draws["theta"])
    k = np.exp(drawn[..., model.constant_slice])[..., 0].reshape(len(drawn), -1)
    return k.mean(axis=1), k.std(axis=1)


def programs(runner):
    """Count the programs that a runner has compiled."""
    lanes = [lane for p in runner._programs for lane in (p._start, p._chunk)]
    return sum(len(lane._compiled._programs) for lane in lanes)


SAME_SIZE = [decay(np.linspace(0.2, 4, 12), 3.0, 0), decay(np.linspace(1.0, 3.5, 12), 5.0, 1)]
OTHER_SIZE = [*SAME_SIZE, decay([0.5, 1.0, 1.0, 1.5, 2.0, 3.0, 3.0], 2.0, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("problems", [SAME_SIZE, OTHER_SIZE], ids=["same size", "other sizes"])
def test_data_sets_with_times_of_their_own_are_fitted_by_one_program(problems):
    """Their answers are those of least squares; the tolerances are four Monte-Carlo
    errors of 2,000 draws (of a mean 2.2 % of a standard deviation, of a standard
    deviation 1.6 %), and a little for the curvature of the model.
    """
    with jax.enable_x64(True):
        models, placement, data = together(problems)
        runner = Runner(models[0], METHOD, own_placements=True)
        mean, sd = rates(models, runner.run(data, placement=placement, seed=0).outcome)
        assert programs(runner) == 4  # start and chunk of the fit, and of the draws
        swapped = jax.tree.map(lambda v: v[::-1], (placement, data))
        again, _ = rates(models, runner.run(swapped[1], placement=swapped[0], seed=0).outcome)
        assert programs(runner) == 4
    for i, problem in enumerate(problems):
        exact, error = exact_rate(problem)
        assert mean[i] == pytest.approx(exact, abs=0.15 * error)
        assert sd[i] == pytest.approx(error, rel=0.08)
        assert again[len(problems) - 1 - i] == pytest.approx(exact, abs=0.15 * error)


def test_padding_leaves_rows_likelihood_and_noise_sizes_as_they_are(x64):
    """With all observations of a smaller data set, padded to the size of a larger."""
    small, large = (
        bind(decay(times, 3.0, i, noise=fd.Gaussian()))
        for i, times in enumerate([[1.0, 1.0, 2.0, 3.0], np.linspace(0.1, 4, 9)])
    )
    placement = stack_placements([small.placement, large.placement])
    stacked = stack_data([small.data, large.data], sizes(small, placement))
    data = {name: values[0] for name, values in stacked.items()}
    padded = large.placed(jax.tree.map(lambda v: v[0], placement))
    theta = small.init(jax.random.key(0))
    own = small.rows_and_jacobians(theta, small.data)
    rows = padded.rows_and_jacobians(theta, data)
    for name, (residual, jacobian) in own.items():
        k = len(residual)
        np.testing.assert_allclose(rows[name][0][:k], residual, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(rows[name][1][:k], jacobian, rtol=1e-10, atol=1e-12)
        assert not np.any(rows[name][0][k:])
        assert not np.any(rows[name][1][k:])
    errors = padded.errors(theta, data)["u"]
    np.testing.assert_allclose(errors[:4], small.errors(theta, small.data)["u"], rtol=1e-10)
    assert not np.any(errors[4:])
    np.testing.assert_allclose(padded.precision(theta), small.precision(theta), rtol=1e-12)
    np.testing.assert_allclose(
        padded.estimate_noise(theta, data), small.estimate_noise(theta, small.data), rtol=1e-12
    )
    groups = [next(g for g in m.groups if g.name == "u") for m in (small, padded)]
    densities = [
        log_density(g, m.observed_means(theta)["u"], y["u"], m.noise(theta)["u"])
        for g, m, y in zip(groups, (small, padded), (small.data, data), strict=True)
    ]
    np.testing.assert_allclose(*densities, rtol=1e-12)
    assert float(groups[1].count) == 4
    assert float(groups[1].site_count) == 3


@pytest.mark.parametrize(
    ("noise", "method", "message"),
    [
        (fd.Correlated(over=("t",), sd=0.05, length=0.5), METHOD, "independent errors"),
        (KNOWN, fd.EFI(), "use efi-direct"),
    ],
)
def test_data_sets_that_cannot_be_padded_are_refused(noise, method, message, x64):
    models, placement, data = together(
        [decay(np.linspace(0.2, 4, n), 3.0, n, noise=noise) for n in (5, 9)]
    )
    runner = Runner(models[0], method, own_placements=True)
    with pytest.raises(ValueError, match=message):
        runner.run(data, placement=placement, seed=0)
