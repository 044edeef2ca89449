"""Studies, judged with a stand-in method whose distribution is known exactly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fiducial as fd
from fiducial.studies import shards
from fiducial.studies.figures import coverage_at
from fiducial.studies.table import COLUMNS, off_level
from standin import Exact, poisson_line

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1]
POINTS = np.array([-0.7, 0.0, 0.7])


@pytest.fixture(scope="module")
def large():
    """20,000 data sets with 1,000 exact draws each."""
    return fd.study(
        poisson_line(), [Exact()], replicates=20_000, seed=11, points=POINTS, shard=2000
    )


def test_exact_draws_cover_as_often_as_they_say(large):
    row = large.rows[0]
    assert abs(row["coverage"] - 0.95) < 2.5 * row["coverage_se"]
    pit = large.cells[0].arrays["u.pit"]
    for level in (0.95, 0.8, 0.5):
        # the three points are dependent, so the error comes from the spread between
        # data sets
        each = np.mean(np.abs(pit - 0.5) <= level / 2, axis=1)
        assert abs(each.mean() - level) < 2.5 * each.std() / np.sqrt(len(each))
        assert coverage_at(pit, np.array([level]))[0] == pytest.approx(each.mean())
    assert not large.warnings


def test_widths_and_scores_match_their_closed_forms(large):
    row = large.rows[0]
    share = (POINTS + 0.7) / 1.4
    sd = 0.05 / np.sqrt(10) * np.sqrt((1 - share) ** 2 + share**2)
    assert row["width_ratio"] == pytest.approx(1, rel=0.01)
    assert row["width"] == pytest.approx(2 * 1.959964 * sd.mean(), rel=0.01)
    assert row["crps"] == pytest.approx(sd.mean() / np.sqrt(np.pi), rel=0.02)
    assert row["interval_score"] == pytest.approx(4.676 * sd.mean(), rel=0.02)
    assert row["mse"] == pytest.approx((sd**2).mean(), rel=0.03)


@pytest.mark.parametrize("level", [0.8, 0.5])
def test_other_levels(level):
    row = fd.study(
        poisson_line(), [Exact()], replicates=2000, seed=12, points=POINTS, shard=2000, level=level
    ).rows[0]
    assert abs(row["coverage"] - level) < 2.5 * row["coverage_se"]
    assert row["width_ratio"] == pytest.approx(1, rel=0.01)


def test_bands_ten_percent_too_narrow_are_flagged():
    found = fd.study(
        poisson_line(), [Exact(narrow=0.9)], replicates=2000, seed=13, points=POINTS, shard=2000
    )
    assert len(found.warnings) == 1
    assert "too narrow" in found.warnings[0]


def test_failures_are_counted_and_do_not_disturb_the_others():
    settings = {"replicates": 400, "seed": 14, "points": POINTS, "shard": 100}
    whole = fd.study(poisson_line(), [Exact(draws=50)], **settings).cells[0]
    broken = fd.study(poisson_line(), [Exact(draws=50, breaks_above=0.7)], **settings)
    cell, row = broken.cells[0], broken.rows[0]
    failed = ~cell.usable
    data = fd.simulate(poisson_line(), 400, seed=14)["u"][:, 0]
    np.testing.assert_array_equal(failed, data > 0.7)
    assert row["failed"] == failed.sum() > 0
    assert row["n"] == 400
    np.testing.assert_array_equal(cell.arrays["u.lower"][~failed], whole.arrays["u.lower"][~failed])


def test_a_data_set_does_not_depend_on_its_shard():
    alone = fd.simulate(poisson_line(), 3, seed=5, first=7)["u"]
    np.testing.assert_array_equal(alone, fd.simulate(poisson_line(), 10, seed=5)["u"][7:])
    small, large = (
        fd.study(poisson_line(), [Exact(draws=50)], replicates=20, seed=5, shard=s).cells[0].arrays
        for s in (6, 20)
    )
    np.testing.assert_allclose(small["u.lower"], large["u.lower"], rtol=1e-10)


@pytest.mark.parametrize(("cores", "size"), [(1, 4), (2, 8), (16, 50)])
def test_a_shard_on_a_cpu_keeps_its_cores_busy(monkeypatch, cores, size):
    monkeypatch.setattr(shards, "cores", lambda: cores)
    points = fd.Box(x=(-0.7, 0.7)).points(POINTS, label="points")
    assert (
        shards.Bench(poisson_line(), Exact(), points=points, level=0.95, seed=0).lanes(100) == size
    )


def test_simulated_errors_have_the_truth_s_distribution():
    z = (
        fd.simulate(poisson_line(sd=0.1), 5000, seed=0)["u"].reshape(-1, 2, 10)
        - np.sin(6 * np.array([-0.7, 0.7]))[:, None] ** 3
    ) / 0.1
    n = z.size
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)


def test_files_of_a_study(tmp_path):
    folder = tmp_path / "study"
    found = fd.study(
        poisson_line,
        [Exact(draws=100)],
        replicates=30,
        seed=1,
        grid={"sd": [0.01, 0.05], "replicates": [5, 10]},
        folder=folder,
    )
    lines = (folder / "table.csv").read_text().splitlines()
    header = lines[0].split(",")
    assert header[: len(COLUMNS)] == COLUMNS
    assert len(lines) == 1 + 4
    assert header[-2:] == ["option_sd", "option_replicates"]
    widths = found.table.set_index(["option_sd", "option_replicates"])["width"]
    assert widths[(0.05, 10)] == pytest.approx(5 * widths[(0.01, 10)], rel=0.1)
    assert widths[(0.05, 5)] == pytest.approx(np.sqrt(2) * widths[(0.05, 10)], rel=0.1)
    assert {p.name for p in folder.glob("*.png")} == {
        "coverage.png",
        "width.png",
        "pit.png",
        "calibration.png",
    }
    with xr.open_datatree(folder / "study.nc", engine="h5netcdf") as tree:
        node = tree["exact-sd=0.01-replicates=5"]
        assert node["u_lower"].shape == (30, 100)
        assert "theta" not in node
    assert "exact" in (folder / "table.md").read_text()


def test_point_estimates_have_no_coverage_but_an_error():
    small = {"adam_steps": 5, "lm_steps": 5}
    row = fd.study(
        fd.problem("poisson", n_f=20).replace(network=fd.MLP((5,))),
        [fd.PINN(**small)],
        replicates=3,
        seed=0,
    ).rows[0]
    assert np.isnan(row["coverage"])
    assert row["mse"] > 0


def test_unknowns_and_noise_sizes_have_their_columns():
    import jax.numpy as jnp

    t = np.linspace(0, 1, 6)
    problem = fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + p["k"] * u(t),
        domain=fd.Box(t=(0, 1)),
        unknowns={"k": fd.Positive(1.0)},
        observations=[fd.Observed("u", t, np.exp(-t), fd.Gaussian()), fd.Observed("u", 0.0, 1.0)],
        network=fd.MLP((4,)),
        truth=fd.Truth(
            outputs={"u": lambda t: jnp.exp(-t)}, unknowns={"k": 1.0}, noise={"u": {"sd": 0.1}}
        ),
    )
    row = fd.study(problem, [fd.PINN(adam_steps=3, lm_steps=3)], replicates=2, seed=0).rows[0]
    for name in ("k", "sd_u"):
        assert {
            f"{name}_{what}" for what in ("mean", "coverage", "coverage_se", "width", "width_se")
        } <= set(row)


def test_own_problem_without_truth_is_simulated_from_a_fit(capsys):
    problem = fd.problem("poisson", n_f=20).replace(truth=None, exact=None, network=fd.MLP((5,)))
    method = fd.PINN(adam_steps=5, lm_steps=5)
    cell = fd.study(problem, [method], replicates=2, seed=3).cells[0]
    assert "simulated from a fit" in capsys.readouterr().err
    fitted = fd.fit(problem, method, seed=3).band(cell.points)["mean"].values[0]
    np.testing.assert_allclose(cell.truth["u"], fitted, rtol=1e-9)


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import fiducial as fd
from standin import Exact, poisson_line
how = {{"replicates": 600, "seed": 3, "shard": 20, "resume": "resume" in sys.argv}}
fd.study(poisson_line(), [Exact(draws=100)], folder=sys.argv[1], **how)
"""


def _without_seconds(folder: Path) -> list[str]:
    lines = [line.split(",") for line in (folder / "table.csv").read_text().splitlines()]
    at = lines[0].index("seconds_per_dataset")
    return [",".join(line[:at] + line[at + 1 :]) for line in lines]


@pytest.mark.extra
def test_a_killed_study_resumes_to_the_same_table(tmp_path):
    command = [sys.executable, "-c", SCRIPT.format(here=str(HERE))]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, timeout=300)
    process = subprocess.Popen([*command, str(tmp_path / "killed")])
    shards = tmp_path / "killed" / "shards"
    deadline = time.time() + 200
    while len(list(shards.glob("*.npz"))) < 10 and time.time() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = sorted(shards.glob("*.npz"))
    assert 10 <= len(done) < 30
    damaged, kept = done[2], {p: p.stat().st_mtime_ns for p in done if p != done[2]}
    damaged.write_bytes(damaged.read_bytes()[:-100])
    again = subprocess.run(
        [*command, str(tmp_path / "killed"), "resume"],
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert damaged.name in again.stderr
    assert all(p.stat().st_mtime_ns == at for p, at in kept.items())
    assert _without_seconds(tmp_path / "killed") == _without_seconds(tmp_path / "whole")


def test_memory_does_not_grow_with_the_number_of_data_sets():
    script = (
        f"import sys, resource; sys.path.insert(0, {str(HERE)!r})\nimport numpy as np, fiducial as"
        " fd\nfrom standin import Exact, poisson_line\nfd.study(poisson_line(),"
        " [Exact(draws=500)], replicates=int(sys.argv[1]), seed=0, shard=50,"
        " points=np.linspace(-0.7, 0.7,"
        " 10))\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    few, many = (
        int(
            subprocess.run(
                [sys.executable, "-c", script, n], check=True, capture_output=True, text=True
            ).stdout
        )
        for n in ("200", "2000")
    )
    # the results of 1,800 more data sets are 1.4 MB; draws kept alive would be 14 MB of
    # theta and 72 MB of field values
    assert many - few < 12_000


def test_settings_that_cannot_work(tmp_path):
    problem = poisson_line()
    with pytest.raises(ValueError, match="replicates=0"):
        fd.study(problem, [Exact()], replicates=0)
    with pytest.raises(TypeError, match="list of methods"):
        fd.study(problem, [])
    with pytest.raises(ValueError, match="no options to vary"):
        fd.study(problem, [Exact()], grid={"sd": [0.1]})
    with pytest.raises(ValueError, match="no setting 'size'"):
        fd.study("poisson", [Exact()], grid={"size": [1]})
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ValueError, match="not empty"):
        fd.study(problem, [Exact()], replicates=1, folder=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    folder = tmp_path / "study"
    fd.study(problem, [Exact(draws=10)], replicates=2, seed=0, folder=folder)
    with pytest.raises(ValueError, match="different seed"):
        fd.study(problem, [Exact(draws=10)], replicates=2, seed=1, folder=folder, resume=True)
    truth = fd.Truth(outputs={"u": lambda x: 1.0 + 0 * x})
    for other in (problem.replace(truth=truth), poisson_line(sd=0.06)):
        with pytest.raises(ValueError, match="different problem"):
            fd.study(other, [Exact(draws=10)], replicates=2, seed=0, folder=folder, resume=True)
    fd.study(problem, [Exact(draws=10)], replicates=2, seed=0, folder=folder, resume=True)


def test_honest_intervals_of_a_constant_are_warned_about_as_often_on_either_side():
    """Two standard errors of a hundred honest intervals: at most 5 % of studies in
    all, by the binomial distribution.
    """
    found = {
        k: off_level(
            [{"method": "m", "n": 100, "failed": 0, "k_coverage": k / 100, "k_coverage_se": 0.001}],
            0.95,
        )
        for k in range(80, 101)
    }
    assert {k for k, lines in found.items() if lines} == {*range(80, 91), 100}
    assert "too narrow" in found[90][0]
    assert "too wide" in found[100][0]


def test_command(tmp_path):
    command = [
        sys.executable,
        "-m",
        "fiducial",
        "study",
        "poisson",
        "--methods",
        "pinn",
        "--replicates",
        "2",
        "--out",
        str(tmp_path / "s"),
    ]
    extra = ["--grid", "sd=0.01,0.1", "n_f=20", "--set", "pinn.adam_steps=3", "pinn.lm_steps=3"]
    done = subprocess.run([*command, *extra], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "mse" in done.stdout
    table = (tmp_path / "s" / "table.csv").read_text().splitlines()
    assert len(table) == 3
    assert json.loads((tmp_path / "s" / "study.json").read_text())["replicates"] == 2
    again = subprocess.run([*command, *extra], capture_output=True, text=True, timeout=300)
    assert again.returncode == 2
    assert "not empty" in again.stderr
