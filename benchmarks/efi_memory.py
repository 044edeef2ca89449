"""Largest memory of a run of Algorithm 1 with the paper's settings for `poisson`, 4
chains.

    python benchmarks/efi_memory.py [iterations]

200,000 iterations by default. A thousand draws of each chain are kept however many
there are, so fewer show the same."""

import dataclasses
import resource
import sys

import fiducial as fd


def main() -> None:
    problem = fd.problem("poisson")
    if len(sys.argv) > 1:
        problem = dataclasses.replace(
            problem, paper={"efi": {**problem.paper["efi"], "steps": int(sys.argv[1])}}
        )
    result = fd.fit(problem, fd.EFI(preset="paper", precision="float32"), seed=0, progress=False)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    print(result)
    print(
        f"{result.draws.sizes['chain']} chains, {result.draws.sizes['draw']} draws each;"
        f" {most / 1e9:.2f} GB at most, {result.seconds['run']:.0f} s"
    )


if __name__ == "__main__":
    main()
