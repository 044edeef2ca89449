"""One phase of a method, compiled for a batch of data sets and chains."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .blas import one_thread
from .compiling import Effort, compile_program
from .method import AbstractPhase, Drawn, Keep
from .model import Data, Model
from .status import Status

_COMPILERS = ThreadPoolExecutor(thread_name_prefix="compile")
_MOST_RECORDS = 20
"""Records in a chunk."""
_MANY = 64
"""In a batch of so many data sets those that are done are left out once only a quarter is still running."""


class Compiled:
    """A function compiled once per shape of its arguments, with the seconds of compiling and running added up.

    Arguments:
        fn: a function of arrays.
        seconds: where to add them, under ``compile`` and ``run``.
        cheap: run a new program once more and count that as compiling, because its first run loads it onto the device.
        effort: how thoroughly to compile it.
    """

    def __init__(self, fn: Callable[..., Any], seconds: dict[str, float], *, cheap: bool = False, effort: Effort = Effort.RUNS_OFTEN):
        self._fn, self._seconds, self._cheap, self._effort = fn, seconds, cheap, effort
        self._programs: dict[Any, Future[Any]] = {}

    def prepare(self, *args: Any) -> Any:
        """Begin to compile for arguments of these shapes, beside whatever else is being traced or compiled.

        Returns:
            The shapes of the result.
        """
        begun = time.perf_counter()
        # float32 means float32: a GPU would multiply with fewer digits, in which energies and second derivatives drown
        with jax.default_matmul_precision("highest"):
            lowered = jax.jit(self._fn).lower(*args)
        self._programs[_shapes(args)] = _COMPILERS.submit(compile_program, lowered, self._effort)
        self._seconds["compile"] += time.perf_counter() - begun
        return lowered.out_info

    def wait(self) -> None:
        """Until all that was prepared is compiled."""
        begun = time.perf_counter()
        for program in self._programs.values():
            program.result()
        self._seconds["compile"] += time.perf_counter() - begun

    def __call__(self, *args: Any) -> Any:
        shapes, new = _shapes(args), False
        if shapes not in self._programs:
            self.prepare(*args)
            new = True
        begun = time.perf_counter()
        program = self._programs[shapes].result()
        with one_thread():
            if new and self._cheap:
                jax.block_until_ready(program(*args))
            self._seconds["compile"] += time.perf_counter() - begun
            begun = time.perf_counter()
            result = jax.block_until_ready(program(*args))
        self._seconds["run"] += time.perf_counter() - begun
        return result


def _shapes(args: Any) -> Any:
    return jax.tree.structure(args), *((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(args))


class Program:
    """A start and a chunk of steps of one phase, compiled once per shape of batch.

    Every argument called ``keys`` has a key per lane, (data set, chain), as have states and statuses.

    Arguments:
        model: the problem made computable.
        phase: the phase.
        keep: what to keep of each draw.
        seconds: where to add up the seconds of compiling and running.
    """

    def __init__(self, model: Model, phase: AbstractPhase, keep: Keep, seconds: dict[str, float]):
        self.model, self.phase, self.keep = model, phase, keep
        every = phase.record_every
        # short enough that lanes which are done do not wait for long, and an interrupt is heard
        self.records_per_chunk = min(_MOST_RECORDS, max(1, -(-phase.steps // (20 * every))))
        self.chunk_steps = every * self.records_per_chunk
        self._start = Compiled(self._batched_init, seconds, effort=Effort.RUNS_ONCE)
        self._chunk = Compiled(self._batched_chunk, seconds, effort=phase.effort)
        self._few = Compiled(self._batched_few, seconds, effort=phase.effort)

    def prepare(self, data: Data, keys: Any, previous: Any, status: np.ndarray) -> Any:
        """Begin to compile, for shapes of the last state of the phase before; returns those of the state."""
        state = self._start.prepare(data, previous, keys)
        self._chunk.prepare(data, state, status, keys, np.asarray(0))
        if self._thins(state, status):
            self._few.prepare(data, state, status, keys, np.asarray(0), np.arange(len(status) // 4))
        return state

    def wait(self) -> None:
        """Until it is compiled."""
        self._start.wait()
        self._chunk.wait()
        self._few.wait()

    def start(self, data: Data, keys: Any, previous: Any) -> Any:
        """The first state of every lane, from the last of the phase before."""
        return self._start(data, previous, keys)

    def chunk(self, data: Data, keys: Any, state: Any, status: Any, step: int) -> tuple[Any, Any, Any]:
        """Run ``chunk_steps`` steps from ``step`` on every lane that is still running."""
        # bookkeeping stays on the host, where it needs no compiling
        idle = ~(status == Status.RUNNING.value).any(axis=1)
        few = len(status) // 4
        if self._thins(state, status) and np.sum(~idle) <= few:
            rows = np.argsort(idle, kind="stable")[:few]
            state, after, recorded = self._few(data, state, status, keys, np.asarray(step), rows)
        else:
            state, after, recorded = self._chunk(data, state, status, keys, np.asarray(step))
        return state, np.asarray(after), jax.tree.map(np.asarray, recorded)

    def _thins(self, state: Any, status: np.ndarray) -> bool:
        """Whether data sets that are done can be left out: in large batches, in phases that do not draw."""
        return len(status) >= _MANY and jax.eval_shape(self.phase.draw, state) is None

    def state_shapes(self, data: Data, keys: Any, previous: Any) -> Any:
        """The structure of the state, found without computing."""
        return jax.eval_shape(self._batched_init, data, previous, keys)

    def record_shapes(self, data: Data, keys: Any, state: Any, status: Any) -> Any:
        """The structure of what a chunk records, found without computing."""
        return jax.eval_shape(self._batched_chunk, data, state, status, keys, np.asarray(0))[2]

    def _batched_init(self, data: Data, previous: Any, keys: Any) -> Any:
        def lane(data: Data, previous: Any, key: Any) -> Any:
            return self.phase.init(self.model, data, previous, key=jax.random.fold_in(key, 0))

        if jax.default_backend() == "cpu":
            # One lane after another: several factorisations of batches of matrices in one program, as a start has them,
            # can wait for each other's threads for ever (jaxlib 0.10).
            def one(each: Any) -> Any:
                data, previous, keys = each
                return jax.lax.map(lambda lane_: lane(data, *lane_), (previous, keys))

            return jax.lax.map(one, (data, previous, keys))
        before = None if previous is None else 0
        return jax.vmap(jax.vmap(lane, (None, before, 0)), (0, before, 0))(data, previous, keys)

    def _batched_chunk(self, data: Data, state: Any, status: Any, keys: Any, first: Any) -> Any:
        sets, chains = status.shape
        # one axis of lanes: each axis of a batch means another pass over the whole program while it is traced
        own = jax.tree.map(lambda v: jnp.repeat(v, chains, axis=0), data)
        flat = jax.tree.map(lambda v: v.reshape(sets * chains, *v.shape[2:]), (state, status, keys))
        if sets * chains == 1:  # products in a batch of one are slower than without
            own, (state, status, keys) = jax.tree.map(lambda v: v[0], (own, flat))
            found = jax.tree.map(lambda v: v[None], self._lane_chunk(own, state, status, keys, first))
        else:
            found = jax.vmap(self._lane_chunk, (0, 0, 0, 0, None))(own, flat[0], flat[1], flat[2], first)
        return jax.tree.map(lambda v: v.reshape(sets, chains, *v.shape[1:]), found)

    def _batched_few(self, data: Data, state: Any, status: Any, keys: Any, first: Any, rows: Any) -> Any:
        """A chunk of some data sets only."""
        some, now, running, own = jax.tree.map(lambda v: v[rows], (data, state, status, keys))
        new, after, recorded = self._batched_chunk(some, now, running, own, first)
        state = jax.tree.map(lambda whole, part: whole.at[rows].set(part), state, new)
        nothing = jax.tree.map(lambda v: jnp.full((len(status), *v.shape[1:]), jnp.nan, v.dtype), recorded)
        recorded = jax.tree.map(lambda whole, part: whole.at[rows].set(part), nothing, recorded)
        return state, status.at[rows].set(after), recorded

    def _lane_chunk(self, data: Data, state: Any, status: Any, key: Any, first: Any) -> Any:
        phase = self.phase
        # traced once, though it is looked at twice
        step_once = jax.jit(lambda state, progress, key: phase.step(self.model, data, state, progress, key=key))

        def one(carry: Any, step: Any) -> Any:
            state, status, info = carry
            new, new_info = step_once(state, step / phase.steps, jax.random.fold_in(key, step + 1))
            active = (status == Status.RUNNING.value) & (step < phase.steps)
            finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(new)]))
            keep = active & finite
            state = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, state)
            info = jax.tree.map(lambda a, b: jnp.where(active, a, b), new_info, info)
            stopped = jnp.where(finite, jnp.where(phase.done(state), Status.CONVERGED.value, status), Status.DIVERGED.value)
            return state, jnp.where(active, stopped, status), info

        def block(carry: Any, b: Any) -> Any:
            every = phase.record_every
            start = first + b * every
            carry = jax.lax.fori_loop(start, start + every, lambda k, c: one(c, k), carry)
            drawn = phase.draw(carry[0])
            return carry, (carry[2], None if drawn is None else self._kept(phase.view(self.model, carry[0]), data, drawn))

        empty = jax.tree.map(
            lambda s: jnp.full(s.shape, jnp.nan, s.dtype),
            jax.eval_shape(step_once, state, first / phase.steps, key)[1],
        )
        (state, status, _), recorded = jax.lax.scan(block, (state, status, empty), jnp.arange(self.records_per_chunk))
        return state, status, recorded

    def _kept(self, model: Model, data: Data, drawn: Drawn) -> tuple[Any, dict[str, Any]]:
        return jax.vmap(lambda theta: self.keep(model, theta, data))(drawn.theta), drawn.extra
