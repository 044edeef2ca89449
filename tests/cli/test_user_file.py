"""Problems, methods and values of settings from a user's file."""

import importlib
import sys

import pytest

import fiducial as fd
from fiducial.cli.finding import find_method, find_problem, find_value, make_method
from fiducial.cli.settings import split_settings
from fiducial.cli.user_file import load_module
from fiducial.kernels.sgld import SGLD

PROBLEM = """
import numpy, signal
import fiducial as fd

assert numpy.pi and signal.SIGINT  # those of Python, not this file
problem = fd.Problem(
    equation=None,
    domain=fd.Box(t=(0, 1)),
    observations=[fd.Observed("u", x=[1.0], y=[0.4], noise=fd.Gaussian(0.1))],
)
"""
METHODS = """
import fiducial as fd
from fiducial.kernels.sgld import SGLD

class Mine(fd.PINN):
    name = "mine"

class MyKernel(SGLD):
    pass

quick = Mine(adam_steps=3)
"""


@pytest.mark.parametrize("name", ["numpy", "signal", "jax", "fiducial"])
def test_a_file_with_the_name_of_a_module_does_not_replace_it(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(PROBLEM)
    before = importlib.import_module(name)
    assert find_problem(str(tmp_path / f"{name}.py"), {}).name == name
    assert sys.modules[name] is before
    assert importlib.import_module(name) is before


def test_a_file_is_run_once_until_it_changes(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("made = object()\n")
    first = load_module(path)
    assert load_module(path) is first
    path.write_text("made = object()  # changed\n")
    assert load_module(path).made is not first.made


def test_a_file_that_fails_fails_again(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import fiducial\n1 / 0\n")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"broken\.py, line 2: ZeroDivisionError"):
            load_module(path)


def test_a_function_of_a_file_can_import_the_file_beside_it(tmp_path):
    (tmp_path / "beside_it.py").write_text("value = 3\n")
    path = tmp_path / "late.py"
    path.write_text("def value():\n    import beside_it\n\n    return beside_it.value\n")
    assert load_module(path).value() == 3


@pytest.fixture
def methods(tmp_path):
    path = tmp_path / "methods.py"
    path.write_text(METHODS)
    return path


def test_a_method_is_a_class_or_an_object_of_a_file(methods):
    mine = make_method(find_method(f"{methods}:Mine"), {"adam_steps": 7}, fd.problem("poisson"))
    assert (type(mine).__name__, mine.name, mine.adam_steps) == ("Mine", "mine", 7)
    assert make_method(find_method(f"{methods}:quick"), {}, fd.problem("poisson")).adam_steps == 3
    assert find_method("pinn") is fd.PINN


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        ("{}", {}, r"has 2 methods \(Mine, quick\); name one: .*methods.py:Mine"),
        ("{}:Other", {}, r"has no 'Other'; it has Mine, quick"),
        ("{}:MyKernel", {}, "is not a method; derive it from"),
        ("{}:Mine", {"colour": 1}, "method 'mine' has no setting 'colour'; it has adam_steps"),
        ("{}:quick", {"adam_steps": 1}, "gives 'mine' with its settings; name its class"),
        ("magic", {}, "no method called 'magic'; there are bayes"),
        ("nowhere.py:Mine", {}, "nowhere.py: no such file"),
    ],
)
def test_mistakes_name_what_there_is(methods, spec, settings, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make_method(find_method(spec.format(methods)), settings, fd.problem("poisson"))


def test_a_value_of_a_setting_can_be_an_object_of_a_file(methods):
    pairs = ["n=3", "scale=0.5", f"noise={methods}:quick", f"mine.kernel={methods}:MyKernel"]
    options, settings = split_settings(pairs, ["mine"])
    assert (options["n"], options["scale"]) == (3, 0.5)
    assert isinstance(options["noise"], fd.PINN)
    assert isinstance(settings["mine"]["kernel"], SGLD)
    assert find_value("file.py") == "file.py"
