"""A problem with other data, and with other arguments."""

import numpy as np
import pytest

import fiducial as fd
from helpers import TINY, decay


def test_other_data_are_other_observations():
    problem = decay(network=TINY)
    values = np.arange(12.0)
    changed = problem.with_data({"u": values})
    np.testing.assert_array_equal(changed.observations[0].y, values)
    np.testing.assert_array_equal(changed.groups[0].y, values)
    np.testing.assert_array_equal(changed.groups[1].y, problem.groups[1].y)
    assert problem.groups[0].y[0] != 0.0, "the problem itself stays as it was"


def test_replicates_and_parts_of_a_system_keep_their_shape():
    problem = fd.Problem(
        equation=lambda f, t, p: (fd.derivative(f.a, t), f.b(t)),
        domain=fd.Box(t=(0, 1)),
        outputs=("a", "b"),
        observations=[
            fd.Observed("equation", x=[0.0, 1.0], y=(0.0, [1.0, 2.0])),
            fd.Observed("a", x=[0.0, 1.0], y=[[1.0, 2.0], [3.0, 4.0]], noise=fd.Gaussian(0.1)),
        ],
        network=TINY,
    )
    changed = problem.with_data({"equation.0": [5.0, 6.0], "a": np.arange(4.0)})
    np.testing.assert_array_equal(changed.observations[0].y, ([5.0, 6.0], [1.0, 2.0]))
    np.testing.assert_array_equal(changed.observations[1].y, [[0.0, 1.0], [2.0, 3.0]])


def test_data_for_what_was_not_observed_are_refused():
    with pytest.raises(ValueError, match="no observations called equation; there are u, start"):
        decay(network=TINY).with_data({"equation": np.zeros(40)})
    with pytest.raises(ValueError, match="12 observations, 2 values were given; give one for each"):
        decay(network=TINY).with_data({"u": np.zeros(2)})
