"""The paper's comparisons with other methods, run anew, beside its numbers.

    python benchmarks/paper_tables.py TABLE [--rows TEXT] [--share PART] [--replicates
    N] [--folder FOLDER]

TABLE is one of poisson, noise-0.01, noise-0.025, noise-0.1, noisy-f, nonlinear,
nonlinear-even, inverse, black-scholes. Each row is a study in a folder of its own, so a
run that was stopped goes on where it was. ``--share 0.2`` takes a fifth of the paper's
iterations, ``--rows bayes`` only rows whose name contains the text.

A run is unstable if it ends so far off that the root mean squared error of its solution
is over a tenth of the true one's range. The paper leaves such runs out in some tables;
here they are counted, and a second line is without them."""

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import jax
import numpy as np

import fiducial as fd
from fiducial.posing.networks import softplus
from fiducial.studies.cell import Cell
from fiducial.studies.table import COLUMNS, row

# name of a row -> method, then the paper's MSE, coverage and width, each with its
# standard error
Row = tuple[fd.AbstractMethod, tuple[float, ...]]


def dropout(rate: float) -> fd.AbstractMethod:
    return fd.method("dropout", rate=rate, preset="paper")


def bayes(sigma_f: float | str) -> fd.AbstractMethod:
    return fd.method("bayes", preset="paper", chains=1, sigma_f=sigma_f)


PINN, CONCRETE = fd.method("pinn-paper"), fd.method("concrete-dropout", preset="paper")
SMALL, SMALLER = "exp_0.05_0.005", "exp_0.05_0.0005"

NONLINEAR: dict[str, Row] = {
    "dropout 0.5 %": (dropout(0.005), (0.00105, 0.000123, 0.9962, 0.002068, 0.246367, 0.002182)),
    "dropout 1 %": (dropout(0.01), (0.002807, 0.000309, 0.9861, 0.003829, 0.358088, 0.005178)),
    "dropout 5 %": (dropout(0.05), (0.00701, 0.000394, 0.9956, 0.001566, 0.543565, 0.003096)),
    "bayes": (bayes("exp_0.2_0.05"), (0.000376, 0.000033, 0.9938, 0.002618, 0.104673, 0.000394)),
}

BLACK_SCHOLES = {
    "unknown": None,
    "edge": "free",
    "expiry": "observed",
    "n_edge": 50,
    "n_f": 800,
}

TABLES: dict[str, tuple[str, dict[str, Any], dict[str, Row]]] = {
    "poisson": ("poisson", {}, {
        "pinn": (PINN, (0.000121, 0.000012, 0.0757, 0.011795, 0.002139, 0.000024)),
        "dropout 0.5 %": (dropout(0.005), (0.000228, 0.000024, 1.0, 0.0, 0.191712, 0.004367)),
        "dropout 1 %": (dropout(0.01), (0.000851, 0.000111, 0.9999, 0.000104, 0.274651, 0.006734)),
        "dropout 5 %": (dropout(0.05), (0.006276, 0.000982, 0.9893, 0.004024, 0.660927, 0.030789)),
        "concrete dropout": (CONCRETE, (0.000184, 0.00002, 0.1185, 0.018002, 0.003706, 0.000073)),
        "bayes 0.05": (bayes(0.05), (0.000826, 0.000102, 0.9997, 0.000302, 0.372381, 0.002635)),
        "bayes 0.005": (bayes(SMALL), (0.00017, 0.00002, 0.9914, 0.0086, 0.081557, 0.000692)),
        "bayes 0.0005": (bayes(SMALLER), (0.00146, 0.000219, 0.5884, 0.03239, 0.055191, 0.001123)),
    }),
    "noise-0.01": ("poisson", {"sd": 0.01}, {
        "pinn": (PINN, (0.000008, 0.000001, 0.2808, 0.028721, 0.002079, 0.000026)),
        "dropout 0.5 %": (dropout(0.005), (0.00016, 0.000037, 1.0, 0.0, 0.199798, 0.004135)),
        "dropout 1 %": (dropout(0.01), (0.000676, 0.000082, 1.0, 0.0, 0.276534, 0.006642)),
        "dropout 5 %": (dropout(0.05), (0.00908, 0.001516, 0.9639, 0.011218, 0.593541, 0.025812)),
        "bayes 0.05": (bayes(0.05), (0.000181, 0.000025, 0.9984, 0.0004, 0.254861, 0.001554)),
        "bayes 0.005": (bayes(SMALL), (0.000007, 0.000001, 0.9915, 0.00322, 0.028386, 0.000201)),
        "bayes 0.0005": (bayes(SMALLER), (7e-6, 1e-6, 0.9544, 0.013751, 0.010437, 0.000046)),
    }),
    "noise-0.025": ("poisson", {"sd": 0.025}, {
        "pinn": (PINN, (0.000046, 0.000006, 0.1529, 0.019175, 0.00211, 0.000025)),
        "dropout 0.5 %": (dropout(0.005), (0.000157, 0.000028, 1.0, 0.0, 0.195658, 0.003892)),
        "dropout 1 %": (dropout(0.01), (0.000666, 0.000084, 1.0, 0.0, 0.267936, 0.005751)),
        "dropout 5 %": (dropout(0.05), (0.004573, 0.000654, 0.9979, 0.001157, 0.643227, 0.031514)),
        "bayes 0.05": (bayes(0.05), (0.000161, 0.000019, 0.9992, 0.000307, 0.257184, 0.001612)),
        "bayes 0.005": (bayes(SMALL), (0.00006, 0.000013, 0.963, 0.01269, 0.037341, 0.000418)),
        "bayes 0.0005": (bayes(SMALLER), (0.00009, 0.000014, 0.8504, 0.02327, 0.024676, 0.000366)),
    }),
    "noise-0.1": ("poisson", {"sd": 0.1}, {
        "pinn": (PINN, (0.000581, 0.000066, 0.032, 0.006518, 0.002088, 0.000024)),
        "dropout 0.5 %": (dropout(0.005), (9.35e-4, 1.06e-4, 0.9905, 0.002706, 0.196226, 0.003748)),
        "dropout 1 %": (dropout(0.01), (0.001413, 0.000175, 0.9976, 0.001929, 0.274188, 0.007653)),
        "dropout 5 %": (dropout(0.05), (0.00684, 0.001027, 0.9955, 0.002439, 0.658607, 0.03177)),
        "bayes 0.05": (bayes(0.05), (0.000966, 0.000106, 0.9936, 0.002068, 0.28566, 0.001405)),
        "bayes 0.005": (bayes(SMALL), (0.000674, 0.00008, 0.9582, 0.015014, 0.104743, 0.000325)),
        "bayes 0.0005": (bayes(SMALLER), (4.944e-3, 7.88e-4, 0.3827, 0.030245, 0.066296, 0.002515)),
    }),
    "noisy-f": ("poisson-noisy-f", {}, {
        "dropout 0.5 %": (dropout(0.005), (0.00031, 0.000022, 1.0, 0.0, 0.240585, 0.002282)),
        "dropout 1 %": (dropout(0.01), (0.00053, 0.000046, 1.0, 0.0, 0.357782, 0.005141)),
        "dropout 5 %": (dropout(0.05), (0.003527, 0.000193, 1.0, 0.0, 0.669799, 0.006158)),
        "bayes": (bayes(0.05), (0.000233, 0.000017, 0.996, 0.002035, 0.086291, 0.000068)),
    }),
    "nonlinear": ("poisson-nonlinear", {}, NONLINEAR),
    # evenly spaced sensors, as in published code
    "nonlinear-even": ("poisson-nonlinear", {"inner": 0.7 / 3}, NONLINEAR),
    "inverse": ("poisson-inverse", {}, {
        "dropout 0.5 %": (dropout(0.005), (0.000184, 0.00001, 1.0, 0.0, 0.2393, 0.0035)),
        "dropout 1 %": (dropout(0.01), (0.000272, 0.000024, 1.0, 0.0, 0.3032, 0.0071)),
        "dropout 5 %": (dropout(0.05), (0.002708, 0.000212, 1.0, 0.0, 0.5363, 0.0131)),
        "bayes": (bayes(0.05), (0.000131, 0.000008, 0.9752, 0.0055, 0.0517, 0.00003)),
    }),
    "black-scholes": ("black-scholes", BLACK_SCHOLES, {
        "dropout 5 %": (dropout(0.05), (0.000171, 0.00007, 0.9137, 0.0122, 0.0538, 0.0004)),
        "bayes 0.05": (bayes(0.05), (0.000159, 0.000041, 0.9637, 0.0175, 0.0516, 0.001)),
        "bayes 0.005": (bayes(SMALL), (0.001075, 0.000146, 0.5437, 0.0255, 0.0388, 0.0007)),
    }),
}  # fmt: skip

# networks that are not the problem's own
NETWORKS = {"black-scholes": fd.MLP((50, 50), softplus(5.0))}

# where a table judges the solution, if not over the whole domain
POINTS = {"black-scholes": {"S": np.linspace(0, 2, 101), "t": 0.0}}


def shorter(problem: fd.Problem, share: float) -> fd.Problem:
    """The same problem with a share of the paper's iterations."""
    paper = {
        name: {**own, "steps": round(share * own["steps"])} for name, own in problem.paper.items()
    }
    return problem.replace(paper=paper)


def stable(cell: Cell) -> np.ndarray:
    """Which data sets have a solution that is not far off."""
    near = np.ones(len(cell.usable), bool)
    for name in cell.problem.outputs:
        found, truth = (
            cell.arrays.get(f"{name}.mean", cell.arrays[f"{name}.estimate"]),
            np.asarray(cell.truth[name]),
        )
        near &= np.sqrt(np.mean((found - truth) ** 2, axis=1)) < 0.1 * np.ptp(truth)
    return near


def line(label: str, found: dict[str, Any], unstable: int, paper: tuple[float, ...]) -> str:
    pairs = [
        f"{found[what]:.4g} ± {found[f'{what}_se']:.2g} / {paper[2 * i]:.4g} ±"
        f" {paper[2 * i + 1]:.2g}"
        for i, what in enumerate(("mse", "coverage", "width"))
    ]
    return (
        f"| {label} | {found['failed']} | {unstable} | {' | '.join(pairs)} |"
        f" {found['seconds_per_dataset']:.3g} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--rows", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("paper_tables"))
    given = parser.parse_args()
    name, options, rows = TABLES[given.table]
    device = jax.devices()[0].device_kind
    print(
        f"machine: {device}, {platform.machine()}, jax {jax.__version__}; {given.replicates} data"
        f" sets, {given.share:g} of the paper's iterations"
    )
    print(
        "| row | failed | unstable | MSE, ours / paper | coverage, ours / paper | width, ours /"
        " paper | seconds of a data set |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for label, (method, paper) in rows.items():
        if given.rows not in label:
            continue
        folder = given.folder / f"{given.table}-{label.replace(' ', '-').replace('%', 'percent')}"
        posed = fd.problem(name, **options)
        problem = shorter(
            posed.replace(network=NETWORKS.get(given.table, posed.network)), given.share
        )
        resume = (folder / "study.json").exists()
        study = fd.study(
            problem,
            [method],
            replicates=given.replicates,
            seed=2026,
            points=POINTS.get(given.table),
            folder=folder,
            resume=resume,
            progress=False,
        )
        cell, found = study.cells[0], study.rows[0]
        near = stable(cell)
        unstable = int(np.sum(cell.usable & ~near))
        print(line(label, found, unstable, paper), flush=True)
        if unstable:
            without = row(
                cell.method, cell.arrays, cell.truth, list(cell.problem.outputs), cell.usable & near
            )
            print(
                line(
                    f"{label}, without the unstable",
                    without | {"failed": found["failed"]},
                    0,
                    paper,
                ),
                flush=True,
            )
        kept = {key: found[key] for key in COLUMNS} | {
            "row": label,
            "unstable": unstable,
            "table": given.table,
            "share": given.share,
            "machine": device,
        }
        (folder / "row.json").write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
