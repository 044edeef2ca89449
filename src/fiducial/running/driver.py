"""The only loop: runs the phases of any method, for all data sets and chains.

Each phase is compiled once, as a chunk of steps, and run until it is done. Between
chunks the host writes the checkpoint, moves the progress bar and looks for an
interrupt. The random key of a step is derived from (seed, data set, chain, phase, step)
and nothing else, so a resumed run and an uninterrupted one are the same to the last
bit."""

import hashlib
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ..device import Effort
from ..methods.base import AbstractMethod, Outcome
from ..model.model import Data, Model
from ..phases.base import AbstractPhase, Keep, keep_all
from ..status import Status
from .checkpoint import Checkpoint
from .compiled import Compiled
from .lanes import at_once, joined, one_lane_per_core
from .phase_program import PhaseProgram
from .progress import Progress


class Interrupted(Exception):  # noqa: N818 - named like KeyboardInterrupt
    """The run was stopped by Ctrl-C after its last chunk; with a checkpoint it can
    be resumed.
    """


Begin = Callable[[str, float | None], None]
"""Told when a stage begins: what it does, and the share that is done already."""


class Run(NamedTuple):
    """An outcome with the seconds it took."""

    outcome: Outcome
    seconds: dict[str, float]


class Runner:
    """Runs one method on one problem, for any number of batches; each phase is compiled
    once per batch shape.

    Use inside ``jax.enable_x64(True)``.

    Arguments:
        model: the problem made computable.
        method: the method.
        keep: what to keep of each draw; by default what a result is made of.
    """

    def __init__(self, model: Model, method: AbstractMethod, *, keep: Keep = keep_all):
        self.model, self.method = model, method
        self.seconds = {"compile": 0.0, "run": 0.0}
        """Of compiling and of running, so far."""
        most = at_once(method.lane_bytes(model))
        self._programs = [
            PhaseProgram(model, phase, keep, self.seconds, most=most)
            for phase in method.phases(model)
        ]
        self._ready: set[tuple[int, ...]] = set()
        self._keys = Compiled(
            partial(_phase_keys, phases=len(self._programs)), self.seconds, effort=Effort.RUNS_ONCE
        )

    def run(
        self,
        data: Data,
        *,
        seed: int,
        first: int = 0,
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
        report: Callable[[Progress], None] | None = None,
        begin: Begin | None = None,
    ) -> Run:
        """Run all phases on a batch of data sets.

        Arguments:
            data: observed values by group, (data set, n).
            seed: seed of all random numbers.
            first: number of the first data set, for random keys, so that a data set's
                answer does not depend on the shard it is in.
            checkpoint: where to store progress.
            resume: go on from the checkpoint.
            report: called after every chunk.
            begin: called when a stage begins, with what it does in plain words and the
                share that is done already, None where its length is not known.

        Raises:
            Interrupted: after Ctrl-C, with the last chunk stored.
        """
        before = dict(self.seconds)
        data = {name: np.asarray(y) for name, y in data.items()}
        if not one_lane_per_core():
            data = jax.device_put(data)
        lanes = len(next(iter(data.values()))), self.method.chains
        keys = self._keys(np.asarray(seed), first + np.arange(lanes[0]), np.arange(lanes[1]))
        where = _Position(
            0,
            0,
            0,
            None,
            np.full(lanes, Status.RUNNING.value),
            np.zeros(lanes, bool),
            [[] for _ in self._programs],
        )
        if checkpoint is not None:
            identity = _identity(self.model, self.method, data, seed, first)
            if resume and checkpoint.exists():
                _same_run(checkpoint, identity)
                where = _restore(checkpoint, self._programs, data, keys, where)
            else:
                checkpoint.begin(identity)

        if begin is not None:
            begin("compiling", None)
        self._prepare(data, keys, where)
        state, status, late, step, number = (
            where.state,
            where.status,
            where.late,
            where.step,
            where.number,
        )
        with _catch_interrupt() as interrupted:
            for i, program in list(enumerate(self._programs))[where.phase :]:
                begun_anew = i > where.phase or step == 0
                if begin is not None:
                    begin(
                        program.phase.activity or program.phase.name,
                        0.0 if begun_anew else step / program.phase.steps,
                    )
                if begun_anew:
                    state, status, step = program.start(data, keys[i], state), _ready(status), 0
                while step < program.phase.steps and _goes_on(status, where.records[i]):
                    if _enough(program, where.records[i], step):
                        status = np.where(status == Status.RUNNING, Status.CONVERGED.value, status)
                        break
                    state, status, recorded, step = program.chunk(
                        data, keys[i], state, status, step
                    )
                    where.records[i].append(recorded)
                    if program.phase.must_settle and step == program.phase.steps:
                        late = late | (status == Status.RUNNING)
                    if checkpoint is not None:
                        number += 1
                        checkpoint.save(
                            number,
                            {"phase": i, "step": step},
                            (joined(state), status, late),
                            recorded,
                        )
                    if report is not None:
                        report(_progress(program.phase, step, recorded[0], status))
                    if interrupted.is_set():
                        raise Interrupted
        ended = np.where(status == Status.RUNNING, Status.FINISHED.value, status)
        ended = np.where(late & (ended != Status.DIVERGED), Status.UNSETTLED.value, ended)
        recorded = {
            p.phase.name: _recorded(p.phase, records)
            for p, records in zip(self._programs, where.records, strict=True)
            if records
        }
        trace = {name: info for name, (info, _) in recorded.items()}
        kept = {
            name: jax.tree.map(_flat, own) for name, (_, own) in recorded.items() if own is not None
        }
        draws, extra = ({name: parts[i] for name, parts in kept.items()} for i in (0, 1))
        seconds = {k: self.seconds[k] - before[k] for k in before}
        last, trace, draws, extra = _stood_in((joined(state), trace, draws, extra), ended)
        return Run(Outcome(last, ended, trace, draws, extra), seconds)

    def has(self, kind: type[AbstractPhase]) -> bool:
        """Whether the method has a phase of such a kind."""
        return any(isinstance(p.phase, kind) for p in self._programs)

    def fit_again(
        self,
        kind: type[AbstractPhase],
        data: Data,
        starts: np.ndarray,
        *,
        seed: int,
        report: Callable[[Progress], None] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run the phase of a kind again on one data set, from other parameters.

        Arguments:
            kind: the phase's class.
            data: observed values by group.
            starts: the parameters to start from, a row each.
            seed: seed of all random numbers.
            report: called after every chunk.

        Returns:
            The parameters that each start came to, and a status for each.
        """
        i, program = next((i, p) for i, p in enumerate(self._programs) if isinstance(p.phase, kind))
        # side by side one program serves any number of lanes; in a batch as many as the
        # run had need no other one
        together = len(starts) if one_lane_per_core() else self.method.chains
        own = {name: np.asarray(y)[None] for name, y in data.items()}
        ended, statuses = [], []
        with _catch_interrupt() as interrupted:
            for first in range(0, len(starts), together):
                some = np.resize(starts[first : first + together], (1, together, starts.shape[1]))
                keys = self._keys(
                    np.asarray(seed), np.arange(1), self.method.chains + first + np.arange(together)
                )[i]
                state, status, step = (
                    program.start(own, keys, _Start(some)),
                    np.full((1, together), Status.RUNNING.value),
                    0,
                )
                while step < program.phase.steps and (status == Status.RUNNING).any():
                    state, status, recorded, step = program.chunk(own, keys, state, status, step)
                    if report is not None:
                        report(
                            _progress(program.phase, step, recorded[0], status)._replace(
                                phase="elsewhere", activity="fitting from other guesses"
                            )
                        )
                    if interrupted.is_set():
                        raise Interrupted
                ended.append(np.asarray(joined(state).theta)[0])
                statuses.append(status[0])
        return np.concatenate(ended)[: len(starts)], np.concatenate(statuses)[: len(starts)]

    def _prepare(self, data: Data, keys: Any, where: "_Position") -> None:
        """Compile all phases beside each other, once for each shape of batch; what
        runs meanwhile would only be in the way.
        """
        if where.status.shape not in self._ready:
            self._ready.add(where.status.shape)
            shapes, todo = where.state, []
            for i, program in list(enumerate(self._programs))[where.phase :]:
                if i > where.phase or where.step == 0:
                    shapes = program.prepare_start(data, keys[i], shapes)
                todo.append((program, keys[i], shapes))
            for program, own, state in reversed(
                todo
            ):  # the last phase is the one that draws, and takes longest to compile
                program.prepare_chunk(data, own, state, where.status)
            for program in self._programs:
                program.wait()


class _Start(NamedTuple):
    """Parameters to start from, in the place of the state of a phase before."""

    theta: Any


class _Position(NamedTuple):
    """How far a run has come."""

    phase: int
    step: int
    number: int
    state: Any
    status: Any
    late: Any
    records: list[list[Any]]


def _phase_keys(seed: Any, replicates: Any, chains: Any, *, phases: int) -> list[Any]:
    """For each phase the data of a key per data set and chain."""

    def key(replicate: Any, chain: Any, phase: int) -> Any:
        return jax.random.key_data(
            jax.random.fold_in(
                jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), replicate), chain),
                phase,
            )
        )

    return [
        jax.vmap(lambda r, i=i: jax.vmap(lambda c: key(r, c, i))(chains))(replicates)
        for i in range(phases)
    ]


def _ready(status: np.ndarray) -> np.ndarray:
    """A phase starts on every lane that did not diverge before."""
    return np.where(status == Status.DIVERGED.value, status, Status.RUNNING.value)


def _progress(
    phase: AbstractPhase, step: int, info: dict[str, np.ndarray], status: np.ndarray
) -> Progress:
    last = {
        name: float(np.nanmedian(v[..., -1])) if np.isfinite(v[..., -1]).any() else float("nan")
        for name, v in info.items()
    }
    return Progress(
        phase=phase.name,
        activity=phase.activity or phase.name,
        step=step,
        steps=phase.steps,
        may_end_early=phase.may_end_early,
        info=last,
        diverged=int((status == Status.DIVERGED).sum()),
        lanes=status.size,
    )


def _goes_on(status: np.ndarray, records: list[Any]) -> bool:
    """Whether a lane is running; or all have diverged, and there are to be as many
    draws to read as ever.
    """
    draws = bool(records) and records[0][1] is not None
    return bool(
        (status == Status.RUNNING).any()
        or not records
        or (draws and (status == Status.DIVERGED).all())
    )


def _enough(program: PhaseProgram, records: list[Any], step: int) -> bool:
    """Ask the phase whether its draws are enough, ten times at most."""
    tenths = [10 * s // program.phase.steps for s in (step - program.chunk_steps, step)]
    if not records or records[0][1] is None or tenths[0] == tenths[1]:
        return False
    return program.phase.enough(jax.tree.map(_flat, _in_a_row([r[1][1] for r in records])))


def _recorded(phase: AbstractPhase, records: list[Any]) -> Any:
    """All records of a phase; those of a last chunk that reaches beyond its steps
    are left out.
    """
    count = -(-phase.steps // phase.record_every)
    return jax.tree.map(lambda v: v[:, :, :count], _in_a_row(records))


def _stood_in(values: Any, status: np.ndarray) -> Any:
    """The same with each chain that diverged replaced by one of its data set that
    did not, where there is one.
    """
    sound = status != Status.DIVERGED
    lost = ~sound & sound.any(axis=1, keepdims=True)
    if not lost.any():
        return values
    chosen = np.where(lost, np.argmax(sound, axis=1)[:, None], np.arange(status.shape[1]))
    return jax.tree.map(lambda v: v[np.arange(len(status))[:, None], chosen], values)


def _in_a_row(parts: list[Any]) -> Any:
    """Records of successive chunks, joined along time (the third axis)."""
    return jax.tree.map(lambda *xs: np.concatenate(xs, axis=2), *parts)


def _flat(records: np.ndarray) -> np.ndarray:
    """Blocks of draws of successive records, joined into one axis of draws."""
    return records.reshape(*records.shape[:2], -1, *records.shape[4:])


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


def _identity(
    model: Model, method: AbstractMethod, data: Data, seed: int, first: int
) -> dict[str, Any]:
    """What must agree between a run and its resumption, with a name for each part."""
    return {
        "problem": problem_digest(model, {name: y[0] for name, y in data.items()}),
        "data": digest(*(np.asarray(data[name]).tobytes() for name in sorted(data))),
        "method": method.name,
        "settings": json.loads(json.dumps(method.settings())),
        "seed": seed,
        "first": first,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
    }


def problem_digest(model: Model, data: Data) -> str:
    """A short text that is another one for another problem: equation, noise, points,
    network.
    """
    program = jax.make_jaxpr(lambda theta: model.residuals(theta, data))(jnp.zeros(model.size))
    places = [np.asarray(a).tobytes() for g in model.groups for a in (g.points.array, g.index)]
    return digest(re.sub(r"0x[0-9a-f]+", "", str(program)).encode(), *places, *_constants(program))


def _constants(value: Any) -> Iterator[bytes]:
    """Numbers in a traced program, which its text leaves out where they are many."""
    if isinstance(value, ClosedJaxpr):
        yield from (np.asarray(c).tobytes() for c in value.consts)
        yield from _constants(value.jaxpr)
    elif isinstance(value, Jaxpr):
        for eqn in value.eqns:
            yield from (np.asarray(v.val).tobytes() for v in eqn.invars if isinstance(v, Literal))
            for parameter in jax.tree.leaves(
                list(eqn.params.values()), is_leaf=lambda v: isinstance(v, ClosedJaxpr | Jaxpr)
            ):
                yield from _constants(parameter)


def digest(*parts: bytes) -> str:
    """A short text that is another one for other parts."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _same_run(checkpoint: Checkpoint, identity: dict[str, Any]) -> None:
    stored = checkpoint.identity()
    changed = [key for key in identity if stored.get(key) != identity[key]]
    if changed:
        details = ", ".join(
            f"{key} ({stored.get(key)} then, {identity[key]} now)" for key in changed
        )
        raise ValueError(
            f"cannot resume {checkpoint.folder}: different {details}; use another folder, or the"
            " same settings as before"
        )


def _restore(
    checkpoint: Checkpoint, programs: list[PhaseProgram], data: Data, keys: Any, start: _Position
) -> _Position:
    """The newest state that is whole, with all records up to it; the start when
    there is none.
    """
    states: list[Any] = []
    for i, program in enumerate(programs):
        states.append(program.state_shapes(data, keys[i], states[-1] if states else None))
    for number, position, leaves in checkpoint.states():
        stored = checkpoint.records(number)
        if stored is None:
            continue
        phase = position["phase"]
        *parts, status, late = leaves
        state = jax.tree.unflatten(
            jax.tree.structure(states[phase]), [jnp.asarray(a) for a in parts]
        )
        records: list[list[Any]] = [[] for _ in programs]
        shapes: dict[int, Any] = {}
        for where, arrays in stored:
            i = where["phase"]
            if i not in shapes:
                shapes[i] = jax.tree.structure(
                    programs[i].record_shapes(data, keys[i], states[i], status)
                )
            records[i].append(jax.tree.unflatten(shapes[i], arrays))
        checkpoint.forget_after(number)
        return _Position(phase, position["step"], number, state, status, late, records)
    checkpoint.forget_after(0)
    return start
