"""Effective draws and R-hat against autoregressive chains, whose correlation is
known.
"""

import numpy as np
import pytest

from fiducial.numerics.mixing import convergence


def chains(rho: float, n: int = 20_000, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    draws = np.empty((4, n, 1))
    draws[:, 0] = random.standard_normal((4, 1))
    for t in range(1, n):
        draws[:, t] = rho * draws[:, t - 1] + np.sqrt(1 - rho**2) * random.standard_normal((4, 1))
    return draws


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.5, 0.9])
def test_effective_draws_of_an_autoregression(rho):
    found = convergence(chains(rho))
    assert found.effective[0] == pytest.approx(80_000 * (1 - rho) / (1 + rho), rel=0.1)
    assert found.r_hat[0] < 1.01


def test_chains_that_disagree_are_seen():
    draws = chains(0.0, n=500)
    draws[0] += 1.0
    found = convergence(draws)
    assert found.r_hat[0] > 1.05
    assert found.effective[0] < 100


def test_a_quantity_that_never_moves_is_not_judged():
    found = convergence(np.ones((4, 100, 1)))
    assert found.r_hat[0] == 1.0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_draws_say_nothing(count):
    found = convergence(np.random.default_rng(0).standard_normal((2, count, 3)))
    assert np.isnan(found.effective).all()
    assert np.isnan(found.r_hat).all()


def test_chains_that_stand_still_apart_and_draws_that_are_not_finite_are_not_agreement():
    apart = np.repeat(np.arange(4.0)[:, None, None], 100, axis=1)
    assert convergence(apart).r_hat[0] == np.inf
    lost = np.random.default_rng(0).standard_normal((4, 100, 2))
    lost[1, 3, 0] = np.nan
    found = convergence(lost)
    assert np.isnan([found.r_hat[0], found.effective[0]]).all()
    assert found.r_hat[1] < 1.05
