"""Constants that the data cannot tell apart are found and named."""

import numpy as np
import pytest
import xarray as xr

import fiducial as fd
from fiducial.results.drawn_constants import (
    ConstantDraws,
    constant_draws,
    correlated_pairs,
    describe_pair,
    poorly_determined,
)
from helpers import TINY, decay, made_up


def drawn(values: np.ndarray, positive: tuple[bool, ...]) -> ConstantDraws:
    labels = list("abcdef")[: values.shape[1]]
    return ConstantDraws(labels, labels, values, np.array(positive))


def test_a_pair_on_a_curve_is_named_with_its_direction():
    """a = 3 b^-1.5 exactly; c is independent of both."""
    b, c = np.random.default_rng(0).lognormal(size=(2, 1000))
    found = drawn(np.column_stack([3 * b**-1.5, b, c]), (True, True, True))
    first, *others = correlated_pairs(found)
    assert (first.first, first.second) == (0, 1)
    assert first.correlation == pytest.approx(-1)
    assert first.slope == pytest.approx(-1.5)
    assert max(abs(p.correlation) for p in others) < 4 / np.sqrt(1000)
    text = describe_pair(found, first)
    low, high = np.quantile(b, [0.025, 0.975], method="weibull")
    spans = f"a from {3 * high**-1.5:.2g} to {3 * low**-1.5:.2g}, b from {low:.2g} to {high:.2g}"
    assert text == f"a and b move together (correlation -1.0000; a goes as b^-1.5), {spans}"


def test_a_pair_of_plain_numbers_is_named_with_its_direction():
    b = np.random.default_rng(0).standard_normal(500)
    (pair,) = correlated_pairs(drawn(np.column_stack([np.exp(1 + 0.5 * b), b]), (True, False)))
    assert "log a changes by 0.5 for each unit of b" in describe_pair(
        drawn(np.column_stack([np.exp(1 + 0.5 * b), b]), (True, False)), pair
    )


def test_constants_that_stand_still_are_no_pair():
    b = np.random.default_rng(0).standard_normal(50)
    assert correlated_pairs(drawn(np.column_stack([b, np.ones(50)]), (False, True))) == []


def test_hardly_known_means_an_interval_wider_than_the_median():
    z = np.random.default_rng(0).standard_normal(20_000)
    # widths 3.92 sd: 0.9 and 1.1 of the median
    known = poorly_determined(
        drawn(np.column_stack([1 + 0.9 / 3.92 * z, 1 + 1.1 / 3.92 * z]), (False, False))
    )
    assert known.tolist() == [False, True]
    # one draw far out has no say
    far = np.append(np.exp(z), 1e9)
    assert poorly_determined(drawn(far[:, None], (True,))).all()


def unclear(spread: float) -> fd.Result:
    """Made-up draws in which b is 2 / a, with logarithms of the given spread."""
    problem = decay(
        equation=lambda u, t, p: fd.derivative(u, t) + p["a"] * p["b"] * u(t),
        unknowns={"a": fd.Positive(1.0), "b": fd.Positive(2.0)},
        network=TINY,
        truth=None,
    )
    result = made_up(problem)
    log = spread * np.random.default_rng(1).standard_normal(result.draws["a"].shape)
    drawn = result.draws.assign(
        a=(("chain", "draw"), np.exp(log)),
        b=(("chain", "draw"), 2 * np.exp(-log) * (1 + 1e-3 * spread * np.roll(log, 1))),
    )
    result.tree["draws"] = xr.DataTree(drawn)
    return result


def test_the_diagnosis_names_constants_that_move_together_if_neither_is_known():
    wide, narrow = (
        next(
            c
            for c in unclear(s).diagnose().checks
            if c.name == "correlation of poorly determined unknowns"
        )
        for s in (1.0, 0.01)
    )
    assert not wide.ok
    assert "a and b move together (correlation -1.0000; a goes as b^-1)" in wide.reason
    assert "fix one of them" in wide.reason
    assert narrow.ok  # each is known to two per cent


def test_the_picture_of_constants_shows_every_draw():
    result = unclear(1.0)
    found = constant_draws(result)
    axis = next(a for a in result.plot_constants().axes if a.get_title().startswith("correlation"))
    x, y = axis.lines[0].get_data()
    np.testing.assert_array_equal(x, found.values[:, 0])
    np.testing.assert_array_equal(y, found.values[:, 1])
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("a", "b")
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(
    "result",
    [made_up(decay(network=TINY)), made_up(decay(network=TINY), draws=None)],
    ids=["one constant", "no draws"],
)
def test_a_picture_of_less_than_two_constants_is_refused(result):
    with pytest.raises(ValueError, match="two unknown constants"):
        result.plot_constants()
