"""Every method on one data set of a ready problem: seconds, width relative to the exact
one, and verdict.

    python benchmarks/methods.py [problem] [method ...]

The ratio compares widths of 95 % bands at 29 points over the domain: mean, smallest and
largest. All methods on `poisson` take three minutes on two CPU cores.
"""

import sys

from machine import machine

import fiducial as fd

SETTINGS = {
    "dropout": [{"rate": 0.005}, {"rate": 0.01}, {"rate": 0.05}],
    "ensemble": [{}, {"perturb": False, "chains": 20}],
}
METHODS = (
    "efi-direct",
    "efi",
    "efi-linear",
    "efi-gn",
    "ensemble",
    "laplace",
    "bayes",
    "dropout",
    "concrete-dropout",
)


def line(problem: fd.Problem, name: str, settings: dict) -> str:
    result = fd.fit(problem, fd.method(name, **settings), seed=0, progress=False)
    x = result.grid(29)
    band = result.band(x)
    output = next(iter(problem.outputs))
    width = (band.upper - band.lower).sel(output=output).values
    data = {g.name: g.y.reshape(g.shape) for g in problem.groups}
    lower, upper = problem.exact(data, x.array[:, 0], 0.95)[output]
    ratio = width / (upper - lower)
    label = f"`{name}`" + "".join(f" {k}={v}" for k, v in settings.items())
    seconds = result.seconds
    numbers = f"{ratio.mean():.2f} ({ratio.min():.2f}-{ratio.max():.2f})"
    return (
        f"| {label} | {seconds['compile']:.0f} | {seconds['run']:.0f} | {numbers} |"
        f" {result.diagnose().verdict} |"
    )


def main() -> None:
    problem = fd.problem(sys.argv[1] if len(sys.argv) > 1 else "poisson")
    print(f"machine: {machine()}; problem {problem.name}, seed 0")
    print("| method | s to compile | s to run | width / exact, mean (range) | verdict |")
    print("|---|---|---|---|---|", flush=True)
    for name in sys.argv[2:] or METHODS:
        for settings in SETTINGS.get(name, [{}]):
            print(line(problem, name, settings), flush=True)


if __name__ == "__main__":
    main()
