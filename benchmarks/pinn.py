"""Seconds to compile and milliseconds per step of `pinn` on the Poisson problem, for several
sizes.

    python benchmarks/pinn.py

Prints one row per setting: seconds to compile, milliseconds per Adam step and per
Levenberg-Marquardt step, number of the latter, seconds to the answer, and the
residual. All rows take half a minute on two CPU cores.
"""

import numpy as np
from machine import machine

import fiducial as fd


def main() -> None:
    print(f"machine: {machine()}")
    print(
        "| network | points of f | compile s | Adam ms/step | LM ms/step | LM steps | run s |"
        " residual |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for width, points in ((50, 100), (50, 200), (50, 400), (25, 200), (100, 200)):
        problem = fd.problem("poisson", n_f=points).replace(network=fd.MLP((width, width)))
        only_adam = fd.fit(problem, fd.PINN(lm_steps=0), progress=False)
        both = fd.fit(problem, fd.PINN(), progress=False)
        steps = int(np.isfinite(both.tree["trace/lm"]["weight"].values).sum())
        adam = only_adam.seconds["run"]
        lm = 1000 * (both.seconds["run"] - adam) / max(1, steps)
        residual = float(np.nanmin(both.tree["trace/lm"]["physics"].values))
        seconds = both.seconds
        print(
            f"| {width}-{width} | {points} | {seconds['compile']:.1f} | {adam:.2f} | {lm:.1f} |"
            f" {steps} | {seconds['run']:.2f} | {residual:.1e} |"
        )


if __name__ == "__main__":
    main()
