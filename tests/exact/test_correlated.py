"""Errors that resemble their neighbours: found by the diagnosis, and answered
exactly by a model for them.
"""

import numpy as np
import pytest

import fiducial as fd
from fiducial.problems.linear_regression import _design
from fiducial.results.data_checks import _neighbours

pytestmark = pytest.mark.slow

X = np.linspace(0, 1, 90)
LENGTH, SD = 0.15, 0.1
COVARIANCE = SD**2 * (0.98 * np.exp(-np.abs(X[:, None] - X) / LENGTH) + 0.02 * np.eye(90))


def regression(noise, seed=5):
    """The catalogue's polynomial with errors drawn from ``COVARIANCE``."""
    problem = fd.problem("linear-regression", n=90)
    truth = _design(X) @ np.array([0.3, -1.0, 0.5, 0.8, -0.6])
    y = truth + np.linalg.cholesky(COVARIANCE) @ np.random.default_rng(seed).standard_normal(90)
    return problem.replace(observations=[fd.Observed("u", x=X, y=y, noise=noise)], exact=None)


def resemblance(result):
    return next(
        c for c in result.diagnose().checks if c.name.startswith("correlation of the errors")
    )


@pytest.fixture(scope="module")
def known():
    return fd.fit(
        regression(fd.Correlated(over=("x",), sd=SD, length=LENGTH)),
        fd.EFIDirect(draws=4000),
        seed=0,
        multistart=False,
    )


def test_the_band_is_that_of_generalised_least_squares(known):
    """Mean and standard deviation at every point; the tolerances are four
    Monte-Carlo errors of 4,000 draws.
    """
    rows, at = _design(X), np.linspace(0, 1, 11)
    y, columns, weight = known.problem.groups[0].y, _design(at), np.linalg.inv(COVARIANCE)
    spread = np.linalg.inv(rows.T @ weight @ rows)
    exact = np.sqrt(np.einsum("ij,jk,ik->i", columns, spread, columns))
    band = known.band(at).sel(output="u")
    np.testing.assert_allclose(band["sd"], exact, rtol=4 / np.sqrt(2 * 4000))
    assert np.all(
        np.abs(band["mean"] - columns @ (spread @ rows.T @ weight @ y)) < 4 * exact / np.sqrt(4000)
    )


def test_the_diagnosis_finds_errors_that_resemble_their_neighbours(known):
    assert resemblance(known).ok
    blind = fd.fit(
        regression(fd.Gaussian(sd=SD)), fd.EFIDirect(draws=400), seed=0, multistart=False
    )
    found = resemblance(blind)
    assert not found.ok
    assert found.value > 0.5
    assert blind.diagnose().verdict == "caution"


def test_an_unknown_length_is_where_the_likelihood_is_largest():
    """Given the curve, and to a step of a fifth."""
    result = fd.fit(
        regression(fd.Correlated(over=("x",))), fd.EFIDirect(draws=200), seed=0, multistart=False
    )
    off = result.problem.groups[0].y - result.band(X).sel(output="u")["estimate"].values
    found, *limits = result.parameters().loc["length_x_u", ["estimate", "lower", "upper"]]
    assert np.isnan(limits).all(), "a length is held, so it has no interval"

    def profile(length):
        correlation = 0.98 * np.exp(-np.abs(X[:, None] - X) / length) + 0.02 * np.eye(90)
        return (
            -45 * np.log(off @ np.linalg.solve(correlation, off))
            - 0.5 * np.linalg.slogdet(correlation)[1]
        )

    assert profile(found) > max(profile(1.25 * found), profile(found / 1.25))
    assert resemblance(result).ok


def test_efi_says_that_it_cannot_infer_a_length():
    with pytest.raises(ValueError, match="length_x of 'u' is unknown"):
        fd.fit(regression(fd.Correlated(over=("x",))), fd.EFI(), seed=0, multistart=False)


def test_few_errors_that_resemble_their_neighbours_are_seen_where_their_size_is_unknown():
    """Twelve data, so that three standard errors would let a correlation of .9 pass;
    independent errors do not set it off.
    """
    t = np.linspace(0, 4, 12)
    unknown, known = (
        fd.Problem(
            equation=None,
            domain=fd.Box(t=(0, 4)),
            network=fd.MLP((4,)),
            observations=[fd.Observed("u", x=t, y=np.sin(t), noise=noise)],
        )
        for noise in (fd.Gaussian(), fd.Gaussian(sd=0.1))
    )
    residuals = np.array(
        [0.05, 0.40, 0.48, 0.39, 0.33, 0.12, 0.01, -0.17, -0.29, -0.40, -0.46, -0.50]
    )
    (check,) = _neighbours(unknown.groups[0], residuals / residuals.std())
    assert not check.ok
    assert not _neighbours(known.groups[0], residuals / 0.1)  # its size tells
    random = np.random.default_rng(0)
    alarms = sum(
        not _neighbours(unknown.groups[0], random.standard_normal(12))[0].ok for _ in range(300)
    )
    assert alarms <= 3  # 0.4 are expected
