"""What all tests share: cores and compiled programs of the workers, and fits that
several tests read, done once.
"""

import os
import time

import jax
import pytest
from jaxtyping import install_import_hook

# Shapes of arrays are checked at run time in all folders that compute with arrays; those
# that face the user check their arguments themselves.
with install_import_hook(
    [
        f"fiducial.{folder}"
        for folder in ("representations", "model", "numerics", "kernels", "phases", "noise")
    ],
    "shapes.check_arguments",
):
    import fiducial as fd
    from helpers import decay, poisson

if "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "sched_setaffinity"):
    # cores of its own for each worker: small programs lose more by handing work to a
    # second core than they gain
    cores, workers = sorted(os.sched_getaffinity(0)), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.sched_setaffinity(
        0, cores[int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) :: workers] or cores
    )

_FAST = 10.0
"""Seconds that a test without the marker ``slow`` or ``extra`` may take."""


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def pytest_collection_modifyitems(items):
    """Mark tests slow that read a fit of this file."""
    for item in items:
        if {"poisson_fit", "decay_fit"} & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Fail a test that takes long and is not marked for it.

    The time is the smaller of wall and CPU seconds: a busy machine stretches the one, programs
    that are compiled on several cores the other.
    """
    wall, cpu = time.monotonic(), _cpu_seconds()
    item.seconds_used = lambda: min(time.monotonic() - wall, _cpu_seconds() - cpu)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    marked = item.get_closest_marker("slow") or item.get_closest_marker("extra")
    if report.when == "call" and report.passed and not marked:
        seconds = item.seconds_used()
        if seconds > _FAST:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} took {seconds:.0f} s: make it faster, or mark it slow"
    return report


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
    return fd.fit(poisson(), fd.PINN(), seed=0, multistart=False)


@pytest.fixture(scope="session")
def decay_fit() -> fd.Result:
    """The inverse problem with unknown noise, fitted to convergence."""
    return fd.fit(decay(noise=fd.Gaussian()), fd.PINN(), seed=0, multistart=False)
