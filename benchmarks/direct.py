"""What `efi-direct` costs on the Poisson problem: network width, points of f, number of
draws.

    python benchmarks/direct.py

Prints one row per setting: seconds to compile, to fit and draw, steps of the fit, and
the mean width of the band over the exact one."""

import platform

import jax
import numpy as np

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
    print(f"machine: {jax.devices()[0].device_kind}, {platform.machine()}, jax {jax.__version__}")
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
