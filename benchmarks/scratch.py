"""The scratch assays of the paper: root mean squared error and intervals for all six initial densities, beside the paper's.

python benchmarks/scratch.py [fkpp|porous-fkpp] [cells ...]
"""

import sys

import numpy as np

import fiducial as fd

# the paper's table: RMSE, D, r and (porous) m with 95 % limits
PAPER = {
    "fkpp": {
        10_000: (58.04, "0.00936 (0.00754, 0.01195)", "0.829 (0.797, 0.877)", ""),
        12_000: (82.09, "0.00378 (0.00281, 0.00461)", "0.632 (0.603, 0.658)", ""),
        14_000: (82.93, "0.02929 (0.02739, 0.03268)", "0.534 (0.505, 0.585)", ""),
        16_000: (99.14, "0.02636 (0.02503, 0.02789)", "0.608 (0.585, 0.633)", ""),
        18_000: (115.27, "0.03784 (0.03541, 0.04032)", "0.549 (0.524, 0.575)", ""),
        20_000: (136.67, "0.05471 (0.05007, 0.05817)", "0.492 (0.458, 0.520)", ""),
    },
    "porous-fkpp": {
        10_000: (46.90, "1167.67 (72.48, 2719.97)", "0.846 (0.832, 0.856)", "1.335 (1.037, 1.490)"),
        12_000: (67.88, "1825.54 (32.84, 4416.53)", "0.674 (0.649, 0.696)", "1.433 (1.033, 1.603)"),
        14_000: (73.59, "289.37 (79.08, 552.13)", "0.625 (0.600, 0.649)", "1.096 (0.951, 1.199)"),
        16_000: (70.83, "57.36 (19.21, 97.22)", "0.628 (0.608, 0.650)", "0.920 (0.804, 0.999)"),
        18_000: (96.50, "21.58 (9.07, 35.78)", "0.563 (0.536, 0.587)", "0.780 (0.683, 0.863)"),
        20_000: (123.34, "1.472 (1.058, 2.020)", "0.496 (0.464, 0.530)", "0.408 (0.370, 0.452)"),
    },
}


def row(model: str, cells: int) -> str:
    """One line of the table."""
    problem = fd.problem(model, cells=cells)
    result = fd.fit(problem, fd.EFIDirect(), seed=0, progress=False)
    group = problem.groups[0]
    mean = result.band(group.points).sel(output=group.output)["mean"].values
    rmse = float(np.sqrt(np.mean((mean - group.y) ** 2)))
    table, diagnosis = result.parameters(), result.diagnose()
    ours = [f"{v['estimate']:.4g} ({v['lower']:.4g}, {v['upper']:.4g})" for v in (table.loc[n] for n in ("D", "r", "m") if n in table.index)]
    theirs = PAPER[model][cells]
    alike = ", ".join(f"{c.value:.2f}" for c in diagnosis.checks if c.name.startswith("correlation of the errors"))
    cells_of = [model, f"{cells}", f"{rmse:.1f}", f"{theirs[0]:.1f}", *(f"{a} / {b}" for a, b in zip([*ours, ""], theirs[1:], strict=False))]
    return f"| {' | '.join(cells_of)} | {alike} | {diagnosis.verdict} | {result.seconds['run']:.0f} |"


def main() -> None:
    models = [m for m in PAPER if m in sys.argv[1:]] or list(PAPER)
    wells = [int(a) for a in sys.argv[1:] if a.isdigit()] or list(PAPER["fkpp"])
    print("| model | cells | RMSE | paper | D, ours / paper | r, ours / paper | m, ours / paper | correlation along x, t | verdict | s to run |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for model in models:
        for cells in wells:
            print(row(model, cells), flush=True)


if __name__ == "__main__":
    main()
