"""`efi` and `efi-direct` on the same data sets of `poisson`, with seed 2027.

    python benchmarks/efi_study.py [data sets]

Prints the study of ``fiducial study poisson --methods efi,efi-direct --replicates 100
--seed 2027``, and the agreement of both methods at both ends and in the middle: the
distance of their means for each data set, in standard deviations, and the ratio of
their standard deviations.
"""

import sys

import numpy as np
from machine import machine

import fiducial as fd


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"machine: {machine()}")
    found = fd.study(
        "poisson", [fd.EFI(), fd.EFIDirect()], replicates=sets, seed=2027, progress=False
    )
    print(found)
    for cell, row in zip(found.cells, found.rows, strict=True):
        off = (row["coverage"] - 0.95) / row["coverage_se"]
        seconds = ", ".join(f"{k} {v:.1f} s" for k, v in cell.seconds.items())
        print(
            f"{cell.method}: coverage {row['coverage']:.4f} ({off:+.2f} SE), width"
            f" {row['width']:.4f}, failed {row['failed']}; {seconds}"
        )
    one, other = (cell.arrays for cell in found.cells)
    at = [0, one["u.mean"].shape[1] // 2, -1]
    shift = (one["u.mean"] - other["u.mean"])[:, at] / other["u.sd"][:, at]
    ratio = (one["u.sd"] / other["u.sd"])[:, at]
    print(
        f"difference of means: {np.mean(shift):+.3f} on average, {np.sqrt(np.mean(shift**2)):.3f}"
        " root mean square, in standard deviations"
    )
    print(
        f"ratio of standard deviations: {np.mean(ratio):.4f} on average, {np.std(ratio):.3f}"
        " between data sets"
    )


if __name__ == "__main__":
    main()
