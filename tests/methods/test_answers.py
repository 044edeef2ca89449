"""Answers of methods: the estimate of a noise size, and draws before they were resampled."""

import numpy as np
import pytest

import fiducial as fd
from fiducial.numerics.resampling import resample
from fiducial.studies.shards import Bench
from fiducial.studies.simulation import Simulator
from helpers import TINY, decay

pytestmark = pytest.mark.slow


def test_the_inverse_square_of_an_estimated_size_is_the_mean_of_the_draws():
    method = fd.EFIDirect()
    drawn = np.random.default_rng(0).lognormal(size=(2, 3, 50))
    found = method.estimate_noise(np.array([9.0, 9.0]), drawn)
    np.testing.assert_allclose(found, [np.mean(one**-2) ** -0.5 for one in drawn], rtol=1e-14)
    drawn[0, 1, 4] = np.nan  # a draw that failed has no say
    assert np.isfinite(method.estimate_noise(found, drawn)).all()
    np.testing.assert_array_equal(fd.PINN().estimate_noise(np.array([9.0]), None), [9.0])


@pytest.mark.parametrize("method", [fd.EFIDirect(draws=100), fd.PINN(adam_steps=0)], ids=str)
def test_a_fit_and_a_study_estimate_the_same_noise_size(method):
    """The first data set of a study, fitted by itself with the seed of the study."""
    problem, seed = fd.problem("linear-regression", told=False), 4
    points = problem.domain.points(np.linspace(0, 1, 3))
    arrays = Bench(problem, method, points=points, level=0.95, seed=seed).shard(0, 1, 1)
    data = {name: y[0] for name, y in Simulator(problem).draw(1, seed=seed).items()}
    result = fd.fit(problem.with_data(data), method, seed=seed)
    assert arrays["sd_u.estimate"][0] == pytest.approx(
        result.parameters().loc["sd_u", "estimate"], rel=1e-9
    )


@pytest.fixture(scope="module")
def weighted() -> fd.Result:
    """Few data with large errors, so that the draws of the rate have uneven weights."""
    problem = decay(noise=fd.Gaussian(sd=0.4), network=TINY)
    return fd.fit(problem, fd.EFIDirect(draws=200), seed=0, multistart=False)


def test_raw_draws_are_kept_with_their_weights(weighted):
    raw = weighted.tree["raw"].to_dataset()
    assert set(raw.data_vars) == {"k", "log_weight", "failed", "source"}
    assert raw["log_weight"].std() > 0.01
    (source,) = raw["source"].values
    np.testing.assert_array_equal(weighted.draws["k"].values[0], raw["k"].values[0, source])
    weight = np.where(raw["failed"], -np.inf, raw["log_weight"])[0]
    np.testing.assert_array_equal(resample(weight).kept, source)
    assert len(np.unique(source)) < len(source), "weights are uneven, so some draws are copies"


def test_raw_weights_give_the_distribution_that_is_shown(weighted):
    """A weighted mean of the raw draws is the mean of the resampled ones, to the error of
    systematic resampling.
    """
    raw = weighted.tree["raw"].to_dataset()
    weight = np.where(raw["failed"], 0.0, np.exp(raw["log_weight"] - raw["log_weight"].max()))
    k, shown = raw["k"].values, weighted.draws["k"].values
    mean = np.sum(weight * k) / np.sum(weight)
    assert abs(mean - shown.mean()) < 3 * shown.std() / np.sqrt(shown.size)


def test_raw_draws_survive_saving(weighted, tmp_path):
    again = fd.load(weighted.save(tmp_path / "run.nc"), problem=weighted.problem)
    assert again.tree["raw"].identical(weighted.tree["raw"])


def test_a_method_without_weights_has_no_raw_draws():
    result = fd.fit(fd.problem("linear-regression"), fd.Laplace(draws=50), seed=0)
    assert "raw" not in result.tree.children
