"""What all tests share: cores and compiled programs of the workers, and fits that
several tests read, done once.
"""

import os

import jax
import pytest

import fiducial as fd
from helpers import decay, poisson

if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "sched_setaffinity"):
    # cores of its own for each worker: small programs lose more by handing work to a
    # second core than they gain
    cores, workers = sorted(os.sched_getaffinity(0)), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.sched_setaffinity(
        0, cores[int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) :: workers] or cores
    )


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory, worker_id):
    """Programs that several tests share are compiled once per session, by all
    workers: compilation is most of the suite's time.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if worker_id != "master" else base) / "compiled"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.fixture
def x64():
    """Double precision inside the test, as every public entry of the library sets
    it.
    """
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def poisson_fit() -> fd.Result:
    """The catalogue's problem with a small network, fitted to convergence."""
    return fd.fit(poisson(), fd.PINN(), seed=0)


@pytest.fixture(scope="session")
def decay_fit() -> fd.Result:
    """The inverse problem with unknown noise, fitted to convergence."""
    return fd.fit(decay(noise=fd.Gaussian()), fd.PINN(), seed=0)
