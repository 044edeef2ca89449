"""`efi` with its default settings against exact answers, averaged over data sets.

    python benchmarks/efi_exact.py [data sets] [row ...]

The seed of row i is 500 + i. Prints for the solution the mean width over the exact one,
and the smallest and the largest ratio of the standard deviation to the exact one over
101 points, each averaged over the data sets; for the regression, these ratios for each
coefficient; for an unknown size of the errors, the relative difference of the ends of
its interval from the exact (chi-square) ones.
"""

import sys
from statistics import NormalDist

import jax
import numpy as np
from machine import machine
from scipy import stats

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.running.driver import Runner

ROWS = [("linear-regression", {}), ("linear-regression", {"told": False})]
ROWS += [
    ("poisson", {"sd": sd, "replicates": m}) for m in (10, 40) for sd in (0.01, 0.025, 0.05, 0.1)
]
ROWS += [
    ("poisson-unknown-sd", {"sd": sd, "replicates": m})
    for m in (10, 40)
    for sd in (0.01, 0.025, 0.05, 0.1)
]


def coefficients(name: str, options: dict, sets: int, seed: int) -> str:
    """Return standard deviations of the regression's coefficients over the exact ones,
    averaged over data sets.
    """
    problem, method = fd.problem(name, **options), fd.EFI()
    data = fd.simulate(problem, sets, seed=seed)
    with jax.enable_x64(True):
        model = bind(problem)
        outcome = Runner(model, method).run(data, seed=seed).outcome
        unit = model.representation.numbers.output.unit[0]
        draws = method.collect(model, data, outcome).draws["theta"][..., :5] * unit
    x = problem.groups[0].points.array[:, 0]
    rows = (2 * x[:, None] - 1) ** np.arange(5)
    exact = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    if options.get("told", True):
        sizes = np.full(sets, problem.options["sd"])
    else:
        y, free = data["u"].T, len(x) - 5
        rss = np.sum((y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]) ** 2, axis=0)
        sizes = np.sqrt(rss / free * free / (free - 2))
    ratios = np.mean(draws.std(axis=(1, 2)) / (sizes[:, None] * exact), axis=0)
    return " ".join(f"{r:.3f}" for r in ratios)


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"machine: {machine()}; {sets} data sets, {fd.EFI()!r}")
    print(
        "| problem | options | width / exact | sd / exact, least and most | coefficients | sd:"
        " lower, upper off | failed | s |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for i in [int(a) for a in sys.argv[2:]] or range(len(ROWS)):
        name, options = ROWS[i]
        found = fd.study(
            lambda name=name, options=options: fd.problem(name, **options),
            [fd.EFI()],
            replicates=sets,
            seed=500 + i,
            progress=False,
        )
        cell = found.cells[0]
        a, problem = cell.arrays, cell.problem
        exact = a["u.exact_upper"] - a["u.exact_lower"]
        width = np.mean(a["u.upper"] - a["u.lower"]) / np.mean(exact)
        spread, sizes = 2 * NormalDist().inv_cdf(0.975), ""
        if "sd_u.exact_lower" in a:
            free = problem.groups[0].y.size - (5 if name == "linear-regression" else 2)
            spread = 2 * stats.t.ppf(0.975, free) / stats.t.std(free)
            sizes = ", ".join(
                f"{np.mean(a[f'sd_u.{side}'] / a[f'sd_u.exact_{side}']) - 1:+.3f}"
                for side in ("lower", "upper")
            )
        ratio = np.mean(a["u.sd"], axis=0) / np.mean(exact / spread, axis=0)
        own = coefficients(name, options, sets, 500 + i) if name == "linear-regression" else ""
        text = ", ".join(f"{k}={v}" for k, v in options.items())
        print(
            f"| {name} | {text} | {width:.4f} | {ratio.min():.3f}, {ratio.max():.3f} | {own} |"
            f" {sizes} | {found.rows[0]['failed']} | {cell.seconds['run']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
