"""What a plain install brings is enough to fit a problem, draw it, save it and read
it again.
"""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
assert again.parameters().equals(result.parameters())
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
