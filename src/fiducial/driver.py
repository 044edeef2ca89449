"""The only loop: runs the phases of any method, batched over data sets and chains.

Each phase is compiled once, as a chunk of steps, and run until it is done. Between chunks
the host writes the checkpoint, moves the progress bar and looks for an interrupt. The random
key of a step is derived from (seed, data set, chain, phase, step) and nothing else, so a
resumed run and an uninterrupted one are the same to the last bit.
"""

import hashlib
import json
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .checkpoint import Checkpoint
from .method import AbstractMethod, AbstractPhase, Outcome
from .model import Data, Model
from .status import Status


class Progress(NamedTuple):
    """What a progress display is told after every chunk."""

    phase: str
    step: int
    steps: int
    info: dict[str, float]
    diverged: int
    lanes: int


class Interrupted(Exception):  # noqa: N818 - named like KeyboardInterrupt
    """The run was stopped by Ctrl-C after its last chunk; with a checkpoint it can be resumed."""


class Run(NamedTuple):
    """An outcome with the seconds it took."""

    outcome: Outcome
    seconds: dict[str, float]


def run(
    model: Model,
    method: AbstractMethod,
    data: Data,
    *,
    seed: int,
    first: int = 0,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> Run:
    """Run a method on a batch of data sets. Call inside ``jax.enable_x64(True)``.

    Arguments:
        model: the problem made computable.
        method: the method.
        data: observed values by group, (data set, n).
        seed: seed of all random numbers.
        first: number of the first data set, for random keys, so that a data set's answer does
            not depend on the shard it is in.
        checkpoint: where to store progress.
        resume: go on from the checkpoint.
        report: called after every chunk.

    Raises:
        Interrupted: after Ctrl-C, with the last chunk stored.
    """
    data = {name: jnp.asarray(y) for name, y in data.items()}
    replicates = len(next(iter(data.values())))
    phases = method.phases(model)
    base = jax.random.key(seed)
    lane_keys = jax.vmap(lambda r: jax.vmap(lambda c: jax.random.fold_in(jax.random.fold_in(base, r), c))(jnp.arange(method.chains)))(
        first + jnp.arange(replicates)
    )

    seconds = {"compile": 0.0, "run": 0.0}
    programs = [
        _Program(model, phase, data, jax.vmap(jax.vmap(lambda k, i=i: jax.random.fold_in(k, i)))(lane_keys), seconds)
        for i, phase in enumerate(phases)
    ]
    status = jnp.full((replicates, method.chains), Status.RUNNING.value)
    records: list[list[Any]] = [[] for _ in phases]
    state: Any = None
    at_phase, at_step, number = 0, 0, 0

    if checkpoint is not None:
        identity = _identity(model, method, data, seed, first)
        if resume and checkpoint.exists():
            _same_run(checkpoint, identity)
            found = _restore(checkpoint, programs, status)
            if found is not None:
                at_phase, at_step, number, state, status, records = found
        else:
            checkpoint.begin(identity)

    with _catch_interrupt() as interrupted:
        for i in range(at_phase, len(phases)):
            program = programs[i]
            if i > at_phase or at_step == 0:
                state, status, at_step = program.start(state), _ready(status), 0
            while at_step < phases[i].steps and bool((np.asarray(status) == Status.RUNNING).any()):
                state, status, recorded = program.chunk(state, status, at_step)
                at_step = min(at_step + program.chunk_steps, phases[i].steps)
                records[i].append(recorded)
                if checkpoint is not None:
                    number += 1
                    checkpoint.save(number, {"phase": i, "step": at_step}, (state, status), recorded)
                if report is not None:
                    report(_progress(phases[i], at_step, recorded[0], np.asarray(status)))
                if interrupted.is_set():
                    raise Interrupted
    ended = np.where(np.asarray(status) == Status.RUNNING, Status.FINISHED.value, np.asarray(status))
    trace = {phase.name: _joined([r[0] for r in rec]) for phase, rec in zip(phases, records, strict=True) if rec}
    draws = {phase.name: _joined([r[1] for r in rec]) for phase, rec in zip(phases, records, strict=True) if rec and rec[0][1] is not None}
    return Run(Outcome(jax.tree.map(np.asarray, state), ended, trace, draws), seconds)


class _Program:
    """One phase, compiled for a batch: a start and a chunk of steps."""

    def __init__(self, model: Model, phase: AbstractPhase, data: Data, keys: Any, seconds: dict[str, float]):
        self.model, self.phase, self.data, self.keys, self.seconds = model, phase, data, keys, seconds
        every = phase.record_every
        self.records_per_chunk = max(1, -(-phase.steps // (20 * every)))
        self.chunk_steps = every * self.records_per_chunk
        self._compiled: dict[str, Any] = {}

    def start(self, previous: Any) -> Any:
        """The first state of every lane, from the last of the phase before."""
        return self._call("start", self._batched_init(previous), self.data, previous, self.keys)

    def chunk(self, state: Any, status: Any, step: int) -> tuple[Any, Any, Any]:
        """Run ``chunk_steps`` steps from ``step`` on every lane that is still running."""
        state, status, recorded = self._call("chunk", self._batched_chunk(), self.data, state, status, self.keys, jnp.asarray(step))
        return state, status, jax.tree.map(np.asarray, recorded)

    def state_shapes(self, previous: Any) -> Any:
        """The structure of the state, found without computing."""
        return jax.eval_shape(self._batched_init(previous), self.data, previous, self.keys)

    def record_shapes(self, state: Any, status: Any) -> Any:
        """The structure of what a chunk records, found without computing."""
        return jax.eval_shape(self._batched_chunk(), self.data, state, status, self.keys, jnp.asarray(0))[2]

    def _batched_init(self, previous: Any) -> Callable[..., Any]:
        def lane(data: Data, previous: Any, key: Any) -> Any:
            return self.phase.init(self.model, data, previous, key=jax.random.fold_in(key, 0))

        before = None if previous is None else 0
        return jax.vmap(jax.vmap(lane, (None, before, 0)), (0, before, 0))

    def _batched_chunk(self) -> Callable[..., Any]:
        return jax.vmap(jax.vmap(self._lane_chunk, (None, 0, 0, 0, None)), (0, 0, 0, 0, None))

    def _lane_chunk(self, data: Data, state: Any, status: Any, key: Any, first: Any) -> Any:
        phase = self.phase

        def one(carry: Any, step: Any) -> Any:
            state, status, info = carry
            new, new_info = phase.step(self.model, data, state, step / phase.steps, key=jax.random.fold_in(key, step + 1))
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
            return carry, (carry[2], phase.draw(carry[0]))

        empty = jax.tree.map(
            lambda s: jnp.full(s.shape, jnp.nan, s.dtype),
            jax.eval_shape(lambda s: phase.step(self.model, data, s, jnp.asarray(0.0), key=key)[1], state),
        )
        (state, status, _), recorded = jax.lax.scan(block, (state, status, empty), jnp.arange(self.records_per_chunk))
        return state, status, recorded

    def _call(self, what: str, fn: Callable[..., Any], *args: Any) -> Any:
        if what not in self._compiled:
            begun = time.perf_counter()
            self._compiled[what] = jax.jit(fn).lower(*args).compile()
            self.seconds["compile"] += time.perf_counter() - begun
        begun = time.perf_counter()
        result = jax.block_until_ready(self._compiled[what](*args))
        self.seconds["run"] += time.perf_counter() - begun
        return result


def _ready(status: Any) -> Any:
    """A phase starts on every lane that did not diverge before."""
    return jnp.where(status == Status.DIVERGED.value, status, Status.RUNNING.value)


def _progress(phase: AbstractPhase, step: int, info: dict[str, np.ndarray], status: np.ndarray) -> Progress:
    last = {name: float(np.nanmedian(v[..., -1])) if np.isfinite(v[..., -1]).any() else float("nan") for name, v in info.items()}
    return Progress(phase.name, step, phase.steps, last, int((status == Status.DIVERGED).sum()), status.size)


def _joined(parts: list[Any]) -> Any:
    """Records of successive chunks, joined along time (the third axis)."""
    return jax.tree.map(lambda *xs: np.concatenate(xs, axis=2), *parts)


@contextmanager
def _catch_interrupt() -> Iterator[threading.Event]:
    """Let the first Ctrl-C finish the chunk; a second one stops at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def first(signum: int, frame: Any) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _identity(model: Model, method: AbstractMethod, data: Data, seed: int, first: int) -> dict[str, Any]:
    """What must agree between a run and its resumption, with a name for each part."""
    one = {name: y[0] for name, y in data.items()}
    program = str(jax.make_jaxpr(lambda theta: model.residuals(theta, one))(jnp.zeros(model.size)))
    constants = [np.asarray(a).tobytes() for g in model.groups for a in (g.points.array, g.index)]
    return {
        "problem": _digest(re.sub(r"0x[0-9a-f]+", "", program).encode(), *constants),
        "data": _digest(*(np.asarray(data[name]).tobytes() for name in sorted(data))),
        "method": method.name,
        "settings": json.loads(json.dumps(method.settings())),
        "seed": seed,
        "first": first,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
    }


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _same_run(checkpoint: Checkpoint, identity: dict[str, Any]) -> None:
    stored = checkpoint.identity()
    changed = [key for key in identity if stored.get(key) != identity[key]]
    if changed:
        details = ", ".join(f"{key} ({stored.get(key)} then, {identity[key]} now)" for key in changed)
        raise ValueError(f"cannot resume {checkpoint.folder}: different {details}; use another folder, or the same settings as before")


def _restore(checkpoint: Checkpoint, programs: list[_Program], status: Any) -> Any:
    """The newest state that is whole, with all records up to it; None when there is none."""
    states: list[Any] = []
    for program in programs:
        states.append(program.state_shapes(states[-1] if states else None))
    for number, position, leaves in checkpoint.states():
        stored = checkpoint.records(number)
        if stored is None:
            continue
        phase = position["phase"]
        state, status = jax.tree.unflatten(jax.tree.structure((states[phase], status)), [jnp.asarray(a) for a in leaves])
        records: list[list[Any]] = [[] for _ in programs]
        for where, arrays in stored:
            owner = where["phase"]
            shapes = programs[owner].record_shapes(states[owner], status)
            records[owner].append(jax.tree.unflatten(jax.tree.structure(shapes), arrays))
        checkpoint.forget_after(number)
        return phase, position["step"], number, state, status, records
    checkpoint.forget_after(0)
    return None
