"""What the parameter vector holds where."""

import jax
import numpy as np
import pytest

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.model.layout import Layout
from helpers import TINY, decay

UNKNOWNS = {"k": fd.Positive(2.0), "b": fd.Real([1.0, -3.0])}


def posed() -> fd.Problem:
    return decay(network=TINY, noise=fd.Gaussian(), unknowns=UNKNOWNS)


def test_weights_come_first_then_noise_sizes_then_constants_by_name():
    layout = Layout.of(posed())
    assert layout.own == slice(0, 25)  # 8 + 8 weights, 8 + 1 biases
    assert layout.noise == layout.locate("sd_u")[0] == slice(25, 26)
    assert layout.constants == slice(26, 29)
    assert layout.locate("b")[0] == slice(26, 28)
    assert layout.locate("k")[0] == slice(28, 29)
    assert layout.constant_count == 3
    assert layout.size == 29
    with pytest.raises(ValueError, match="no unknown called 'q'; there are b, k, sd_u"):
        layout.locate("q")


def test_a_parameter_vector_holds_what_its_layout_says(x64):
    model = bind(posed())
    theta = np.array(model.init(jax.random.key(0)))
    _, b = model.locate("b")
    np.testing.assert_allclose(b.constrain(theta[model.locate("b")[0]]), [1.0, -3.0])
    theta[model.locate("k")[0]] = 1.0
    assert float(model.unknowns(theta)["k"]) == pytest.approx(np.e)


def test_a_model_is_made_in_double_precision_and_says_where_that_is_off():
    model = bind(posed())
    theta = model.init(jax.random.key(0))
    assert theta.dtype == np.float64
    with pytest.raises(RuntimeError, match=r"jax\.enable_x64\(True\)"):
        model.unknowns(theta)
