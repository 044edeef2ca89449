"""The command: exit codes, files, and what it says about mistakes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fiducial as fd
from fiducial.cli.entry import main

FILE = """
import jax.numpy as jnp
import fiducial as fd

def make(*, k=1.0, n=5):
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + k * u(t),
        domain=fd.Box(t=(0, 1)),
        observations=[
            fd.Observed("u", x=[0.0], y=[1.0], name="start"),
            fd.Observed("u", x=[1.0, 1.0], y=[0.4, 0.3], noise=fd.Gaussian(0.1)),
        ],
        collocation=fd.collocation.grid(n),
        network=fd.MLP((4,)),
    )

slow = make(k=0.5)
not_a_problem = 3
"""

QUICK = ["--method", "pinn", "--set", "method.adam_steps=2", "method.lm_steps=2"]


def command(monkeypatch, *arguments: str) -> int:
    """Run ``fiducial ...`` in this process and give its exit code."""
    monkeypatch.setattr(sys, "argv", ["fiducial", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run of the installed command in a process of its own."""
    folder = tmp_path_factory.mktemp("cli") / "out"
    script = Path(sys.executable).parent / "fiducial"
    options = [
        "--method",
        "pinn",
        "--set",
        "n_f=30",
        "sd=0.1",
        "method.adam_steps=5",
        "method.lm_steps=5",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    call = [script, "run", "poisson", *options, "--seed", "7", "--level", "0.9", "--out", folder]
    done = subprocess.run(call, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    return folder


@pytest.mark.slow
def test_the_command_keeps_compiled_programs_for_the_next_run(finished):
    assert any((finished.parent / "cache" / "fiducial").iterdir())


def test_the_version_is_that_of_the_package(monkeypatch, capsys):
    assert command(monkeypatch, "--version") == 0
    assert f"fiducial {fd.__version__}," in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_leaves_summary_result_and_figures(finished):
    names = {p.name for p in finished.iterdir()}
    assert {"summary.json", "result.nc", "solution.png", "trace.png"} == names
    assert (finished / "solution.png").stat().st_size > 5_000


@pytest.mark.slow
def test_several_settings_after_one_flag_all_count(finished):
    options = fd.load(finished).problem.options
    assert (options["n_f"], options["sd"]) == (30, 0.1)
    settings = json.loads(fd.load(finished).tree.attrs["settings"])
    assert (settings["adam_steps"], settings["lm_steps"]) == (5, 5)


@pytest.mark.slow
def test_summary_has_exactly_the_promised_keys(finished):
    """Issue 2, point 8: other programs read this file."""
    summary = json.loads((finished / "summary.json").read_text())
    assert list(summary) == [
        "problem",
        "method",
        "seed",
        "level",
        "status",
        "unknowns",
        "noise",
        "field",
        "diagnosis",
        "seconds",
        "checksum",
    ]
    assert (summary["problem"], summary["method"], summary["seed"], summary["level"]) == (
        "poisson",
        "pinn",
        7,
        0.9,
    )
    assert summary["status"] in ("finished", "converged", "unsettled")  # five steps need not settle
    assert_shape(summary)
    assert set(summary["noise"]) == {"u"}
    assert set(summary["field"]) == {"u"}
    assert summary["field"]["u"]["mean_width"] is None  # no interval: null, not a number made up
    assert summary["field"]["u"]["mse"] > 0


def assert_shape(summary: dict) -> None:
    for entry in summary["unknowns"].values():
        assert set(entry) == {"estimate", "mean", "sd", "lower", "upper", "truth"}
    for group in summary["noise"].values():
        assert set(group) == {"sd"}
        assert set(group["sd"]) == {"mean", "sd", "lower", "upper", "truth"}
    for entry in summary["field"].values():
        assert set(entry) == {"mean_width", "coverage", "mse"}
    assert set(summary["diagnosis"]) == {"verdict", "checks"}
    for check in summary["diagnosis"]["checks"]:
        assert set(check) == {"name", "value", "limit", "ok"}
    assert set(summary["seconds"]) == {"compile", "run"}


@pytest.mark.slow
def test_summary_with_unknowns_and_unknown_noise_has_the_same_keys(decay_fit):
    summary = decay_fit.summary()
    assert_shape(summary)
    assert set(summary["unknowns"]) == {"k"}
    assert summary["unknowns"]["k"]["truth"] == 1.3
    assert set(summary["noise"]) == {"u"}


@pytest.mark.slow
def test_show_prints_the_summary_again(finished, monkeypatch, capsys):
    assert command(monkeypatch, "show", str(finished)) == 0
    text = capsys.readouterr().out
    assert "poisson by pinn, seed 7" in text
    assert "verdict" in text
    assert "result.nc" in text


def test_show_of_something_else_is_a_usage_mistake(here, monkeypatch, capsys):
    assert command(monkeypatch, "show", "nowhere") == 2
    assert "nowhere" in capsys.readouterr().err
    (here / "odd").mkdir()
    (here / "odd" / "summary.json").write_text("{}")
    assert command(monkeypatch, "show", "odd") == 2
    assert "odd" in capsys.readouterr().err


@pytest.mark.slow
def test_a_finished_run_is_pointed_to(finished, monkeypatch, capsys):
    assert command(monkeypatch, "run", "poisson", "--out", str(finished)) == 2
    assert "holds a finished run, which `fiducial show" in capsys.readouterr().err
    assert command(monkeypatch, "show", str(finished / "result.nc")) == 2
    assert "give the folder that it is in" in capsys.readouterr().err


def test_problems_and_methods_are_listed_with_their_options(monkeypatch, capsys):
    assert command(monkeypatch, "problems") == 0
    text = capsys.readouterr().out
    assert "poisson" in text
    assert "sd=0.05" in text
    assert command(monkeypatch, "methods") == 0
    text = capsys.readouterr().out
    assert "pinn" in text
    assert "adam_steps=1000" in text
    assert "(default)" in text


@pytest.mark.slow
def test_a_users_file_with_one_problem_in_folders_that_count_up(here, monkeypatch, capsys):
    assert command(monkeypatch, "run", "mine.py", "--quiet", *QUICK) == 0
    assert capsys.readouterr().out == ""
    assert command(monkeypatch, "run", "mine.py:slow", "--quiet", *QUICK) == 0
    assert command(monkeypatch, "run", "mine.py:make", "--quiet", *QUICK, "k=2.0", "n=6") == 0
    assert sorted(p.name for p in here.iterdir() if p.is_dir() and p.name.startswith("mine-")) == [
        "mine-pinn",
        "mine-pinn-2",
        "mine-pinn-3",
    ]
    observed = fd.load(here / "mine-pinn-3", problem=sys.modules[__name__].made(here)).problem
    assert next(g for g in observed.groups if g.physics).y.size == 6


def made(folder: Path) -> fd.Problem:
    space: dict = {}
    exec((folder / "mine.py").read_text(), space)
    return space["make"](k=2.0, n=6)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["run", "nothing"], "nothing"),
        (["run", "poisson", "--method", "magic"], "magic"),
        (["run", "poisson", "--set", "colour=3"], "colour"),
        (["run", "poisson", "--set", "method.colour=3"], "colour"),
        (["run", "poisson", "--set", "sd"], "--set sd"),
        (["run", "poisson", "--set", "sd=-1"], "positive"),
        (["run", "poisson", "--set", "method.adam_steps=-3"], "adam_steps"),
        (["run", "poisson", "--level", "95"], "--level"),
        (["run", "absent.py"], "absent.py"),
        (["run", "mine.py:other"], "other"),
        (["run", "mine.py:not_a_problem"], "not a Problem"),
        (["run", "mine.py:slow", "--set", "k=2"], "without options"),
        (["run", "mine.py:make", "--set", "q=2"], "'q'"),
        (["run", "poisson", "--resume", "--out", "fresh"], "fresh"),
        (["run", "broken.py"], "broken.py, line 2: ZeroDivisionError"),
        (["run", "empty.py"], "empty.py has no problem; write"),
        (["run", "poisson", "--set", "sd=wide"], "sd=wide: is a number meant?"),
        (["run", "poisson", "--seed", "-1"], "seed"),
        (["bogus"], "bogus"),
    ],
)
def test_mistakes_have_exit_code_2_name_the_culprit_and_leave_nothing(
    here, monkeypatch, capsys, arguments, culprit
):
    (here / "broken.py").write_text("import fiducial\n1 / 0\n")
    (here / "empty.py").write_text("import fiducial\n")
    before = sorted(p.name for p in here.iterdir())
    assert command(monkeypatch, *arguments) == 2
    assert culprit in capsys.readouterr().err
    assert sorted(p.name for p in here.iterdir() if p.name != "__pycache__") == before


@pytest.mark.parametrize("wrong", ["method.adam_steps=ten", "sd=wide", "replicates=0", "n_f=2.5"])
def test_a_setting_of_the_wrong_kind_is_a_usage_mistake(here, monkeypatch, capsys, wrong):
    assert command(monkeypatch, "run", "poisson", "--set", wrong) == 2
    message = capsys.readouterr().err
    assert message.startswith("fiducial:") or "fiducial:" in message
    assert not list(here.glob("poisson*"))


def test_a_number_of_draws_that_is_no_number_is_named(here, monkeypatch, capsys):
    assert (
        command(
            monkeypatch, "run", "poisson", "--set", "method.draws=ten", "--method", "efi-direct"
        )
        == 2
    )
    assert "EFIDirect(draws='ten'): give a whole number" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(here, monkeypatch, capsys):
    (here / "full").mkdir()
    (here / "full" / "thesis.txt").write_text("mine")
    assert command(monkeypatch, "run", "poisson", "--out", "full") == 2
    assert "full" in capsys.readouterr().err
    assert [p.name for p in (here / "full").iterdir()] == ["thesis.txt"]
    assert command(monkeypatch, "run", "poisson", "--out", "mine.py") == 2
    assert (here / "mine.py").read_text() == FILE


def test_an_equation_that_is_not_finite_is_refused_before_the_run(here, monkeypatch, capsys):
    (here / "bad.py").write_text(FILE.replace("+ k * u(t)", "+ k * jnp.log(-1.0 - u(t) ** 2)"))
    assert command(monkeypatch, "run", "bad.py:slow", "--out", "new") == 2
    assert "not finite" in capsys.readouterr().err
    assert not (here / "new").exists()


@pytest.mark.slow
def test_a_run_that_diverges_has_exit_code_1_and_still_leaves_its_files(here, monkeypatch, capsys):
    (here / "wild.py").write_text(FILE.replace("y=[0.4, 0.3]", "y=[1e300, 1e300]"))
    assert command(monkeypatch, "run", "wild.py:slow", "--out", "new", *QUICK) == 1
    assert "stopped being finite" in capsys.readouterr().err
    summary = json.loads((here / "new" / "summary.json").read_text())
    assert summary["status"] == "diverged"
    assert summary["diagnosis"]["verdict"] == "do not trust"
