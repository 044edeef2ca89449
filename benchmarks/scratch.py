"""The scratch assays of the paper: root mean squared error and intervals for all six
initial densities, beside those of a reference and of the paper.

    python benchmarks/scratch.py [fkpp|porous-fkpp] [cells ...]
        [--reference | --experiments]

The reference has no network: the equation is solved by finite volumes, and its fiducial
density is sampled (``Problem.exact``). With ``--reference`` no network is fitted, and
the first of the three entries is left out. With ``--experiments`` the three wells are
separate experiments, and the estimates of a network stand beside those of a
least-squares fit of the finite volumes. One initial density takes one to two minutes on
two CPU cores, half a minute or more of it for the reference.
"""

import sys

import jax
import numpy as np
from scipy.optimize import least_squares

import fiducial as fd
from fiducial.paper.scratch_assays import TABLE as PAPER


def entry(estimate: float, limits: tuple[float, float]) -> str:
    return f"{estimate:.4g} ({limits[0]:.4g}, {limits[1]:.4g})"


def reference(problem: fd.Problem, names: list[str]) -> list[str]:
    """Return the reference's root mean squared error, and an entry for each unknown."""
    data = {"u": problem.groups[0].y}
    (estimate, rmse), limits = problem.exact.estimate(data), problem.exact(data, (), 0.95)
    return [f"{rmse:.1f}", *(entry(estimate[n], limits[n]) for n in names)]


def ours(problem: fd.Problem, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the root mean squared error of a network, an entry for each unknown, and
    effective draws, correlations of the errors, verdict and seconds.
    """
    result = fd.fit(problem, fd.EFIDirect(), seed=0, progress=False)
    group = problem.groups[0]
    fitted = result.model.mean(result.tree["estimate"]["theta"].values, group)[group.index]
    table, diagnosis = result.parameters(), result.diagnose()
    alike = ", ".join(
        f"{c.value:.2f}" for c in diagnosis.checks if c.name.startswith("correlation of the errors")
    )
    entries = [
        entry(table.loc[n, "estimate"], (table.loc[n, "lower"], table.loc[n, "upper"]))
        for n in names
    ]
    how = [
        f"{result.facts['effective_draws']:.0f}",
        alike,
        diagnosis.verdict,
        f"{result.seconds['run']:.0f}",
    ]
    return [f"{float(np.sqrt(np.mean((np.asarray(fitted) - group.y) ** 2))):.1f}", *entries], how


def experiments(model: str, cells: int) -> str:
    """Return one line of estimates for three wells with starts and error sizes of their
    own and common constants.
    """
    problem = fd.problem(model, cells=cells, wells="experiments")
    single = fd.problem(model, cells=cells).exact
    result = fd.fit(problem, fd.PINN(), seed=0, progress=False)
    found = result.parameters()["estimate"]
    y = np.stack([g.y for g in problem.groups if g.noise is not None])
    names, size = single.names, np.ones(3)
    start = np.concatenate([single.start[: len(names)], *[single.start[len(names) :]] * 3])

    def off(b: np.ndarray) -> np.ndarray:
        own = np.column_stack([np.tile(b[: len(names)], (3, 1)), b[len(names) :].reshape(3, -1)])
        return (
            (single.curve(single.x, [column[:, None] for column in own.T]) - y) / size[:, None]
        ).ravel()

    lower = [0.0 if n in ("D", "r") else -np.inf for n in names] + [-np.inf] * (
        len(start) - len(names)
    )
    for _ in range(6):  # each time with the sizes of the errors that were left
        fit = least_squares(off, start, bounds=(lower, np.inf), x_scale=np.abs(start))
        left = off(fit.x).reshape(3, -1) * size[:, None]
        start, size = fit.x, np.sqrt(np.mean(left**2, axis=1))
    sd = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    each = ", ".join(f"{found[n]:.4g} / {fit.x[i]:.4g} ± {sd[i]:.2g}" for i, n in enumerate(names))
    return (
        f"| {model} | {cells} | {', '.join(names)} | {each} | {result.status.name.lower()} |"
        f" {result.seconds['run']:.0f} |"
    )


def row(model: str, cells: int, *, only_reference: bool) -> str:
    """Return one line of the table."""
    problem = fd.problem(model, cells=cells)
    names = [n for n in ("D", "r", "m") if n in problem.unknowns]
    theirs = [f"{PAPER[model][cells][0]:.1f}", *PAPER[model][cells][1:]]
    entries, how = ([], [""] * 4) if only_reference else ours(problem, names)
    columns = [
        " / ".join(c)
        for c in zip(
            *([entries] if entries else []), reference(problem, names), theirs, strict=False
        )
    ]
    return f"| {' | '.join([model, str(cells), *columns, *[''] * (4 - len(columns)), *how])} |"


def main() -> None:
    models = [m for m in PAPER if m in sys.argv[1:]] or list(PAPER)
    wells = [int(a) for a in sys.argv[1:] if a.isdigit()] or list(PAPER["fkpp"])
    together = "--experiments" in sys.argv
    only_reference = "--reference" in sys.argv
    if together:
        print(
            "| model | cells | unknowns | estimates: ours / reference ± its standard error, of each"
            " | status of the fit | s to run |",
            flush=True,
        )
    else:
        print(
            f"each entry: {'reference / paper' if only_reference else 'ours / reference / paper'}"
        )
        print(
            "| model | cells | RMSE | D | r | m | effective draws | correlation along x, t |"
            " verdict | s to run |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for model in models:
        for cells in wells:
            with jax.enable_x64(True):
                print(
                    (
                        experiments(model, cells)
                        if together
                        else row(model, cells, only_reference=only_reference)
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
