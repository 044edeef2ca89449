"""A shard of a study: some data sets simulated, fitted, and their answers judged."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..methods.base import AbstractMethod, Answer
from ..model.binding import bind
from ..model.model import Data, Model
from ..posing.coordinates import Points
from ..posing.problem import Problem
from ..running.compiled import Compiled
from ..running.driver import Begin, Runner
from ..running.identity import digest, problem_digest
from ..running.lanes import cores, free_memory
from ..status import Status
from .scores import Measures, measures
from .simulation import Simulator

_GPU_SHARD = 1000
"""Largest number of data sets fitted at once on an accelerator."""
_LANES_PER_CORE = 4
"""Number of data sets per core that a CPU fits at once: towards the end of a phase some
cores have nothing to do, the less so the more data sets there are."""


class Bench:
    """Fits and judges shards of data sets for one problem and method, with everything
    compiled once.

    Arguments:
        problem: a problem with a truth.
        method: the method.
        points: where the field is judged.
        level: level of the intervals.
        seed: seed of data and method.
    """

    def __init__(
        self, problem: Problem, method: AbstractMethod, *, points: Points, level: float, seed: int
    ):
        self.problem = problem
        self.method = method
        self.points = points
        self.level = level
        self.seed = seed
        with jax.enable_x64(True):
            self.model = bind(problem)
            self.runner = Runner(self.model, method, keep=self._keep)
            self.simulator = Simulator(problem)
            self._seconds = self.simulator.seconds
            self.truth = self._truth()
            self._judge_draws = Compiled(
                lambda draws, truth: jax.lax.map(lambda d: self._one(d, truth), draws),
                self._seconds,
                warm_up=True,
            )
            self._values = Compiled(
                jax.vmap(partial(self._quantities, self.model)), self._seconds, warm_up=True
            )

    def identity(self) -> str:
        """Return a short text that differs between problems, truths, seeds and points where
        the field is judged.
        """
        data = self.simulator.draw(1, seed=self.seed)
        with jax.enable_x64(True):
            problem = problem_digest(self.model, {name: y[0] for name, y in data.items()})
        truth = [np.asarray(self.truth[name]).tobytes() for name in sorted(self.truth)]
        return digest(
            problem.encode(),
            self.points.array.tobytes(),
            *truth,
            *(data[name].tobytes() for name in sorted(data)),
        )

    def shard(
        self, first: int, count: int, size: int, *, begin: Begin | None = None
    ) -> dict[str, np.ndarray]:
        """Fit and judge the data sets from ``first`` to ``first + count``.

        Arguments:
            first: number of the first data set.
            count: number of data sets.
            size: number of data sets to which the batch is padded.
            begin: called when a stage begins.

        Returns:
            Arrays with a leading axis over data sets: ``status``; ``NAME.mean`` and the
            other measures for each output (over points) and constant;
            ``NAME.exact_lower`` and ``NAME.exact_upper`` where known; and
            ``errors.GROUP``, one imputed draw of errors. The vector ``seconds`` holds
            the seconds of compiling, of the method, and of everything else.
        """
        begun, judging = time.perf_counter(), self._seconds["compile"]
        data = self.simulator.draw(size, seed=self.seed, first=first)
        with jax.enable_x64(True):
            finished = self.runner.run(data, seed=self.seed, first=first, begin=begin)
            answer = self.method.collect(self.model, data, finished.outcome)
            arrays = self._judge(answer)
        usable = np.isin(finished.outcome.status, [s for s in Status if s.usable])
        arrays["status"] = np.where(
            usable.any(axis=1),
            finished.outcome.status.min(axis=1),
            finished.outcome.status.max(axis=1),
        )
        if answer.draws is not None:
            arrays.update(
                {f"errors.{group}": z[:, 0, -1] for group, z in answer.draws["errors"].items()}
            )
        arrays.update(self._exact(data, count))
        kept = {name: np.asarray(values)[:count] for name, values in arrays.items()}
        compiling = finished.seconds["compile"] + self._seconds["compile"] - judging
        rest = time.perf_counter() - begun - compiling - finished.seconds["run"]
        return {**kept, "seconds": np.array([compiling, finished.seconds["run"], rest])}

    def lanes(self, replicates: int) -> int:
        """Return how many data sets to fit at once: as many as pay, and fit in the memory
        of the device.
        """
        device = jax.devices()[0]
        if device.platform == "cpu":
            most = _LANES_PER_CORE * cores()
            free = free_memory() // 4
        else:
            most = _GPU_SHARD
            free = int((device.memory_stats() or {}).get("bytes_limit", 8 << 30)) // 2
        each = self.method.chains * self.method.lane_bytes(self.model)
        most = int(max(1, min(replicates, most, free // each)))
        return -(-replicates // -(-replicates // most))  # shards of one size

    @property
    def _noise_unknowns(self) -> list[str]:
        """Names of the unknown parameters of the noise."""
        return [f"{n}_{g.name}" for g in self.problem.groups for n in g.noise_unknowns()]

    def _truth(self) -> dict[str, Any]:
        """Return the true value of everything that is judged, by name."""
        problem = self.problem
        assert problem.truth is not None
        outputs = problem.truth.at(self.points)
        truth: dict[str, Any] = {name: jnp.asarray(outputs[name]) for name in problem.outputs}
        truth.update(
            {name: jnp.asarray(problem.truth.unknowns[name], float) for name in problem.unknowns}
        )
        for g in problem.groups:
            truth.update(
                {
                    f"{n}_{g.name}": jnp.asarray(problem.truth.noise[g.name][n], float)
                    for n in g.noise_unknowns()
                }
            )
        return truth

    def _quantities(self, model: Model, theta: Any) -> dict[str, Any]:
        """Return everything that is judged, for one vector of parameters: outputs at the
        points, unknowns, noise sizes.
        """
        values = model.evaluate(theta, self.points)
        outputs = {name: values[:, i] for i, name in enumerate(self.problem.outputs)}
        noise = {f"{n}_{g}": v for g, own in model.noise(theta).items() for n, v in own.items()}
        return {**outputs, **model.unknowns(theta), **noise}

    def _keep(self, model: Model, theta: Any, data: Data) -> dict[str, Any]:
        """Keep of a draw what is judged, which is far less than its parameters."""
        errors = {group: z.astype(jnp.float32) for group, z in model.errors(theta, data).items()}
        return {"judged": self._quantities(model, theta), "errors": errors}

    def _one(self, draws: dict[str, Any], truth: dict[str, Any]) -> dict[str, Measures]:
        return {name: measures(draws[name], truth[name], self.level) for name in truth}

    def _judge(self, answer: Answer) -> dict[str, np.ndarray]:
        estimate = {name: np.asarray(v) for name, v in self._values(answer.estimate).items()}
        for name in self._noise_unknowns:
            drawn = None if answer.draws is None else answer.draws["judged"][name]
            estimate[name] = self.method.estimate_noise(estimate[name], drawn)
        arrays = {f"{name}.estimate": value for name, value in estimate.items()}
        if answer.draws is not None:
            pooled = {
                name: v.reshape(len(v), -1, *v.shape[3:])
                for name, v in answer.draws["judged"].items()
            }
            judged = self._judge_draws(pooled, self.truth)
            arrays.update(
                {
                    f"{name}.{what}": np.asarray(v)
                    for name, m in judged.items()
                    for what, v in m._asdict().items()
                }
            )
        return arrays

    def _exact(self, data: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        """Return exact limits for each data set, where the problem knows them."""
        if self.problem.exact is None:
            return {}
        on_a_line = len(self.points.names) == 1
        x: Any = self.points.array[:, 0] if on_a_line else self.points.coordinates()
        limits = []
        for i in range(count):
            shaped = {g.name: data[g.name][i].reshape(g.shape) for g in self.problem.groups}
            limits.append(self.problem.exact(shaped, x, self.level))
        return {
            f"{name}.exact_{side}": np.stack(
                [np.broadcast_to(found[name][j], self.truth[name].shape) for found in limits]
            )
            for name in limits[0]
            for j, side in enumerate(("lower", "upper"))
        }
