"""A real process, killed without warning, goes on to the same answer bit for bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

pytestmark = pytest.mark.extra

SCRIPT = Path(sys.executable).parent / "fiducial"
# long enough for a poll to land in the middle, and all in Adam, where rounding would
# show first
RUN = [
    "run",
    "poisson",
    "--method",
    "pinn",
    "--quiet",
    "--seed",
    "3",
    "--set",
    "n_f=40",
    "method.adam_steps=4000",
    "method.lm_steps=3",
]


def theta(folder: Path) -> np.ndarray:
    with xr.open_datatree(folder / "result.nc", engine="h5netcdf") as tree:
        return tree["estimate"]["theta"].values


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    return {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, environment) -> np.ndarray:
    """The answer of a run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    subprocess.run([SCRIPT, *RUN, "--out", folder], check=True, env=environment)
    return theta(folder)


def until(there, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_killed_in_the_middle_and_resumed_gives_the_same_bits(tmp_path, environment, whole):
    out = tmp_path / "out"
    process = subprocess.Popen([SCRIPT, *RUN, "--out", out], env=environment)
    try:
        until(lambda: list((out / "checkpoint").glob("state-000002.npz")), process)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    assert not (out / "result.nc").exists()
    again = subprocess.run(
        [SCRIPT, *RUN, "--out", out], env=environment, capture_output=True, text=True
    )
    assert again.returncode == 2, "an unfinished run is not begun over by accident"
    assert "--resume" in again.stderr
    resumed = subprocess.run(
        [SCRIPT, *RUN, "--out", out, "--resume"], env=environment, capture_output=True, text=True
    )
    assert resumed.returncode == 0, resumed.stderr
    np.testing.assert_array_equal(theta(out), whole)
    assert not (out / "checkpoint").exists()


# The driver has finished, the files are being written: kill right there, from inside.
KILLED_WHILE_WRITING = """
import os, signal, sys
import fiducial.results.figures as figures
def killed(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
figures.plot_trace = killed
from fiducial.cli.entry import main
sys.argv = ["fiducial", *sys.argv[1:]]
main()
"""


def test_killed_while_the_results_are_written_can_be_resumed(tmp_path, environment):
    """'Safe against kill -9 at any moment' includes the moments after the last step."""
    out = tmp_path / "out"
    short = [
        "run",
        "poisson",
        "--method",
        "pinn",
        "--quiet",
        "--set",
        "n_f=20",
        "method.adam_steps=3",
        "method.lm_steps=2",
        "--out",
        str(out),
    ]
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, *short], env=environment)
    assert done.returncode == -signal.SIGKILL
    resumed = subprocess.run(
        [SCRIPT, *short, "--resume"], env=environment, capture_output=True, text=True
    )
    assert resumed.returncode == 0, resumed.stderr
    assert {"summary.json", "result.nc", "solution.png", "trace.png"} == {
        p.name for p in out.iterdir()
    }


def test_ctrl_c_stops_the_command_cleanly(tmp_path, environment, whole):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [SCRIPT, *RUN, "--out", out], env=environment, stderr=subprocess.PIPE, text=True
    )
    until(lambda: list((out / "checkpoint").glob("state-000001.npz")), process)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in message
    assert "Traceback" not in message
    resumed = subprocess.run([SCRIPT, *RUN, "--out", out, "--resume"], env=environment)
    assert resumed.returncode == 0
    np.testing.assert_array_equal(theta(out), whole)
