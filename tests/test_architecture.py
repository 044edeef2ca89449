"""The rings: a file's folder says what it may import. Docs and examples use public
names only.
"""

import ast
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fiducial
import fiducial.extend

ROOT = Path(fiducial.__file__).parent
PROJECT = Path(__file__).parents[1]

# Inner rings first; a file may import from its own ring and from those before it. A
# ring is one or more folders, or single files.
RINGS = [
    {"device", "atomic_files", "status", "schedules", "datasets", "checks", "limits"},
    {"posing", "noise"},
    {"representations"},
    {"model"},
    {"numerics"},
    {"kernels", "phases"},
    {"methods"},
    {"problems"},
    {"catalogue"},
    {"paper"},
    {"running"},
    {"results"},
    {"fitting"},
    {"studies"},
    {"extend", "__init__"},
    {"cli", "__main__"},
]
# Folders in which each file is an entry of its own, found by itself: an entry imports
# the folder's base.py and files with an underscore.
CATALOGUES = ("noise", "problems", "kernels", "phases", "methods")
# Imports inside a function, each of something that would otherwise be a cycle.
LATE = {
    (
        "posing.networks",
        "representations.layers",
    ),  # a recipe builds the layers that compute with it
}


def files() -> dict[str, Path]:
    """Every module by its dotted name within the package."""
    return {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
        for p in ROOT.rglob("*.py")
    }


FILES = files()


@cache
def imports(name: str, *, at_import_only: bool = False) -> frozenset[str]:
    """Modules of the package that a module imports, anywhere in its file (or only
    when it is itself imported).
    """
    tree, hidden, found = ast.parse(FILES[name].read_text()), set(), set()
    for node in ast.walk(tree):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if typing_only or (
            at_import_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            hidden |= {id(child) for child in ast.walk(node)}
    inside = FILES[name].stem == "__init__" and name != "__init__"
    package = name.split(".") if inside else name.split(".")[:-1]
    for node in ast.walk(tree):
        if id(node) in hidden or not isinstance(node, ast.ImportFrom) or not node.level:
            assert not (
                isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fiducial")
            ), f"{name}: write a relative import"
            continue
        base = [
            *package[: len(package) - (node.level - 1)],
            *(node.module.split(".") if node.module else []),
        ]
        options = [".".join([*base, alias.name]) for alias in node.names]
        found |= {o if o in FILES else ".".join(base) or "__init__" for o in options}
    return frozenset(found)


def ring(name: str) -> int:
    first = name.split(".")[0]
    for number, members in enumerate(RINGS):
        if first in members:
            return number
    raise AssertionError(
        f"src/fiducial/{first} is in no ring; move it into a folder, or add it to RINGS in this"
        " test"
    )


@pytest.mark.parametrize("name", sorted(FILES))
def test_imports_point_inwards(name):
    for target in imports(name):
        if (name, target) not in LATE:
            assert ring(target) <= ring(name), (
                f"{name} (ring {ring(name)}) imports {target} (ring {ring(target)})"
            )


def test_folders_of_one_ring_do_not_import_each_other_but_where_they_share_it():
    """Only posing and noise may: an observation has noise, and noise has points. Any
    other pair would be a cycle between folders.
    """
    for name in FILES:
        for target in imports(name):
            one, other = name.split(".")[0], target.split(".")[0]
            single = (ROOT / f"{other}.py").exists() or one == "__main__"
            if one != other and ring(one) == ring(other) and not single:
                assert {one, other} == {"posing", "noise"} or (one, other) == (
                    "phases",
                    "kernels",
                ), f"{name} imports {target}"


@pytest.mark.parametrize(
    "name", sorted(n for n in FILES if n.split(".")[0] in CATALOGUES and "." in n)
)
def test_entries_of_a_catalogue_do_not_import_each_other(name):
    folder, _, own = name.partition(".")
    for target in imports(name):
        other, _, entry = target.partition(".")
        if other == folder and entry and not own.startswith("_"):
            assert entry == "base" or entry.startswith("_"), (
                f"{name} imports {target}; share through {folder}/_name.py or an inner ring"
            )


def test_late_imports_are_few_and_listed():
    late = {
        (name, target)
        for name in FILES
        for target in imports(name) - imports(name, at_import_only=True)
    }
    cycles = {
        (name, target)
        for name, target in late
        if ring(target) > ring(name) or _reaches(target, name)
    }
    assert cycles == LATE


def _reaches(start: str, end: str) -> bool:
    seen, todo = set(), [start]
    while todo:
        name = todo.pop()
        if name == end:
            return True
        if name not in seen:
            seen.add(name)
            todo += imports(name, at_import_only=True) & set(FILES)
    return False


def test_there_are_no_import_cycles():
    for name in FILES:
        for target in imports(name, at_import_only=True) & set(FILES) - {name}:
            assert not _reaches(target, name), f"{name} -> {target} -> ... -> {name}"


def test_the_top_of_the_package_is_small():
    assert len(list(ROOT.glob("*.py"))) <= 16


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_holds_one_concept(name):
    assert len(FILES[name].read_text().splitlines()) <= 400


@pytest.mark.parametrize("name", sorted(FILES))
def test_functions_are_short(name):
    long = {
        node.name: length
        for node in ast.walk(ast.parse(FILES[name].read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := node.end_lineno - node.lineno + 1) > 60
    }
    assert not long


def test_files_are_short():
    lengths = sorted(
        len(path.read_text().splitlines())
        for name, path in FILES.items()
        if path.stem != "__init__"
    )
    assert lengths[len(lengths) // 2] < 150


def test_no_module_has_the_name_of_a_public_function():
    """``fiducial.fit`` must be the function, whatever was imported before."""
    functions = {
        name
        for name in fiducial.__all__
        if callable(getattr(fiducial, name)) and not isinstance(getattr(fiducial, name), type)
    }
    assert not functions & {path.stem for path in (*ROOT.glob("*.py"), *ROOT.glob("*/__init__.py"))}
    assert not functions & {path.parent.name for path in ROOT.glob("*/__init__.py")}
    for name, path in FILES.items():
        defined = {
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
        if not name.startswith("problems."):  # there the name of the file is that of the problem
            assert path.stem not in defined, f"{name} is a module and a function"


def test_arviz_is_known_to_one_module_only():
    assert [name for name, path in FILES.items() if "import arviz" in path.read_text()] == [
        "results.arviz_bridge"
    ]


def test_importing_the_package_leaves_heavy_libraries_alone():
    heavy = [
        "scipy.stats",
        "matplotlib",
        "xarray",
        "pandas",
        "arviz",
        "typer",
        "h5netcdf",
        "blackjax",
        "rich",
    ]
    code = f"import sys, fiducial; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", [fiducial, fiducial.extend], ids=["fiducial", "fiducial.extend"])
def test_every_public_name_has_a_docstring(module):
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
            assert (value.__doc__ or "").strip(), name


def pages() -> list[Path]:
    return [
        PROJECT / "README.md",
        *sorted((PROJECT / "docs").rglob("*.md")),
        *sorted((PROJECT / "examples").glob("*.py")),
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(PROJECT)))
def test_docs_and_examples_use_public_names_only(page):
    text = page.read_text()
    blocks = (
        [text]
        if page.suffix == ".py"
        else re.findall(r"```python[^\n]*\n(.*?)```", text, flags=re.DOTALL)
    )
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, (
                    f"{page.name}: a relative import works inside the package only"
                )
                if (node.module or "").split(".")[0] == "fiducial":
                    assert node.module in (
                        "fiducial",
                        "fiducial.extend",
                    ), f"{page.name} imports from {node.module}"
                    public = (
                        fiducial.__all__ if node.module == "fiducial" else fiducial.extend.__all__
                    )
                    assert {alias.name for alias in node.names} <= set(public)
            elif isinstance(node, ast.Import):
                assert not [
                    alias.name for alias in node.names if alias.name.startswith("fiducial.")
                ], page.name
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in ("fd", "fiducial")
            ):
                assert node.attr in (
                    *fiducial.__all__,
                    "__version__",
                ), f"{page.name}: fd.{node.attr} is not public"
