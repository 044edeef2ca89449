"""Other solutions: fits from other guesses find them where there are some, and only
there.
"""

import numpy as np
import pytest

import fiducial as fd
from fiducial.results.multistart import EXCESS, OTHER

pytestmark = pytest.mark.slow

TIMES = np.linspace(0.2, 2.0, 10)
DATA = np.exp(-0.49 * TIMES) + 0.02 * np.random.default_rng(0).standard_normal(10)


def decay(unknown, rate=lambda k: k**2):
    """u' = -rate(k) u, u(0) = 1."""
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + rate(p["k"]) * u(t),
        domain=fd.Box(t=(0, 2)),
        unknowns={"k": unknown},
        observations=[
            fd.Observed("u", x=TIMES, y=DATA, noise=fd.Gaussian(sd=0.02)),
            fd.Observed("u", x=[0.0], y=[1.0], name="start"),
        ],
        collocation=fd.collocation.grid(20),
        network=fd.MLP((10,)),
    )


def fitted(problem, method=None, **more):
    return fd.fit(problem, method or fd.EFIDirect(draws=500), seed=0, progress=False, **more)


def check_of(result):
    return next(c for c in result.diagnose().checks if c.name.startswith("other solutions"))


@pytest.fixture(scope="module")
def two():
    return fitted(decay(fd.Real(guess=0.5)))


def test_a_constant_whose_sign_cannot_be_told_is_not_trusted(two):
    found, k = two.tree["multistart"].to_dataset(), two.parameters().loc["k", "estimate"]
    other = found["k"].values[found[OTHER].values == 1]
    assert np.allclose(other, -k, rtol=1e-3)
    assert np.allclose(found[EXCESS], 0, atol=0.02)
    assert len(other) >= 1
    assert two.diagnose().verdict == "do not trust"
    assert f"k = {-k:.3f}"[:-1] in check_of(two).reason


def test_where_there_is_one_solution_all_fits_come_to_it():
    one = fitted(decay(fd.Positive(guess=0.5)))
    found = one.tree["multistart"].to_dataset()
    assert found.sizes["start"] == 4
    assert np.allclose(found["k"], one.parameters().loc["k", "estimate"], rtol=1e-3)
    assert check_of(one).ok
    assert one.diagnose().verdict == "trust"


def test_it_is_kept_with_the_result(two, tmp_path):
    again = fd.load(two.save(tmp_path / "two.nc"), problem=two.problem)
    assert check_of(again) == check_of(two)


def test_a_better_solution_elsewhere_is_named():
    # the rate has a least value near k = -1, which the fit does not get out of, and is
    # right at one place, beyond k = 2
    result = fitted(
        decay(fd.Real(guess=-1.0), rate=lambda k: 0.49 + 0.05 * (-(k**3) + 3 * k + 3.2))
    )
    assert result.parameters().loc["k", "estimate"] == pytest.approx(-1, abs=0.1)
    assert "fits the data better" in check_of(result).reason
    assert "k = 2.1" in check_of(result).reason
    assert result.diagnose().verdict == "do not trust"


@pytest.mark.extra
def test_it_can_be_left_out_and_is_where_nothing_is_unknown():
    assert "multistart" not in fitted(decay(fd.Real(guess=0.5)), multistart=False).tree.children
    known = decay(fd.Real(guess=0.5)).replace(
        unknowns={},
        equation=lambda u, t, p: fd.derivative(u, t) + 0.49 * u(t),
        observations=[fd.Observed("u", x=TIMES, y=DATA, noise=fd.Gaussian(sd=0.02))],
    )
    assert "multistart" not in fitted(known).tree.children


def test_a_positive_constant_that_would_be_negative_is_said_to_be_at_its_limit():
    growing = decay(fd.Positive(guess=0.5), rate=lambda k: k).with_data({"u": np.exp(0.1 * TIMES)})
    failed = next(
        c
        for c in fitted(growing).diagnose().checks
        if c.name == "unknowns that the data do not inform"
    )
    assert "k went to its limit 0" in failed.reason
    assert "Real in place of Positive" in failed.reason
