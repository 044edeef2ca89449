"""Seconds of an iteration of Algorithm 1 with the paper's settings for `poisson`.

    python benchmarks/efi_speed.py
    python benchmarks/efi_speed.py DATA_SETS ITERATIONS [--kernels]

Without arguments one data set is compared with eager PyTorch loops (pip install
torch==2.13.0). With arguments many data sets are timed, one chain each, without
PyTorch; ``--kernels`` also lists the kernels that take most of a GPU's time.

There are two PyTorch loops, with autograd for both derivatives in x and for gradients,
one data set at a time. One does what Algorithm 1 says, line by line: a gradient for the
errors, another for the weights, and the parameters that each observation gives. The
other saves the same work as this library: one gradient for both, sensors evaluated
once, and no table of observations times parameters. One chain is compared with one
loop; the four chains of a run, which share the cores, with one loop on each core.

4,000 iterations of 100 data sets take 1 s after compiling on one H200.
"""

import collections
import contextlib
import gzip
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from machine import machine

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.running.driver import Runner
from fiducial.running.lanes import cores


class Enough(Exception):  # noqa: N818 - not an error
    """Signal that enough iterations have been timed."""


def ours(
    sets: int, iterations: int, trace: str | None = None, chains: int = 1
) -> tuple[float, float, float]:
    """Return the seconds to compile, the seconds of a number of iterations without the
    pilot fit, and how many iterations were timed.

    With ``trace`` the kernels of the timed iterations are written to that folder.
    """
    problem = fd.problem("poisson")
    method = fd.paper.efi("poisson", precision="float32", chains=chains)
    data = fd.simulate(problem, sets, seed=0)
    marks: list[tuple[float, float]] = []

    def report(progress):
        if progress.phase == "draw":
            done = progress.step / progress.steps * method.steps
            marks.append((time.perf_counter(), done))
            if trace and len(marks) == 1:
                jax.profiler.start_trace(trace)
            if progress.diverged == progress.lanes:
                raise RuntimeError("all chains diverged, so that most iterations were left out")
            if marks[-1][1] - marks[0][1] >= iterations:
                raise Enough

    with jax.enable_x64(True):
        runner = Runner(bind(problem), method)
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
    """Return a line for each kernel that takes a hundredth of the time or more."""
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
    """Return the seconds of the three matrix products that every iteration needs: value
    and two derivatives at 200 points, 50 by 50 weights.
    """
    streams = jnp.ones((600, 50), jnp.float32)
    weights = jnp.full((50, 50), 0.01, jnp.float32)
    run = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, x: x @ weights, x))
    run(streams).block_until_ready()
    begun = time.perf_counter()
    run(streams).block_until_ready()
    return 3 * (time.perf_counter() - begun) / repeats


class EagerLoop:
    """Algorithm 1 for `poisson` as an eager PyTorch loop.

    Arguments:
        line_by_line: whether to compute as the algorithm is written, instead of saving
            work.
    """

    SHAPES = ((50, 1), (50,), (50, 50), (50,), (1, 50), (1,))
    SD = 0.05
    STRENGTH = 500.0
    STEP = 2e-3

    def __init__(self, line_by_line: bool):
        import torch

        self.torch = torch
        self.line_by_line = line_by_line
        noisy, exact = fd.problem("poisson").groups
        self.y = self._tensor(noisy.y)
        self.sites = self._tensor(noisy.sites.array)
        self.index = torch.tensor(noisy.index)
        self.x_f = self._tensor(exact.points.array)
        self.f = self._tensor(exact.y)
        place = self._tensor(noisy.points.array[:, 0]) / 0.7
        self.rows = torch.stack([place, (self.y - self.y.mean()) / self.y.std()], dim=1)
        self.sizes = [int(np.prod(shape)) for shape in self.SHAPES]
        self.encoder = torch.nn.Sequential(
            torch.nn.Linear(3, 16),
            torch.nn.LeakyReLU(),
            torch.nn.Linear(16, 16),
            torch.nn.LeakyReLU(),
            torch.nn.Linear(16, 16),
        )
        self.out = torch.nn.Linear(16, sum(self.sizes))
        weights = [*self.encoder.parameters(), *self.out.parameters()]
        self.optimiser = torch.optim.SGD(weights, lr=1e-7, momentum=0.9, weight_decay=0.01)
        self.z = torch.randn(noisy.y.size)

    def iterate(self) -> None:
        """Move the errors and the weights once."""
        torch = self.torch
        z = self.z.detach().requires_grad_()
        self.optimiser.zero_grad()
        if self.line_by_line:
            (by_z,) = torch.autograd.grad(self._energy(z), z)
            self._energy(z.detach()).backward()
        else:
            self._energy(z).backward()
            by_z = z.grad
        with torch.no_grad():
            noise = torch.randn(z.shape[0])
            self.z = self.z - self.STEP * (by_z + self.z) + (2 * self.STEP) ** 0.5 * noise
        self.optimiser.step()

    def _tensor(self, values: np.ndarray) -> Any:
        return self.torch.tensor(values, dtype=self.torch.float32)

    def _network(self, theta: Any, x: Any) -> Any:
        torch = self.torch
        each = zip(torch.split(theta, self.sizes), self.SHAPES, strict=True)
        parts = [part.view(shape) for part, shape in each]
        h = torch.tanh(torch.nn.functional.linear(x, parts[0], parts[1]))
        h = torch.tanh(torch.nn.functional.linear(h, parts[2], parts[3]))
        return torch.nn.functional.linear(h, parts[4], parts[5])

    def _energy(self, z: Any) -> Any:
        torch = self.torch
        neck = self.encoder(torch.cat([self.rows, z[:, None]], dim=1))
        if self.line_by_line:
            each = self.out(neck)
            theta = each.mean(dim=0)
            scatter = torch.sum((each - theta) ** 2)
            fitted = self._network(theta, self.sites[self.index])[:, 0]
        else:
            mean = neck.mean(dim=0)
            theta = self.out(mean)
            off = neck - mean
            scatter = torch.sum((off.T @ off) * (self.out.weight.T @ self.out.weight))
            fitted = self._network(theta, self.sites)[self.index, 0]
        points = self.x_f.detach().requires_grad_()
        u = self._network(theta, points)
        slope = torch.autograd.grad(u.sum(), points, create_graph=True)[0]
        second = torch.autograd.grad(slope.sum(), points, create_graph=True)[0]
        misfit = torch.sum((self.y - fitted - self.SD * z) ** 2)
        physics = torch.sum((0.01 * second[:, 0] - self.f) ** 2)
        return self.STRENGTH * (misfit + physics + scatter)


def pytorch(iterations: int, threads: int, line_by_line: bool = False) -> float:
    """Return the seconds of an iteration of the eager loop."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    loop = EagerLoop(line_by_line)
    for _ in range(20):  # not timed
        loop.iterate()
    begun = time.perf_counter()
    for _ in range(iterations):
        loop.iterate()
    return (time.perf_counter() - begun) / iterations


def pytorch_on_all_cores(iterations: int) -> float:
    """Return the seconds of an iteration with a loop on each core, divided by their
    number.
    """
    with multiprocessing.get_context("spawn").Pool(cores()) as pool:
        return max(pool.starmap(pytorch, [(iterations, 1)] * cores(), chunksize=1)) / cores()


def main() -> None:
    print(f"machine: {machine()}")
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
