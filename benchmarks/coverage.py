"""Coverage of the Poisson family, one row per problem and option, against the exact
widths.

    python benchmarks/coverage.py [replicates] [method] [row ...]

The seeds are fixed here: row i of the list has seed 2026 + i. Prints for the field and
every constant the coverage of 95 % intervals with its standard error, how many standard
errors it is off, and the mean width over the exact one. The last line sums up: the
largest deviation, and the mean one over all rows (a lean to one side)."""

import platform
import sys
import time

import jax
import numpy as np

import fiducial as fd

ROWS = [
    ("poisson", {"sd": 0.01}),
    ("poisson", {"sd": 0.025}),
    ("poisson", {"sd": 0.05}),
    ("poisson", {"sd": 0.1}),
    ("poisson", {"sd": 0.1, "replicates": 40}),
    ("poisson-unknown-sd", {}),
    ("poisson-inverse", {}),
    ("poisson-noisy-f", {}),
    ("poisson-nonlinear", {}),
    ("poisson-nonlinear", {"inner": 0.7 / 3}),
]


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    method = fd.method(sys.argv[2] if len(sys.argv) > 2 else "efi-direct")
    chosen = [int(a) for a in sys.argv[3:]] or range(len(ROWS))
    print(
        f"machine: {jax.devices()[0].device_kind}, {platform.machine()}, jax {jax.__version__};"
        f" {replicates} data sets, {method!r}"
    )
    print(
        "| problem | options | quantity | coverage | off by (SE) | width | width/exact | failed |"
        " compile s | method s | rest s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    off = []
    for i in chosen:
        name, options = ROWS[i]
        begun = time.perf_counter()
        found = fd.study(
            lambda name=name, options=options: fd.problem(name, **options),
            [method],
            replicates=replicates,
            seed=2026 + i,
            progress=False,
        )
        cell, row = found.cells[0], found.rows[0]
        seconds = " | ".join(f"{cell.seconds[k]:.1f}" for k in ("compile", "run", "rest"))
        quantities = [("", next(iter(cell.problem.outputs)))] + [
            (f"{n}_", n) for n in cell.truth if n not in cell.problem.outputs
        ]
        for prefix, quantity in quantities:
            coverage, error = row[f"{prefix}coverage"], row[f"{prefix}coverage_se"]
            off.append((coverage - 0.95) / error)
            arrays = cell.arrays
            exact = np.mean(
                arrays[f"{quantity}.exact_upper"][cell.usable]
                - arrays[f"{quantity}.exact_lower"][cell.usable]
            )
            text = ", ".join(f"{k}={v:.3g}" for k, v in options.items())
            print(
                f"| {name} | {text} | {quantity} | {coverage:.4f} ± {error:.4f} | {off[-1]:+.2f} |"
                f" {row[f'{prefix}width']:.4f} | {row[f'{prefix}width'] / exact:.4f} |"
                f" {row['failed']} | {seconds} |",
                flush=True,
            )
        print(f"<!-- {name} {options}: {time.perf_counter() - begun:.1f} s in all -->", flush=True)
    print(
        f"\nlargest deviation {np.max(np.abs(off)):.2f} standard errors; mean {np.mean(off):+.2f}"
        f" (standard error {1 / np.sqrt(len(off)):.2f})"
    )


if __name__ == "__main__":
    main()
