"""The skeletons of docs/extending.md are files that work."""

import importlib
import re
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial import catalogue
from fiducial.posing.coordinates import Points

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text()
SKELETONS = dict(re.findall(r'```python title="(.*?)\.py"\n(.*?)```', PAGE, flags=re.DOTALL))


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A skeleton as a file of a user's own, for one test."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in SKELETONS.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module


def test_there_is_a_skeleton_for_each_kind():
    assert set(SKELETONS) == {
        "exponential_decay",
        "gradient_descent",
        "descent",
        "descent_with_check",
        "known_covariance",
    }


def test_the_problem_and_the_method_run(load):
    problem = load("exponential_decay").exponential_decay()
    (method,) = [
        m
        for m in vars(load("descent")).values()
        if isinstance(m, type) and issubclass(m, fd.AbstractMethod) and m is not fd.AbstractMethod
    ]
    assert method.name not in catalogue.methods()
    assert fd.fit(problem.replace(network=fd.MLP((8,))), method(steps=20), seed=0).status.usable


def test_the_method_with_a_check_reports_it(load):
    problem = load("exponential_decay").exponential_decay().replace(network=fd.MLP((8,)))
    result = fd.fit(problem, load("descent_with_check").CheckedDescent(steps=20), seed=0)
    check = next(c for c in result.diagnose().checks if c.name.startswith("fall of the loss"))
    assert check.value == pytest.approx(result.facts["fall"])
    assert not check.ok  # after 20 steps of gradient descent


def test_the_noise_model_agrees_with_gaussian_errors(load, x64):
    random = np.random.default_rng(0)
    mean, y = random.standard_normal((2, 5))
    points, index = Points(("x",), np.arange(5.0)[:, None]), np.arange(5)
    sd = np.linspace(0.1, 0.5, 5)
    mine, plain = load("known_covariance").KnownCovariance(np.diag(sd**2)), fd.Gaussian(sd=sd)
    for noise in (mine, plain):
        noise.check((5,), "here")
    np.testing.assert_allclose(
        mine.pull(mean, y, points, {}), plain.pull(mean, y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.push(mean, y, points, {}), plain.push(jnp.asarray(mean), y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.log_prob(mean, y, points, {}), plain.log_prob(mean, y, points, {}), rtol=1e-12
    )
    np.testing.assert_allclose(
        mine.whiten_mean(mean, points, index, 5, {}),
        plain.whiten_mean(mean, points, index, 5, {}),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="several observations"):
        mine.unknowns(y, points, np.zeros(5, int))
