"""Unknown constants: any raw number is a valid value, and the way back is exact."""

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings

import fiducial as fd

GUESSES = st.floats(1e-9, 1e9)
quick = settings(max_examples=30, deadline=None, derandomize=True)


def round_trip(unknown, value) -> None:
    with jax.enable_x64(True):
        again = np.asarray(unknown.constrain(unknown.unconstrain(np.asarray(value))))
    np.testing.assert_allclose(again, value, rtol=1e-9)


@quick
@given(guess=GUESSES, value=st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-9))
def test_real_round_trip(guess, value):
    round_trip(fd.Real(guess), value)
    round_trip(fd.Real(guess, scale=3.0), value)


@quick
@given(guess=GUESSES, value=GUESSES)
def test_positive_round_trip(guess, value):
    round_trip(fd.Positive(guess), value)


@quick
@given(low=st.floats(-1e3, 1e3), width=st.floats(0.1, 1e3), share=st.floats(0.01, 0.99))
def test_interval_round_trip(low, width, share):
    value = low + width * share
    with jax.enable_x64(True):
        unknown = fd.Interval(low, low + width)
        again = float(unknown.constrain(unknown.unconstrain(np.asarray(value))))
    assert again == pytest.approx(value, abs=1e-9 * (width + abs(low)))


@quick
@given(raw=st.floats(-30, 30))
def test_every_raw_number_respects_the_constraint(raw):
    with jax.enable_x64(True):
        assert float(fd.Positive(2.0).constrain(raw)) > 0
        assert -1 <= float(fd.Interval(-1, 4).constrain(raw)) <= 4


def test_guesses_are_where_the_run_starts_whatever_their_size():
    """A raw number is of order one, so that a diffusivity of 1e-9 needs no special
    care.
    """
    with jax.enable_x64(True):
        assert float(fd.Real(-3e-9).unconstrain(fd.Real(-3e-9).guess)) == -1.0
        assert float(fd.Interval(0, 4).unconstrain(np.asarray(2.0))) == 0.0


def test_a_sequence_makes_a_vector():
    assert fd.Real([1.0, 2.0, 3.0]).shape == (3,)
    assert fd.Positive([1.0, 2.0]).shape == (2,)
    assert fd.Interval(0, 1, guess=[0.2, 0.3]).shape == (2,)
    round_trip(fd.Real([1.0, 0.0, -2.0]), np.array([5.0, 6.0, 0.0]))
    round_trip(fd.Interval(0, 1, guess=[0.2, 0.3]), np.array([0.4, 0.9]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fd.Real(np.nan), r"Real\(guess=nan"),
        (lambda: fd.Real([1.0, np.inf]), "finite"),
        (lambda: fd.Real(1.0, scale=0.0), "scale=0.0"),
        (lambda: fd.Positive(0.0), "greater than 0"),
        (lambda: fd.Positive([1.0, -1.0]), "greater than 0"),
        (lambda: fd.Interval(1.0, 0.0), "increasing order"),
        (lambda: fd.Interval(0.0, np.inf), "finite"),
        (lambda: fd.Interval(0.0, 1.0, guess=1.0), "strictly between"),
    ],
)
def test_bad_guesses_are_refused_with_the_fix(make, message):
    with pytest.raises(ValueError, match=message):
        make()
