"""The cost of `efi-direct` on the Poisson problem, for several network widths, numbers of
points where f is known, and numbers of draws.

    python benchmarks/direct.py

Prints one row per setting: seconds to compile, seconds to fit and draw, steps of the
fit, and the mean width of the band over the exact one. All rows take about six minutes
on two CPU cores, most of it for 5,000 points.
"""

import numpy as np
from machine import machine

import fiducial as fd

SETTINGS = [
    (50, 200, 1000),
    (25, 200, 1000),
    (100, 200, 1000),
    (50, 100, 1000),
    (50, 400, 1000),
    (50, 5000, 1000),
    (50, 200, 100),
    (50, 200, 4000),
]


def main() -> None:
    print(f"machine: {machine()}")
    print("| network | points of f | draws | compile s | run s | fit steps | width/exact |")
    print("|---|---|---|---|---|---|---|", flush=True)
    x = np.linspace(-0.7, 0.7, 100)
    for width, points, draws in SETTINGS:
        problem = fd.problem("poisson", n_f=points).replace(network=fd.MLP((width, width)))
        result = fd.fit(problem, fd.EFIDirect(draws=draws), progress=False)
        band = result.band(x)
        lower, upper = problem.exact(
            {g.name: g.y.reshape(g.shape) for g in problem.groups}, x, 0.95
        )["u"]
        ratio = float((band["upper"] - band["lower"]).mean()) / float(np.mean(upper - lower))
        steps = int(np.isfinite(result.tree["trace/lm"]["weight"].values).sum())
        seconds = result.seconds
        print(
            f"| {width}-{width} | {points} | {draws} | {seconds['compile']:.1f} |"
            f" {seconds['run']:.2f} | {steps} | {ratio:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
