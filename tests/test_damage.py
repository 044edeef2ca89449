"""Damaged files give the numbers that were written, or an error that says what to do;
never other numbers.
"""

import json

import numpy as np
import pytest
import xarray as xr

import fiducial as fd
from damage import StoppedRun, tally
from fiducial.atomic_files import read_arrays, read_json, read_sealed, write_arrays, write_json
from helpers import decay


@pytest.mark.parametrize(("kind", "count"), {"result": 35, "study": 15, "checkpoint": 10}.items())
@pytest.mark.slow
def test_damaged_files_never_give_other_numbers(kind, count, tmp_path):
    found = tally(kind, tmp_path / kind, count, seed=1)
    assert found.total() == count
    if kind == "result":
        assert found["refused"] >= count - 3, "only zeros over zeros can be read"
    else:
        assert found["refused"] == 0, "what is lost is computed again"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return StoppedRun(tmp_path_factory.mktemp("checkpoint"))


@pytest.mark.parametrize(
    ("lost", "computed_from"),
    [
        (["run.json"], 20),
        (["run.json", "state-000020"], 19),
        (["state-000020", "state-000019"], 16),
        (["records-000012"], 8),
        (["run.json", "records-000020"], 19),
        (["records-000001"], 0),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["removed", "damaged"])
def test_what_is_whole_of_a_checkpoint_is_used(stopped, lost, computed_from, how):
    stopped.files.put_back()
    for name, content in stopped.files.files.items():
        path = stopped.files.path / name
        if any(part in str(name) for part in lost):
            path.unlink() if how == "removed" else path.write_bytes(content[:-80])
    assert stopped.resume() == stopped.chunks - computed_from


def test_a_checkpoint_of_which_nothing_is_whole_is_refused(stopped):
    stopped.files.put_back()
    for name in stopped.files.files:
        (stopped.files.path / name).write_bytes(b"\0" * 100)
    with pytest.raises(fd.DamagedFileError, match="begin it again"):
        stopped.resume()
    stopped.files.put_back()
    (stopped.files.path / "state-000020.npz").write_bytes(b"")
    with pytest.warns(UserWarning, match="cannot be used"):
        stopped.resume()


def test_files_of_another_format_are_refused(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1.5}, "fiducial-run-2")
    write_arrays(tmp_path / "a.npz", {"n": 1}, {"x": np.arange(3.0)}, "fiducial-shard-2")
    assert read_json(tmp_path / "a.json", "fiducial-run-2") == {"x": 1.5}
    about, arrays = read_arrays(tmp_path / "a.npz", "fiducial-shard-2")
    assert about == {"n": 1}
    np.testing.assert_array_equal(arrays["x"], np.arange(3.0))
    with pytest.raises(fd.DamagedFileError, match="fiducial-run-3 is needed"):
        read_json(tmp_path / "a.json", "fiducial-run-3")
    with pytest.raises(fd.DamagedFileError, match="fiducial-chunk-2 is needed"):
        read_arrays(tmp_path / "a.npz", "fiducial-chunk-2")
    (tmp_path / "old.json").write_text(json.dumps({"x": 1.5}))
    with pytest.raises(fd.DamagedFileError, match="older version"):
        read_json(tmp_path / "old.json", "fiducial-run-2")
    (tmp_path / "old.npz").write_bytes(b"PK")
    with pytest.raises(fd.DamagedFileError, match="older version"):
        read_sealed(tmp_path / "old.npz", "fiducial-chunk-2")


def test_other_programs_read_sealed_files(tmp_path, decay_fit):
    path = decay_fit.save(tmp_path / "result.nc")
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        np.testing.assert_array_equal(
            tree["estimate"]["theta"], decay_fit.tree["estimate"]["theta"]
        )
    write_arrays(tmp_path / "a.npz", {}, {"x": np.arange(3.0)}, "fiducial-shard-2")
    with np.load(tmp_path / "a.npz") as arrays:
        np.testing.assert_array_equal(arrays["x"], np.arange(3.0))


def test_a_result_of_an_older_version_is_loaded(tmp_path, decay_fit):
    path = tmp_path / "old.nc"
    old = decay_fit.tree.copy()
    old.attrs["format"] = "fiducial-result-1"
    old.to_netcdf(path, engine="h5netcdf")
    again = fd.load(path, problem=decay_fit.problem)
    assert again.parameters().equals(decay_fit.parameters())


def test_a_result_changed_by_another_program_is_refused(tmp_path, decay_fit):
    path = decay_fit.save(tmp_path / "result.nc")
    with xr.open_datatree(path, engine="h5netcdf") as stored:
        tree = stored.load()
    tree.to_netcdf(tmp_path / "again.nc", engine="h5netcdf")
    with pytest.raises(fd.DamagedFileError, match="checksum at its end is missing"):
        fd.load(tmp_path / "again.nc", problem=decay(noise=fd.Gaussian()))
