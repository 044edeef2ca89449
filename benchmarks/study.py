"""Seconds of a coverage study, and the part of them that is not the method's own.

    python benchmarks/study.py [data sets] [method]

Prints seconds to compile, to run the method's own programs, and for everything else
(simulation, scores, tables), and the largest memory of the device in use. 100 data sets
by `pinn` take 44 s on two CPU cores and 16 s on one H200; see docs/studies.md.
"""

import sys
import time

import jax
from machine import machine

import fiducial as fd


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    method = fd.method(sys.argv[2] if len(sys.argv) > 2 else "pinn")
    device = jax.devices()[0]
    print(f"machine: {machine()}")
    begun = time.perf_counter()
    found = fd.study("poisson", [method], replicates=replicates, seed=2026, progress=False)
    total = time.perf_counter() - begun
    took = found.cells[0].seconds
    print(f"{replicates} data sets of poisson by {method.name}: {total:.1f} s in all")
    print("compile {compile:.1f} s, method {run:.2f} s, machinery {rest:.2f} s".format(**took))
    print(f"machinery / method: {took['rest'] / took['run']:.3f}")
    print(found)
    stats = device.memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        print(f"peak memory of the device: {stats['peak_bytes_in_use'] / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
