"""Every ready problem with the default method: writes docs/gallery.md with a table, and a
picture of each.

    python benchmarks/gallery.py [name ...]

With names only those are run; the page keeps what it has of the others. The page states
the seconds of each problem and the machine.
"""

import inspect
import json
import sys
import time
from pathlib import Path

from machine import machine

import fiducial as fd
from fiducial import catalogue

DOCS = Path(__file__).parent.parent / "docs"
KEPT = DOCS / "images" / "gallery"
NOTE = (
    "This page is written by `make gallery`: every ready problem with the default method, seed 0. "
    "The seconds are longer where a machine had other work."
)


def intervals(result: fd.Result) -> str:
    """Return the first four unknowns with their intervals."""
    table = result.parameters()
    rows = [
        f"{name} {row['estimate']:.4g} [{row['lower']:.4g}, {row['upper']:.4g}]"
        for name, row in table.head(4).iterrows()
    ]
    return "; ".join(rows) + (f"; and {len(table) - 4} more" if len(table) > 4 else "")


def run(name: str) -> tuple[str, str]:
    """Fit a problem; return its row of the table and its section of the page."""
    begun = time.perf_counter()
    problem = fd.problem(name)
    result = fd.fit(problem, seed=0, progress=False)
    diagnosis = result.diagnose()
    KEPT.mkdir(parents=True, exist_ok=True)
    picture = KEPT / f"{name}.png"
    result.plot().savefig(picture, dpi=70)
    seconds = result.seconds
    row = (
        f"| [{name}](#{name}) | {result.method} | {diagnosis.verdict} | {seconds['run']:.0f} |"
        f" {seconds['compile']:.0f} | {intervals(result)} |"
    )
    print(row, f"({time.perf_counter() - begun:.0f} s in all)", flush=True)
    what = (inspect.getdoc(catalogue.problems()[name]) or "").split("\n\nArguments:")[0]
    reasons = "".join(f"\n- {reason}" for reason in diagnosis.reasons)
    section = (
        f"## {name}\n\n{what}\n\nVerdict:"
        f" {diagnosis.verdict}.{chr(10) if reasons else ''}{reasons}\n\n"
        f"![{name}](images/gallery/{name}.png)\n"
    )
    return row, section


def main() -> None:
    names = sys.argv[1:] or sorted(catalogue.problems())
    for name in names:
        row, section = run(name)
        (KEPT / f"{name}.json").write_text(json.dumps({"row": row, "section": section}, indent=1))
    kept = [
        json.loads((KEPT / f"{name}.json").read_text())
        for name in sorted(catalogue.problems())
        if (KEPT / f"{name}.json").exists()
    ]
    head = [
        (
            "| problem | method | verdict | seconds to run | to compile | estimates and 95 %"
            " intervals |"
        ),
        "|---|---|---|---|---|---|",
    ]
    missing = [
        name for name in sorted(catalogue.problems()) if not (KEPT / f"{name}.json").exists()
    ]
    note = f" Not run yet: {', '.join(missing)}." if missing else ""
    text = [
        "# Gallery",
        "",
        NOTE + note,
        f"Machine: {machine()}.",
        "",
        *head,
        *(one["row"] for one in kept),
        "",
        *(one["section"] for one in kept),
    ]
    (DOCS / "gallery.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
