"""Seconds of an iteration of Algorithm 1 with the paper's settings for `poisson`, neck
[16, 16, 16].

    python benchmarks/efi_speed.py             # against an eager PyTorch loop (pip
    install torch==2.13.0), one data set python benchmarks/efi_speed.py 100 190000  # so
    many data sets and of the 200,000 iterations, one chain each, without PyTorch python
    benchmarks/efi_speed.py 100 2000 --kernels  # the same, and what a GPU spends its
    time on

There are two PyTorch loops, with autograd for both derivatives in x and for gradients,
one data set at a time. One does what Algorithm 1 says, line by line: a gradient for the
errors, another for the weights, and the parameters that each observation gives. The
other is given what saves work here: one gradient for both, sensors that are evaluated
once, and no table of observations times parameters. One chain is compared with one
loop, and the four chains that a run has, which share the cores, with as many such loops
at once as there are cores, too."""

import collections
import contextlib
import gzip
import json
import multiprocessing
import platform
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.running.driver import Runner
from fiducial.running.lanes import cores


class Enough(Exception):  # noqa: N818 - not an error
    """So many iterations have been timed."""


def ours(
    sets: int, iterations: int, trace: str | None = None, chains: int = 1
) -> tuple[float, float, float]:
    """Seconds to compile, of so many of the paper's 200,000 iterations (the pilot fit,
    which the paper does not have, is left out), and how many ran.

    With ``trace`` these are written down there, kernel by kernel.
    """
    problem = fd.problem("poisson")
    data = fd.simulate(problem, sets, seed=0)
    marks: list[tuple[float, float]] = []

    def report(progress):
        if progress.phase == "draw":
            marks.append(
                (
                    time.perf_counter(),
                    progress.step / progress.steps * problem.paper["efi"]["steps"],
                )
            )
            if trace and len(marks) == 1:
                jax.profiler.start_trace(trace)
            if progress.diverged == progress.lanes:
                raise RuntimeError("all chains diverged, so that most iterations were left out")
            if marks[-1][1] - marks[0][1] >= iterations:
                raise Enough

    with jax.enable_x64(True):
        runner = Runner(bind(problem), fd.EFI(preset="paper", precision="float32", chains=chains))
        with contextlib.suppress(Enough):
            runner.run(data, seed=0, report=report)
    if trace:
        jax.profiler.stop_trace()
    # all is compiled before the first chunk of the chain, which follows its start;
    # later ones are timed
    (begun, before), (ended, after) = marks[0], marks[-1]
    return (
        runner.seconds["compile"],
        (ended - begun) * iterations / (after - before),
        after - before,
    )


def kernels(trace: str, iterations: float) -> list[str]:
    """A line for each kernel that takes a hundredth of the time or more."""
    (file,) = Path(trace).rglob("*.trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    devices = {
        e["pid"] for e in events if e.get("name") == "process_name" and "GPU" in e["args"]["name"]
    }
    times: dict[str, list[float]] = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e["pid"] in devices and "hlo_op" in e.get("args", {}):
            times[e["name"]].append(e["dur"])
    total = sum(map(sum, times.values()))
    lines = [
        f"{sum(map(len, times.values())) / iterations:.0f} kernels, {total / iterations:.0f} us an"
        " iteration"
    ]
    for name, own in sorted(times.items(), key=lambda item: -sum(item[1])):
        if sum(own) > total / 100:
            lines.append(
                f"{sum(own) / iterations:8.1f} us in {len(own) / iterations:.2f} x {name[:80]}"
            )
    return lines


def floor(repeats: int = 1000) -> float:
    """Seconds of the three matrix products that an iteration cannot do without:
    value and two derivatives at 200 points, 50 by 50 weights.
    """
    streams, weights = jnp.ones((600, 50), jnp.float32), jnp.full((50, 50), 0.01, jnp.float32)
    run = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, x: x @ weights, x))
    run(streams).block_until_ready()
    begun = time.perf_counter()
    run(streams).block_until_ready()
    return 3 * (time.perf_counter() - begun) / repeats


def pytorch(iterations: int, threads: int, line_by_line: bool = False) -> float:
    """Seconds of an iteration of the eager loop, as the algorithm is written or with
    what saves work.
    """
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    problem = fd.problem("poisson")
    noisy, exact = problem.groups
    n, sd, strength = noisy.y.size, 0.05, 500.0
    sites = torch.tensor(noisy.sites.array, dtype=torch.float32)
    index = torch.tensor(noisy.index)
    x_f = torch.tensor(exact.points.array, dtype=torch.float32)
    y, f = torch.tensor(noisy.y, dtype=torch.float32), torch.tensor(exact.y, dtype=torch.float32)
    shapes = [(50, 1), (50,), (50, 50), (50,), (1, 50), (1,)]
    sizes = [int(np.prod(s)) for s in shapes]
    encoder = torch.nn.Sequential(
        torch.nn.Linear(3, 16),
        torch.nn.LeakyReLU(),
        torch.nn.Linear(16, 16),
        torch.nn.LeakyReLU(),
        torch.nn.Linear(16, 16),
    )
    out = torch.nn.Linear(16, sum(sizes))
    weights = [*encoder.parameters(), *out.parameters()]
    optimiser = torch.optim.SGD(weights, lr=1e-7, momentum=0.9, weight_decay=0.01)
    rows = torch.stack(
        [
            torch.tensor(noisy.points.array[:, 0], dtype=torch.float32) / 0.7,
            (y - y.mean()) / y.std(),
        ],
        dim=1,
    )
    z = torch.randn(n)
    step = 2e-3

    def network(theta, x):
        parts = [p.view(s) for p, s in zip(torch.split(theta, sizes), shapes, strict=True)]
        h = torch.tanh(torch.nn.functional.linear(x, parts[0], parts[1]))
        h = torch.tanh(torch.nn.functional.linear(h, parts[2], parts[3]))
        return torch.nn.functional.linear(h, parts[4], parts[5])

    def energy(z):
        neck = encoder(torch.cat([rows, z[:, None]], dim=1))
        if line_by_line:
            each = out(neck)
            theta = each.mean(dim=0)
            scatter = torch.sum((each - theta) ** 2)
            fitted = network(theta, sites[index])[:, 0]
        else:
            mean = neck.mean(dim=0)
            theta, off = out(mean), neck - mean
            scatter = torch.sum((off.T @ off) * (out.weight.T @ out.weight))
            fitted = network(theta, sites)[index, 0]
        points = x_f.detach().requires_grad_()
        u = network(theta, points)
        slope = torch.autograd.grad(u.sum(), points, create_graph=True)[0]
        second = torch.autograd.grad(slope.sum(), points, create_graph=True)[0]
        return strength * (
            torch.sum((y - fitted - sd * z) ** 2)
            + torch.sum((0.01 * second[:, 0] - f) ** 2)
            + scatter
        )

    def iterate():
        nonlocal z
        now = z.detach().requires_grad_()
        optimiser.zero_grad()
        if line_by_line:
            (by_z,) = torch.autograd.grad(energy(now), now)
            energy(now.detach()).backward()
        else:
            energy(now).backward()
            by_z = now.grad
        with torch.no_grad():
            z = z - step * (by_z + z) + (2 * step) ** 0.5 * torch.randn(n)
        optimiser.step()

    for _ in range(20):
        iterate()
    begun = time.perf_counter()
    for _ in range(iterations):
        iterate()
    return (time.perf_counter() - begun) / iterations


def pytorch_on_all_cores(iterations: int) -> float:
    """Seconds of an iteration of one loop, when there is a loop on each core, over
    their number.
    """
    with multiprocessing.get_context("spawn").Pool(cores()) as pool:
        return max(pool.starmap(pytorch, [(iterations, 1)] * cores(), chunksize=1)) / cores()


def main() -> None:
    print(f"machine: {jax.devices()[0].device_kind}, {platform.machine()}, jax {jax.__version__}")
    if len(sys.argv) > 1:
        sets, iterations = int(sys.argv[1]), int(sys.argv[2])
        with tempfile.TemporaryDirectory() as folder:
            trace = folder if "--kernels" in sys.argv else None
            compiling, seconds, ran = ours(sets, iterations, trace)
            print(
                f"{sets} data sets x {iterations} iterations: {seconds:.1f} s after {compiling:.1f}"
                " s of compiling"
            )
            print(
                f"{1e6 * seconds / iterations:.1f} us an iteration of all,"
                f" {1e6 * seconds / iterations / sets:.2f} us of one data set"
            )
            if trace:
                print("\n".join(kernels(trace, ran)))
        return
    import torch

    written, loop = (
        min(pytorch(1000, threads, line_by_line) for threads in (1, cores()))
        for line_by_line in (True, False)
    )
    loops = pytorch_on_all_cores(1000)
    compiling, seconds, _ = ours(1, 20_000)
    one, each = seconds / 20_000, ours(1, 20_000, chains=4)[1] / 20_000 / 4
    print(
        f"one chain: {1e3 * one:.3f} ms an iteration ({compiling:.1f} s of compiling); each of four"
        f" chains: {1e3 * each:.3f} ms"
    )
    for name, theirs in (
        ("line by line", written),
        ("with what saves work", loop),
        (f"the same on each of {cores()} cores", loops),
    ):
        print(
            f"eager PyTorch {torch.__version__}, {name}: {1e3 * theirs:.2f} ms; ratio"
            f" {theirs / one:.1f} to one chain, {theirs / each:.1f} to four"
        )
    print(f"its three large matrix products alone: {1e3 * floor():.3f} ms")


if __name__ == "__main__":
    main()
