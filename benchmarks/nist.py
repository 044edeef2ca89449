"""NIST's certified regressions posed as ODEs with errors of unknown size, against the exact
fiducial limits.

    python benchmarks/nist.py [draws] [method] [case ...]

The exact limits come from the algebraic solutions, by importance sampling
(``fiducial.problems._curve``). Prints each limit, the exact one, and their difference
relative to the width of the exact interval. The cases are misra1a, rat42 and boxbod.
"""

import sys

import numpy as np
from machine import machine

import fiducial as fd
from fiducial.problems._curve import ExactCurve

MISRA1A, RAT42, BOXBOD = (
    tuple(fd.datasets.nist(name).values()) for name in ("misra1a", "rat42", "boxbod")
)


def saturation(y, x, p):
    return fd.derivative(y, x) - p["b2"] * (p["b1"] - y(x))


def logistic(y, x, p):
    return fd.derivative(y, x) - p["b3"] * y(x) * (1 - y(x) / p["b1"])


def pose(equation, data, unknowns, start=()):
    x, y = np.array(data, float)
    observed = [fd.Observed("y", x, y, fd.Gaussian()), *start]
    return fd.Problem(
        equation=equation,
        domain=fd.Box(x=(0, 1.05 * x[-1])),
        unknowns=unknowns,
        outputs=("y",),
        observations=observed,
    )


def zero():
    return fd.Observed("y", x=0.0, y=0.0)


# name: problem with NIST's first starting values, algebraic model, data, where its
# search starts, names of its leading parameters
CASES = {
    "misra1a": (
        lambda: pose(
            saturation, MISRA1A, {"b1": fd.Positive(500.0), "b2": fd.Positive(1e-4)}, [zero()]
        ),
        lambda x, b: b[0] * (1 - np.exp(-b[1] * x)),
        MISRA1A,
        (250.0, 5e-4),
        ("b1", "b2"),
    ),
    "rat42": (
        lambda: pose(logistic, RAT42, {"b1": fd.Positive(100.0), "b3": fd.Positive(0.1)}),
        lambda x, b: b[0] / (1 + np.exp(b[2] - b[1] * x)),
        RAT42,
        (75.0, 0.07, 2.5),
        ("b1", "b3"),
    ),
    "boxbod": (
        lambda: pose(
            saturation, BOXBOD, {"b1": fd.Positive(100.0), "b2": fd.Positive(0.75)}, [zero()]
        ),
        lambda x, b: b[0] * (1 - np.exp(-b[1] * x)),
        BOXBOD,
        (200.0, 0.5),
        ("b1", "b2"),
    ),
}


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    method = fd.method(sys.argv[2] if len(sys.argv) > 2 else "efi-direct", draws=draws)
    print(f"machine: {machine()}; {method!r}")
    print(
        "| case | unknown | estimate | lower | upper | exact lower | exact upper | off / width |"
        " failed | effective | verdict | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in sys.argv[3:] or CASES:
        make, f, data, start, names = CASES[name]
        result = fd.fit(make(), method, progress=False)
        x, y = np.array(data, float)
        limits = ExactCurve(f, x, start, names, "y", samples=400_000)({"y": y}, (), 0.95)
        facts, verdict = result.facts, result.diagnose().verdict
        for unknown in names:
            lower, upper = limits[unknown]
            row = result.parameters().loc[unknown]
            off = (row["lower"] - lower) / (upper - lower), (row["upper"] - upper) / (upper - lower)
            print(
                f"| {name} | {unknown} | {row['estimate']:.6g} | {row['lower']:.5g} |"
                f" {row['upper']:.5g} | {lower:.5g} | {upper:.5g} | {off[0]:+.3f}, {off[1]:+.3f} |"
                f" {facts.get('failed_draws', 0):.4f} | {facts['effective_draws']:.0f} | {verdict}"
                f" | {result.seconds['run']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
