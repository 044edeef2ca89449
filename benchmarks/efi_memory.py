"""The largest memory of a run of Algorithm 1 with the paper's settings for `poisson` and 4
chains.

    python benchmarks/efi_memory.py [iterations]

200,000 iterations by default. A thousand draws of each chain are kept, however many
iterations there are, so 20,000 show the same; the default takes two minutes on two CPU
cores.
"""

import resource
import sys

import fiducial as fd


def main() -> None:
    changes = {"steps": int(sys.argv[1])} if len(sys.argv) > 1 else {}
    method = fd.paper.efi("poisson", precision="float32", **changes)
    result = fd.fit(fd.problem("poisson"), method, seed=0, progress=False)
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
