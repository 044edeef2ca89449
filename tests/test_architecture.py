"""The rings of DESIGN.md: imports point one way, files stay small, and importing the package is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fiducial

ROOT = Path(fiducial.__file__).parent

# Inner rings first. A module may import from its own ring and from those above it in this table.
RINGS = [
    ("vocabulary", ["files", "data", "spread", "status", "schedules", "unknowns", "coordinates", "flat", "compiling", "flow"]),
    (
        "abstractions",
        ["collocation", "operators", "taylor", "derivatives_used", "networks", "field", "noise_model", "observed", "group", "problem", "kernel"],
    ),
    ("interfaces", ["start", "scaling", "ansatz", "model", "method"]),
    (
        "numerics",
        [
            "least_squares",
            "residuals",
            "linearisation",
            "manifold",
            "resampling",
            "convergence",
            "direct_answer",
            "phases.*",
            "energy",
            "hyper_network",
            "tracking",
            "weight_update",
            "chain_answer",
            "dropout",
            "posterior",
            "hamiltonian",
            "left_out",
        ],
    ),
    ("driver", ["blas", "checkpoint", "compiled", "lanes", "program", "progress", "driver"]),
    ("catalogues", ["noise.*", "kernels.*", "methods.*", "problems.*"]),
    (
        "after a run",
        [
            "catalogue",
            "elsewhere",
            "result",
            "saved",
            "conformal",
            "constants",
            "diagnostics",
            "summary",
            "panels",
            "slices",
            "plots",
            "arviz_bridge",
            "fit",
        ],
    ),
    ("scale", ["simulate", "measures", "shards", "study", "study_table", "study_plots"]),
    ("command", ["cli", "__main__"]),
]

# Result offers plot(), summary() and the like as methods, and imports what does the work when they are called.
LATE = {
    ("result", "diagnostics"),
    ("result", "summary"),
    ("result", "plots"),
    ("result", "arviz_bridge"),
    ("result", "conformal"),
    ("result", "__init__"),
}
# A catalogue's entries may use the public pieces of another folder where they are made of them: a problem has a noise model, a method a kernel.
ACROSS = {("problems", "noise"), ("methods", "kernels"), ("methods", "noise")}


def modules() -> dict[str, Path]:
    files = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in ROOT.rglob("*.py")}
    return {name: path for name, path in files.items() if name.split(".")[-1] != "__init__"}


def imports(name: str, *, at_import_only: bool = False) -> set[str]:
    """Modules of the package that a module imports, anywhere in its file (or only when it is itself imported)."""
    tree = ast.parse(modules()[name].read_text())
    found = set()
    hidden = set()
    if at_import_only:
        for node in ast.walk(tree):
            typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            if typing_only or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                hidden |= {id(child) for child in ast.walk(node)}
    package = name.split(".")[:-1]
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - (node.level - 1)], *(node.module.split(".") if node.module else [])]
            options = [".".join([*base, alias.name]) for alias in node.names]
            found |= {o if o in modules() else ".".join(base) or "__init__" for o in options}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fiducial":
            found.add((node.module or "").removeprefix("fiducial").removeprefix(".") or "__init__")
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("fiducial.") for a in node.names if a.name.startswith("fiducial.")}
    return found


def ring(name: str) -> int:
    for i, (_, members) in enumerate(RINGS):
        if name in members or f"{name.split('.')[0]}.*" in members:
            return i
    raise AssertionError(f"src/fiducial/{name} is in no ring; add it to RINGS in this test, where DESIGN.md would put it")


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_inwards(name):
    for target in imports(name) - {"__init__"}:
        if (name, target) not in LATE:
            assert ring(target) <= ring(name), f"{name} ({RINGS[ring(name)][0]}) imports {target} ({RINGS[ring(target)][0]})"


@pytest.mark.parametrize("name", sorted(n for n in modules() if n.split(".")[0] in ("noise", "methods", "problems")))
def test_catalogue_entries_do_not_import_each_other(name):
    folder = name.split(".")[0]
    for target in imports(name):
        other, _, entry = target.partition(".")
        shared = folder == other and entry.startswith("_")  # what a family of entries has in common
        if "." in target and other in ("noise", "methods", "problems") and not shared:
            assert (folder, other) in ACROSS, f"{name} imports {target}; share through phases/ or an inner ring"


def test_only_the_late_imports_that_are_listed_exist():
    for importer, target in LATE:
        assert target in imports(importer), f"({importer}, {target}) can leave the list"
        assert target not in imports(importer, at_import_only=True)


def test_there_are_no_import_cycles():
    graph = {name: imports(name, at_import_only=True) & set(modules()) for name in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path, name])
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_file_holds_one_concept(name):
    assert len(modules()[name].read_text().splitlines()) <= 400


def test_arviz_is_known_to_one_module_only():
    users = [n for n, path in modules().items() if "import arviz" in path.read_text()]
    assert users == ["arviz_bridge"]


def test_importing_the_package_leaves_heavy_libraries_alone():
    heavy = ["scipy.stats", "matplotlib", "xarray", "pandas", "arviz", "typer", "h5netcdf", "blackjax", "rich"]
    code = f"import sys, fiducial; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_has_a_docstring():
    for name in fiducial.__all__:
        assert (getattr(fiducial, name).__doc__ or "").strip(), name
