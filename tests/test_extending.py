"""The skeletons of docs/extending.md are files that work."""

import importlib.util
import re
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial import catalogue
from fiducial.coordinates import Points

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text()
SKELETONS = dict(re.findall(r'```python title="src/fiducial/(.*?)\.py"\n(.*?)```', PAGE, flags=re.DOTALL))


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A skeleton as the module that it would be, for one test."""

    def get(path: str):
        name, file = "fiducial." + path.replace("/", "."), tmp_path / f"{Path(path).name}.py"
        file.write_text(SKELETONS[path])
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return get


def test_every_skeleton_has_a_name_of_its_own():
    assert len(SKELETONS) == 4
    for path in SKELETONS:
        assert not (Path(fd.__file__).parent / f"{path}.py").exists(), f"{path} would overwrite a file"


def test_the_problem_and_the_method_run(load):
    load("phases/gradient_descent")
    problem = load("problems/exponential_decay").exponential_decay()
    (method,) = [
        m for m in vars(load("methods/descent")).values() if isinstance(m, type) and issubclass(m, fd.AbstractMethod) and m is not fd.AbstractMethod
    ]
    assert method.name not in catalogue.methods()
    assert fd.fit(problem.replace(network=fd.MLP((8,))), method(steps=20), seed=0).status.usable


def test_the_noise_model_agrees_with_gaussian_errors(load, x64):
    random = np.random.default_rng(0)
    mean, y = random.standard_normal((2, 5))
    points, index = Points(("x",), np.arange(5.0)[:, None]), np.arange(5)
    sd = np.linspace(0.1, 0.5, 5)
    mine, plain = load("noise/known_covariance").KnownCovariance(np.diag(sd**2)), fd.Gaussian(sd=sd)
    for noise in (mine, plain):
        noise.check((5,), "here")
    np.testing.assert_allclose(mine.pull(mean, y, points, {}), plain.pull(mean, y, points, {}), rtol=1e-12)
    np.testing.assert_allclose(mine.push(mean, y, points, {}), plain.push(jnp.asarray(mean), y, points, {}), rtol=1e-12)
    np.testing.assert_allclose(mine.log_prob(mean, y, points, {}), plain.log_prob(mean, y, points, {}), rtol=1e-12)
    np.testing.assert_allclose(mine.whiten_mean(mean, points, index, 5, {}), plain.whiten_mean(mean, points, index, 5, {}), rtol=1e-12)
    with pytest.raises(ValueError, match="several observations"):
        mine.unknowns(y, points, np.zeros(5, int))
