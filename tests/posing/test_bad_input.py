"""Mistakes in posing a problem: a message that names the culprit and the fix, before
any compilation.
"""

import math

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fiducial as fd
from helpers import TINY, decay


def posed(observed=None, **changes) -> fd.Problem:
    return decay(
        network=TINY, **({} if observed is None else {"observations": [observed]}), **changes
    )


NOISE = fd.Gaussian(0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fd.Observed("u", x=[0.0, 1.0], y=[1.0, np.nan]), r"'u': y\[1\] is nan"),
        (
            lambda: fd.Observed("u", x=[0.0, 1.0], y=[[1.0, 2.0], [np.inf, 1.0]]),
            r"'u': y\[1, 0\] is inf",
        ),
        (lambda: fd.Observed("u", x=[0.0], y=["a"]), "'u'.*not numbers"),
        (lambda: fd.Observed("u", x=[0.0], y=np.zeros((1, 1, 1))), "'u'.*3 dimensions"),
        (
            lambda: posed(fd.Observed("u", x=[0.0, np.nan], y=[1.0, 2.0])),
            "'u'.*point 1 is not finite",
        ),
        (lambda: posed(fd.Observed("u", x=["a"], y=[1.0])), "'u'"),
        (
            lambda: posed(fd.Observed("u", x=[0.0, 1.0], y=[1.0, 2.0, 3.0])),
            "'u': 2 points but 3 values",
        ),
        (
            lambda: posed(fd.Observed("u", x=[0.0, 1.0], y=np.ones((3, 2)))),
            "'u': 2 points but 3 values",
        ),
        (lambda: posed(fd.Observed("u", x=[], y=[])), "'u'.*no values"),
        (
            lambda: posed(fd.Observed("u", x=[0.0, 9.0], y=[1.0, 2.0])),
            "'u': point 1 has t = 9, outside",
        ),
        (lambda: fd.Gaussian(sd=0), "must be positive.*leave the noise out"),
        (lambda: fd.Gaussian(sd=-0.1), "must be positive"),
        (
            lambda: posed(
                fd.Observed("u", x=[0.0, 1.0], y=[1.0, 2.0], noise=fd.Gaussian([0.1, 0.2, 0.3]))
            ),
            "'u': sd has 3 values for 2",
        ),
        (lambda: posed(fd.Observed("v", x=[0.0], y=[1.0])), "Observed.'v'.*outputs are u"),
        (
            lambda: posed(equation=lambda u, t, p: p["K"] * u(t)),
            "the equation asks for 'K'; the unknowns are k",
        ),
        (
            lambda: posed(
                fd.Observed(lambda u, t, p: p["q"] * u(t), x=[0.0], y=[1.0], name="flux")
            ),
            "'flux' asks for 'q'",
        ),
        (lambda: posed(observations=[]), "needs observations"),
        (
            lambda: posed(equation=lambda u, t, p: jnp.stack([u(t), u(t)])),
            r"one number per point.*\(2,\)",
        ),
        (lambda: posed(equation=lambda u, t, p: ()), "one number per point.*nothing"),
        (
            lambda: posed(fd.Observed(lambda u, t, p: (u(t), u(t)), x=[0.0], y=[1.0], name="pair")),
            "'pair' must return one number",
        ),
        (lambda: posed(fd.Observed("equation", x=[0.0], y=[1.0]), equation=None), "give equation"),
        (
            lambda: posed(
                equation=lambda u, t, p: (u(t), u(t)),
                observed=fd.Observed("equation", x=[0.0, 1.0], y=[1.0, 2.0]),
            ),
            "2 parts",
        ),
        (lambda: posed(units={"z": "m"}), "units.*z"),
        (lambda: posed(unknowns={"k/m": fd.Real(1.0)}), "'k/m' cannot name"),
        (lambda: posed(fd.Observed("u", x=[0.0], y=[1.0], name="a/b")), "'a/b'.*without '/'"),
        (lambda: fd.Box(mean=(0, 1)), "'mean' has a meaning of its own"),
        (
            lambda: posed(
                fd.Observed("u", x=[0.0, 1.0], y=[1.0, 2.0], noise=fd.Gaussian(h=lambda t: t))
            ),
            "h must be positive.*not at 0.0",
        ),
        (lambda: posed(unknowns={"t": fd.Real(1.0)}), "used twice: t"),
        (lambda: posed(outputs=()), "at least one name"),
        (lambda: fd.Output(scale=0.0), "scale=0.0"),
        (lambda: fd.problem("nope"), "no problem called 'nope'; there are .*poisson"),
        (lambda: fd.problem("poisson", colour=1), "no setting 'colour'; it has sd"),
        (lambda: fd.method("nope"), "no method called 'nope'; there are .*pinn"),
        (lambda: fd.schedules.exponential(0.0, 1.0), "both ends must be positive"),
    ],
)
def test_wrong_values_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fd.Observed(3, x=[0.0], y=[1.0]), "give the name of an output"),
        (lambda: fd.Observed("u", x=[0.0], y=[1.0], noise=0.1), r"noise=0\.1.*Gaussian"),
        (lambda: posed(unknowns={"k": 1.0}), r"unknowns\['k'\].*Real"),
        (lambda: posed(domain=(0, 1)), "give a Box"),
        (lambda: posed(outputs="u"), r"outputs=\('u',\)"),
        (lambda: posed(observations=[("u", 1.0)]), "give Observed"),
        (lambda: fd.fit("poisson"), r"fiducial\.problem\('poisson'\)"),
        (lambda: posed().replace(colour=1), "colour"),
    ],
)
def test_wrong_kinds_are_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        (lambda f, at, p: f["w"](at), "no output 'w'; the outputs are u"),
        (lambda f, at, p: fd.derivative(f, at, "y"), "no coordinate 'y'"),
        (lambda f, at, p: 1.0 / undefined_name, "undefined_name"),
        (lambda u, t, p: fd.derivative(u, t) + np.exp(u(t)), "use functions of jax.numpy"),
        (lambda u, t, p: fd.derivative(u, t) + math.exp(u(t)), "use functions of jax.numpy"),
        (lambda u, t, p: fd.derivative(u, t) + (1.0 if t > 1 else 0.0), r"write jnp\.where"),
        (lambda u, t, p: fd.derivative(u(t), t), "give derivatives the field itself"),
        (lambda u, t, p: None, "does it return its value"),
    ],
)
def test_a_failing_equation_says_what_is_wrong_in_it(equation, message):
    with pytest.raises(ValueError, match=message) as caught:
        posed(equation=equation)
    assert "the equation" in str(caught.value)
    assert "unknowns are" not in str(caught.value), "an output or coordinate is not an unknown"


def test_the_attribute_form_on_a_line_is_explained():
    with pytest.raises(ValueError, match=r"write at, not at\.t"):
        posed(equation=lambda u, at, p: fd.derivative(u, at) + u(at) * at.t)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"equation": lambda u, t, p: fd.derivative(u, t) + u(t) / (t - 1.0)},
            "the equation is not finite at t=1",
        ),
        (
            {"equation": lambda u, t, p: jnp.log(-1.0 - u(t) ** 2)},
            "the equation is not finite at t=0",
        ),
        (
            {"observed": fd.Observed(lambda u, t, p: u(t) / t, x=[0.0], y=[1.0], name="ratio")},
            "'ratio' is not finite at t=0",
        ),
    ],
)
def test_values_that_are_not_finite_at_the_start_are_refused_before_the_run(
    changes, message, monkeypatch
):
    from fiducial.running import driver

    def no_run(*_, **__):
        raise AssertionError("the run must not begin")

    monkeypatch.setattr(driver.Runner, "run", no_run)
    with pytest.raises(ValueError, match=message):
        fd.fit(posed(collocation=fd.collocation.at_points([0.0, 1.0, 2.0]), **changes), fd.PINN())


# -- files
# ------------------------------------------------------------------------------------


def test_tables_are_read_by_column_name(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("day, a, b, note\n0, 1.0, 1.1, x\n1, 2.0, 2.1, y\n")
    observed = fd.Observed.from_table("u", path, x="day", y=["a", "b"], noise=NOISE)
    assert observed.y.tolist() == [[1.0, 1.1], [2.0, 2.1]]
    assert observed.x.tolist() == [0.0, 1.0]
    frame = pd.read_csv(path, skipinitialspace=True)
    assert fd.Observed.from_table("u", frame, x={"t": "day"}, y="a").x["t"].tolist() == [0.0, 1.0]
    assert set(fd.Observed.from_table("u", frame, x=["day", "b"], y="a").x) == {"day", "b"}


def test_bad_tables_are_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("day,a,note\n0,1.0,x\n1,,y\n")
    with pytest.raises(
        ValueError, match=r"data\.csv has no column 'b'; its columns are day, a, note"
    ):
        fd.Observed.from_table("u", path, x="day", y="b")
    with pytest.raises(ValueError, match=r"data\.csv: column 'note'.*not numbers"):
        fd.Observed.from_table("u", path, x="day", y="note")
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):  # the empty cell
        fd.Observed.from_table("u", path, x="day", y="a")
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"):
        fd.Observed.from_table("u", tmp_path / "absent.csv", x="day", y="a")
    with pytest.raises(ValueError, match="no column 'b'"):
        fd.Observed.from_table("u", {"day": [0.0]}, x="day", y="b")


def test_an_empty_table_is_named(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"empty\.csv"):
        fd.Observed.from_table("u", path, x="day", y="a")


def test_files_of_others_are_not_loaded(tmp_path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.nc"
    text.write_text("not a result")
    xr.Dataset({"temperature": ("x", [1.0, 2.0])}).to_netcdf(other, engine="h5netcdf")
    with pytest.raises(ValueError, match=r"notes\.txt is not a result of fiducial"):
        fd.load(text)
    with pytest.raises(ValueError, match=r"other\.nc is not a result of fiducial"):
        fd.load(other)
    with pytest.raises(FileNotFoundError, match=r"absent\.nc"):
        fd.load(tmp_path / "absent.nc")
    with pytest.raises(FileNotFoundError, match=r"result\.nc"):
        fd.load(tmp_path)
    assert text.read_text() == "not a result"


@pytest.mark.slow
def test_a_result_with_its_tail_cut_off_is_refused(tmp_path, decay_fit):
    path = decay_fit.save(tmp_path / "run.nc")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match=r"run\.nc is not a result"):
        fd.load(path, problem=decay_fit.problem)


def test_one_observation_needs_no_list():
    assert (
        len(posed(observations=fd.Observed("u", x=[0.0], y=[1.0])).groups) == 2
    )  # and the equation
