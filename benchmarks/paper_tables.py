"""The paper's comparisons with other methods, run again, beside its numbers.

    python benchmarks/paper_tables.py TABLE [--rows TEXT] [--share PART]
        [--replicates N] [--folder FOLDER]

TABLE is one of poisson, noise-0.01, noise-0.025, noise-0.1, noisy-f, nonlinear,
nonlinear-even, inverse, black-scholes (``fiducial.paper.tables``). Each row is a study
in a folder of its own, so a run that was stopped continues where it was. ``--share 0.2``
takes a fifth of the paper's iterations, ``--rows bayes`` only rows whose name contains
the text.

A run is unstable if the root mean squared error of its solution is over a tenth of the
range of the true one. The paper leaves such runs out in some tables; here they are
counted, and a second line is without them.

On one H200 a row of 100 data sets takes minutes to two hours; docs/methods.md has the
seconds of each. On two CPU cores only ``--share 0.01`` is practical.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
from machine import machine

import fiducial as fd
from fiducial.paper.tables import TABLES, Published, Row, Table
from fiducial.studies.cell import Cell
from fiducial.studies.coverage import Study
from fiducial.studies.table import COLUMNS, row


def stable(cell: Cell) -> np.ndarray:
    """Return which data sets have a solution near the truth."""
    near = np.ones(len(cell.usable), bool)
    for name in cell.problem.outputs:
        found = cell.arrays.get(f"{name}.mean", cell.arrays[f"{name}.estimate"])
        truth = np.asarray(cell.truth[name])
        error = np.sqrt(np.mean((found - truth) ** 2, axis=1))
        near &= error < 0.1 * np.ptp(truth)
    return near


def line(label: str, found: dict[str, Any], unstable: int, published: Published) -> str:
    """Return a row of the printed table: each number beside the paper's."""
    pairs = [
        f"{found[what]:.4g} ± {found[f'{what}_se']:.2g} / {theirs:.4g} ± {error:.2g}"
        for what, theirs, error in (
            ("mse", published.mse, published.mse_se),
            ("coverage", published.coverage, published.coverage_se),
            ("width", published.width, published.width_se),
        )
    ]
    return (
        f"| {label} | {found['failed']} | {unstable} | {' | '.join(pairs)} |"
        f" {found['seconds_per_dataset']:.3g} |"
    )


def run(table: Table, chosen: Row, share: float, replicates: int, folder: Path) -> Study:
    """Run, resume or read the study of one row."""
    posed = fd.problem(table.problem, **table.options)
    method = chosen.method(table.problem)
    return fd.study(
        posed.replace(network=table.network or posed.network),
        [dataclasses.replace(method, steps=round(share * method.steps))],
        replicates=replicates,
        seed=2026,
        points=table.points,
        folder=folder,
        resume=(folder / "study.json").exists(),
        progress=False,
    )


def report(label: str, study: Study, published: Published) -> dict[str, Any]:
    """Print the lines of one row, and return its numbers."""
    cell, found = study.cells[0], study.rows[0]
    near = stable(cell)
    unstable = int(np.sum(cell.usable & ~near))
    print(line(label, found, unstable, published), flush=True)
    if unstable:
        outputs = list(cell.problem.outputs)
        without = row(cell.method, cell.arrays, cell.truth, outputs, cell.usable & near)
        without |= {"failed": found["failed"]}
        print(line(f"{label}, without the unstable", without, 0, published), flush=True)
    return {key: found[key] for key in COLUMNS} | {"row": label, "unstable": unstable}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--rows", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("paper_tables"))
    given = parser.parse_args()
    device = jax.devices()[0].device_kind
    print(
        f"machine: {machine()}; {given.replicates} data sets, {given.share:g} of the paper's"
        " iterations"
    )
    print(
        "| row | failed | unstable | MSE, ours / paper | coverage, ours / paper | width, ours /"
        " paper | seconds of a data set |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    table = TABLES[given.table]
    for label, chosen in table.rows.items():
        if given.rows not in label:
            continue
        name = label.replace(" ", "-").replace("%", "percent")
        folder = given.folder / f"{given.table}-{name}"
        study = run(table, chosen, given.share, given.replicates, folder)
        kept = report(label, study, chosen.published)
        kept |= {"table": given.table, "share": given.share, "machine": device}
        (folder / "row.json").write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
