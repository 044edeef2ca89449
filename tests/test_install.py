"""What is installed is enough: a plain install fits a problem, draws it, saves it and
reads it again, and a wheel has everything that the sources have.
"""

import importlib.util
import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fiducial

PROJECT = Path(__file__).parents[1]
SCRIPT = """
import sys

refused = set({refused!r})


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"no module named {{name}} in a plain install", name=name)


sys.meta_path.insert(0, Refuse())
import fiducial as fd

problem = fd.problem("poisson").replace(network=fd.MLP((4,)))
result = fd.fit(problem, fd.PINN(adam_steps=0, lm_steps=2), seed=0, progress=False)
result.plot().savefig({folder!r} + "/solution.png")
again = fd.load(result.save({folder!r} + "/result.nc"), problem=problem)
assert again.tree.identical(result.tree)
"""


def brought_by(
    name: str, extras: frozenset[str] = frozenset(), found: dict[str, frozenset[str]] | None = None
) -> dict[str, frozenset[str]]:
    """All distributions that are installed with one, each with the extras that are
    asked for on the way.
    """
    found = {} if found is None else found
    if name in found and extras <= found[name]:
        return found
    found[name] = found.get(name, frozenset()) | extras
    try:
        needs = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:  # not for this machine
        return found
    for need in needs:
        if need.marker is None or any(
            need.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            brought_by(canonicalize_name(need.name), frozenset(need.extras), found)
    return found


@pytest.mark.slow
def test_a_plain_install_is_enough(tmp_path):
    brought = brought_by("fiducial")
    assert "jax" in brought
    assert "pytest" not in brought
    owners = packages_distributions().items()
    refused = sorted(
        module for module, names in owners if not brought.keys() & map(canonicalize_name, names)
    )
    assert {"pytest", "arviz"} <= set(refused)
    script = SCRIPT.format(refused=refused, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


USE = """
import sys
from importlib import resources
from pathlib import Path

import fiducial as fd

here = Path(fd.__file__).parent
assert here.is_relative_to(sys.argv[1]), here
assert fd.__version__ == sys.argv[2]
assert (here / "py.typed").is_file()
assert len(fd.datasets.v79_tumour()) and len(fd.datasets.scratch_assay())
assert fd.datasets.nist("misra1a")
assert {name for name in fd.__all__ if not hasattr(fd, name)} == set()
assert fd.problem("montroll").name == "montroll"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # without its build backend at hand, pip fetches it into an environment of its own
    at_hand = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    build = ["wheel", "--quiet", "--no-deps", *at_hand, "--wheel-dir", str(folder), str(PROJECT)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_a_wheel_holds_the_package_and_nothing_else(wheel):
    sources = {
        str(path.relative_to(PROJECT / "src"))
        for path in (PROJECT / "src" / "fiducial").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if ".dist-info/" in name}
    assert names - about == sources
    assert any(name.endswith("licenses/LICENSE") for name in about)


@pytest.mark.slow
def test_a_wheel_is_installed_elsewhere_and_used(wheel, tmp_path):
    place = tmp_path / "installed"
    install = ["install", "--quiet", "--no-deps", "--target", str(place), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)

    def run(*command: str) -> str:
        elsewhere = {**os.environ, "PYTHONPATH": str(place)}
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=elsewhere, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-c", USE, str(place), fiducial.__version__)
    script = str(place / "bin" / "fiducial")
    assert run(sys.executable, script, "--version").startswith(f"fiducial {fiducial.__version__},")
    assert "poisson-inverse" in run(sys.executable, script, "problems")
    assert "efi-direct" in run(sys.executable, script, "methods")
