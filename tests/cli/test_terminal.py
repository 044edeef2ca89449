"""The command as a person sees it, in a terminal of 80 and of 120 columns."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import fiducial as fd
from terminal import Seen, watch

pytestmark = pytest.mark.slow

FIDUCIAL = Path(sys.executable).with_name("fiducial")
EXAMPLE = Path(__file__).parents[2] / "examples"
QUICK = ["--method", "pinn", "--set", "n_f=30", "method.adam_steps=5", "method.lm_steps=5"]
# all in Adam, long enough for a key to be pressed in the middle
LONG = [
    "--method",
    "pinn",
    "--seed",
    "3",
    "--set",
    "n_f=40",
    "method.adam_steps=150000",
    "method.lm_steps=3",
]
STAGES = (
    "preparing",
    "compiling",
    "training the network",
    "fitting",
    "drawing",
    "saving the result",
    "data sets",
)

columns = pytest.mark.parametrize("columns", [80, 120])
wide_is_extra = pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.extra)])


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    """A folder to work in, with programs compiled once."""
    return tmp_path_factory.mktemp("terminal")


def assert_one_line_of_progress(seen: Seen, columns: int) -> None:
    """One line in plain words, never cut, gone at the end."""
    assert seen.frames
    for frame in seen.frames:
        assert sum(line.startswith(STAGES) for line in frame) <= 1, frame
        assert not any("…" in line for line in frame), frame
    shown = [line for line in seen.lines_with("━") if line.startswith(STAGES)]
    assert shown
    assert all(len(line) < columns for line in shown)
    assert any("compiling" in line and "so far" in line for line in shown)
    for word in ("loss", "damping", "nan", "None"):
        assert not any(word in line for line in shown), shown
    assert not seen.lines_with("Traceback")
    assert not [line for line in seen.frames[-1] if line.startswith(STAGES)]


def assert_whole_words(seen: Seen, columns: int) -> None:
    """No line of the answer is longer than the terminal is wide: then it would fill
    it to the last column.
    """
    assert not [line for line in seen.frames[-1] if len(line) >= columns]


@columns
def test_run(here, columns):
    seen = watch([FIDUCIAL, "run", "poisson", *QUICK], columns=columns, folder=here)
    assert seen.code == 0, seen.last
    assert_one_line_of_progress(seen, columns)
    assert_whole_words(seen, columns)
    assert "verdict:" in seen.last


@wide_is_extra
def test_run_with_the_default_method_says_how_long_it_will_take(here, columns):
    seen = watch([FIDUCIAL, "run", "linear-regression"], columns=columns, folder=here)
    assert seen.code == 0, seen.last
    assert_one_line_of_progress(seen, columns)
    assert_whole_words(seen, columns)
    assert "using efi-direct" in seen.frames[-1][0]
    assert seen.lines_with("drawing")


@wide_is_extra
def test_study(here, columns):
    out = f"study-{columns}"
    options = [
        "--methods",
        "pinn",
        "--replicates",
        "4",
        "--shard",
        "2",
        "--set",
        "n_f=30",
        "method.adam_steps=15000",
        "method.lm_steps=5",
    ]
    seen = watch(
        [FIDUCIAL, "study", "poisson", *options, "--out", out], columns=columns, folder=here
    )
    assert seen.code == 0, seen.last
    assert_one_line_of_progress(seen, columns)
    assert any("50 %" in line for line in seen.lines_with("2 of 4 data sets"))
    assert (here / out / "table.csv").is_file()


@columns
def test_ctrl_c_and_resume(here, columns):
    out = f"stopped-{columns}"
    stopped = watch(
        [FIDUCIAL, "run", "poisson", *LONG, "--out", out],
        columns=columns,
        folder=here,
        press_at="training the network",
    )
    assert stopped.code == 130, stopped.last
    assert "--resume" in stopped.last
    assert "Traceback" not in stopped.last
    resumed = watch(
        [FIDUCIAL, "run", "poisson", *LONG, "--out", out, "--resume"], columns=columns, folder=here
    )
    assert resumed.code == 0, resumed.last
    assert_one_line_of_progress(resumed, columns)
    left = [line for line in resumed.lines_with("training the network") if " left" in line]
    assert left, "the time left is told after a resume as well"
    if columns == 120:
        theta = [
            fd.load(here / f"stopped-{width}").tree["estimate"]["theta"].values
            for width in (80, 120)
        ]
        np.testing.assert_array_equal(*theta)


@pytest.mark.parametrize("stage", ["preparing", "compiling"])
def test_ctrl_c_before_the_first_step(here, stage):
    fresh = here / f"without-cache-{stage}"
    fresh.mkdir()
    stopped = watch(
        [FIDUCIAL, "run", "poisson", "--out", "new"], columns=80, folder=fresh, press_at=stage
    )
    assert stopped.code == 130, stopped.last
    assert "--resume" in stopped.last


@wide_is_extra
def test_the_example(here, columns):
    for name in ("damped_oscillator.py", "damped_oscillator.csv"):
        shutil.copy(EXAMPLE / name, here)
    seen = watch([sys.executable, "damped_oscillator.py"], columns=columns, folder=here)
    assert seen.code == 0, seen.last
    assert_one_line_of_progress(seen, columns)
    assert "verdict: trust" in seen.last


def test_a_line_too_long_for_the_terminal_loses_its_bar_and_not_its_words(here):
    seen = watch([FIDUCIAL, "run", "poisson", *QUICK, "--out", "narrow"], columns=50, folder=here)
    assert seen.code == 0, seen.last
    assert not seen.lines_with("━")
    assert seen.lines_with("compiling")
