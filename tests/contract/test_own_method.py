"""A method from outside the package is one file, its facts and checks included."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import fiducial as fd
from fiducial.cli.entry import main

FILE = Path(__file__).with_name("own_method.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run of the command with the method of the file."""
    out = tmp_path_factory.mktemp("own") / "out"
    options = ["--method", f"{FILE}:Bootstrap", "--set", "method.draws=20", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["fiducial", "run", "linear-regression", "--quiet", *options])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert not stopped.value.code
    return out


@pytest.mark.slow
def test_the_command_runs_it_and_reports_its_check(folder):
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["method"] == "my-bootstrap"
    own = {
        "name": "share of refits that ran out of steps",
        "value": 0.0,
        "limit": 0.05,
        "ok": True,
    }
    assert own in summary["diagnosis"]["checks"]


@pytest.mark.slow
def test_its_facts_and_settings_are_in_the_result(folder):
    result = fd.load(folder)
    assert set(result.facts) == {"unsettled", "largest"}
    assert json.loads(result.tree.attrs["settings"]) == {"draws": 20, "steps": 50, "chains": 1}
    assert result.draws.sizes["draw"] == 20
    assert np.isfinite(result.band([0.5])["upper"]).all()
    assert result.diagnose().verdict == "trust"
