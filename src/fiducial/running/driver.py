"""The driver: the only loop of the package. It runs the phases of any method, for all
data sets and chains.

Each phase is compiled once, as a chunk of steps, and chunks are run until the phase is
done. Between chunks the host writes the checkpoint, reports progress and looks for an
interrupt. The random key of a step is derived from (seed, data set, chain, phase, step)
and nothing else, so a resumed run and an uninterrupted one agree to the last bit."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from ..device import Effort
from ..methods.base import AbstractMethod, Outcome
from ..model.model import Data, Model
from ..model.placement import Placement, check_padding
from ..phases.base import AbstractPhase, Keep, keep_all
from ..status import Status
from .checkpoint import Checkpoint
from .compiled import Compiled
from .identity import run_identity
from .interrupts import catch_interrupt
from .lanes import at_once, joined, one_lane_per_core
from .phase_program import Measured, PhaseProgram
from .position import Position, must_agree, restore
from .progress import Progress, progress_of
from .records import Records, extra_so_far, holds_draws, outcome


class Interrupted(Exception):  # noqa: N818 - named like KeyboardInterrupt
    """The run was stopped by Ctrl-C after its last chunk; with a checkpoint it can be
    resumed.
    """


Report = Callable[[Progress], None]
"""A function called after every chunk."""
Begin = Callable[[str, float | None], None]
"""A function called when a stage begins, with what the stage does in plain words and the
share of it that is done already (None where its length is not known)."""


class Run(NamedTuple):
    """An outcome with the seconds that it took."""

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
        own_placements: whether each data set of a batch was measured at places of its
            own, which ``run`` is then given.
    """

    def __init__(
        self,
        model: Model,
        method: AbstractMethod,
        *,
        keep: Keep = keep_all,
        own_placements: bool = False,
    ):
        self.model = model
        self.method = method
        self.seconds = {"compile": 0.0, "run": 0.0}
        """Seconds of compiling and of running so far."""
        most = at_once(method.lane_bytes(model))
        self._programs = [
            PhaseProgram(model, phase, keep, self.seconds, most=most, own_placements=own_placements)
            for phase in method.phases(model)
        ]
        self._prepared: set[tuple[int, ...]] = set()
        keys_of = partial(_keys_of_phases, phases=len(self._programs))
        self._keys = Compiled(keys_of, self.seconds, effort=Effort.RUNS_ONCE)

    def run(
        self,
        data: Data,
        *,
        seed: int,
        first: int = 0,
        placement: Placement | None = None,
        checkpoint: Checkpoint | None = None,
        resume: bool = False,
        report: Report | None = None,
        begin: Begin | None = None,
    ) -> Run:
        """Run all phases on a batch of data sets.

        Arguments:
            data: observed values by group, (data set, n).
            seed: seed of all random numbers.
            first: number of the first data set, for random keys, so that a data set's
                answer does not depend on the shard it is in.
            placement: where it was measured, with a leading axis for data sets that have
                places of their own; by default where the problem's own data were.
            checkpoint: where to store progress.
            resume: go on from the checkpoint.
            report: called after every chunk.
            begin: called when a stage begins (see ``Begin``).

        Raises:
            Interrupted: after Ctrl-C, with the last chunk stored.
        """
        before = dict(self.seconds)
        data = {name: np.asarray(y) for name, y in data.items()}
        measured = self._measured(data, placement)
        lanes = len(next(iter(data.values()))), self.method.chains
        keys = self._keys(np.asarray(seed), first + np.arange(lanes[0]), np.arange(lanes[1]))
        position = Position.at_start(lanes, len(self._programs))
        if checkpoint is not None:
            identity = run_identity(self.model, self.method, data, seed, first)
            if resume and checkpoint.exists():
                must_agree(checkpoint, identity)
                position = restore(checkpoint, self._programs, measured, keys, position)
            checkpoint.begin(identity)
        begin = begin or _say_nothing
        begin("compiling", None)
        self._compile(measured, keys, position)
        with catch_interrupt() as interrupted:
            batch = _Batch(
                measured=measured,
                keys=keys,
                checkpoint=checkpoint,
                report=report or _say_nothing,
                begin=begin,
                interrupted=interrupted,
            )
            for i in range(position.phase, len(self._programs)):
                position = self._run_phase(i, position, batch)
        return Run(self._outcome(position), {k: self.seconds[k] - before[k] for k in before})

    def _outcome(self, position: Position) -> Outcome:
        """Return what the method reads, from the last position of a run."""
        return outcome(
            [program.phase for program in self._programs],
            position.records,
            joined(position.state),
            position.status,
            position.unsettled,
        )

    def _run_phase(self, i: int, position: Position, batch: "_Batch") -> Position:
        """Run phase ``i`` to its end, from its start or from where the position is in it."""
        program = self._programs[i]
        steps = program.phase.steps
        activity = program.phase.activity or program.phase.name
        if i > position.phase or position.step == 0:
            batch.begin(activity, 0.0)
            position = replace(
                position,
                phase=i,
                step=0,
                state=program.start(batch.measured, batch.keys[i], position.state),
                status=_ready(position.status),
            )
        else:
            batch.begin(activity, position.step / steps)
        records = position.records[i]
        while position.step < steps and _goes_on(position.status, records):
            if _has_enough_draws(program, records, position.step):
                running = position.status == Status.RUNNING
                return replace(
                    position, status=np.where(running, Status.CONVERGED.value, position.status)
                )
            position = self._run_chunk(program, position, batch)
        return position

    def _run_chunk(self, program: PhaseProgram, position: Position, batch: "_Batch") -> Position:
        """Run one chunk, store it and report it."""
        phase = program.phase
        state, status, recorded, step = program.chunk(
            batch.measured,
            batch.keys[position.phase],
            position.state,
            position.status,
            position.step,
        )
        position.records[position.phase].append(recorded)
        unsettled = position.unsettled
        if phase.must_settle and step == phase.steps:
            unsettled = unsettled | (status == Status.RUNNING)
        position = replace(
            position,
            step=step,
            chunk=position.chunk + 1,
            state=state,
            status=status,
            unsettled=unsettled,
        )
        if batch.checkpoint is not None:
            batch.checkpoint.save(
                position.chunk,
                {"phase": position.phase, "step": step},
                (joined(state), status, unsettled),
                recorded,
            )
        batch.report(progress_of(phase, step, recorded[0], status))
        if batch.interrupted.is_set():
            raise Interrupted
        return position

    def has(self, kind: type[AbstractPhase]) -> bool:
        """Return whether the method has a phase of this class."""
        return any(isinstance(p.phase, kind) for p in self._programs)

    def fit_again(
        self,
        kind: type[AbstractPhase],
        data: Data,
        starts: np.ndarray,
        *,
        seed: int,
        report: Report | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run one phase again on one data set, from other parameters.

        Arguments:
            kind: the class of the phase.
            data: observed values by group.
            starts: the parameters to start from, a row each.
            seed: seed of all random numbers.
            report: called after every chunk.

        Returns:
            The parameters that each start led to, and a status for each.
        """
        i, program = next((i, p) for i, p in enumerate(self._programs) if isinstance(p.phase, kind))
        # Where each core runs one lane, one program serves any number of lanes. In one
        # batch the starts are taken as many at a time as the run had chains, so that its
        # program serves again.
        together = len(starts) if one_lane_per_core() else self.method.chains
        one_set = self._measured({name: np.asarray(y)[None] for name, y in data.items()})
        ended = []
        statuses = []
        with catch_interrupt() as interrupted:
            for first in range(0, len(starts), together):
                some = np.resize(starts[first : first + together], (1, together, starts.shape[1]))
                chains = self.method.chains + first + np.arange(together)
                keys = self._keys(np.asarray(seed), np.arange(1), chains)[i]
                state = program.start(one_set, keys, _GivenStart(some))
                status = np.full((1, together), Status.RUNNING.value)
                step = 0
                while step < program.phase.steps and (status == Status.RUNNING).any():
                    state, status, recorded, step = program.chunk(
                        one_set, keys, state, status, step
                    )
                    if report is not None:
                        seen = progress_of(program.phase, step, recorded[0], status)
                        report(seen._replace(phase="elsewhere", activity=_FITTING_AGAIN))
                    if interrupted.is_set():
                        raise Interrupted
                ended.append(np.asarray(joined(state).theta)[0])
                statuses.append(status[0])
        return np.concatenate(ended)[: len(starts)], np.concatenate(statuses)[: len(starts)]

    def _measured(self, data: Data, placement: Placement | None = None) -> Measured:
        """Return what programs are given, on the device where one program runs all
        lanes.
        """
        if placement is None:
            placement = self.model.placement
        else:
            self._check_padding(placement)
        measured = Measured(placement, data)
        return measured if one_lane_per_core() else jax.device_put(measured)

    def _check_padding(self, placement: Placement) -> None:
        """Raise a ``ValueError`` if data sets are padded and the method, or a noise
        model, does not allow that.
        """
        if any(own.real is not None for own in placement.groups):
            if not self.method.takes_padding:
                raise ValueError(
                    f"{self.method.name}: data sets with different numbers of observations do not"
                    " fit into one run; use efi-direct, efi-linear or pinn"
                )
            check_padding(self.model.groups, placement)

    def _compile(self, measured: Measured, keys: Any, position: Position) -> None:
        """Compile all phases at the same time, once for each shape of batch.

        Nothing runs meanwhile, since it would take cores from the compiler.
        """
        if position.status.shape in self._prepared:
            return
        self._prepared.add(position.status.shape)
        shapes = position.state
        to_do = []
        for i, program in list(enumerate(self._programs))[position.phase :]:
            if i > position.phase or position.step == 0:
                shapes = program.prepare_start(measured, keys[i], shapes)
            to_do.append((program, keys[i], shapes))
        # the last phase is the one that draws, and takes longest to compile
        for program, own, state in reversed(to_do):
            program.prepare_chunk(measured, own, state, position.status)
        for program in self._programs:
            program.wait()


_FITTING_AGAIN = "fitting from other guesses"
"""What the line of progress says while ``Runner.fit_again`` runs."""


@dataclass(frozen=True)
class _Batch:
    """What stays the same while a batch of data sets is run.

    Attributes:
        measured: placement and data of all data sets.
        keys: for each phase the random keys of all lanes.
        checkpoint: where to store progress, or None.
        report: called after every chunk.
        begin: called when a stage begins.
        interrupted: set after Ctrl-C.
    """

    measured: Measured
    keys: Any
    checkpoint: Checkpoint | None
    report: Report
    begin: Begin
    interrupted: threading.Event


class _GivenStart(NamedTuple):
    """Parameters to start from, in the place of the state of a phase before."""

    theta: Any


def _say_nothing(*_: Any) -> None:
    """Report to nobody."""


def _keys_of_phases(seed: Any, data_sets: Any, chains: Any, *, phases: int) -> list[Any]:
    """Return for each phase the data of a random key per data set and chain."""

    def key(data_set: Any, chain: Any, phase: int) -> Any:
        own = jax.random.fold_in(jax.random.key(seed), data_set)
        own = jax.random.fold_in(own, chain)
        return jax.random.key_data(jax.random.fold_in(own, phase))

    return [
        jax.vmap(lambda r, i=i: jax.vmap(lambda c: key(r, c, i))(chains))(data_sets)
        for i in range(phases)
    ]


def _ready(status: np.ndarray) -> np.ndarray:
    """Return the status at the start of a phase, which runs every lane that has not
    diverged before.
    """
    return np.where(status == Status.DIVERGED.value, status, Status.RUNNING.value)


def _goes_on(status: np.ndarray, records: Records) -> bool:
    """Return whether a phase needs another chunk.

    It does while a lane is running. When all have diverged, a phase that draws goes on as
    well, so that there are as many draws to read as ever.
    """
    if (status == Status.RUNNING).any() or not records:
        return True
    return holds_draws(records) and bool((status == Status.DIVERGED).all())


def _has_enough_draws(program: PhaseProgram, records: Records, step: int) -> bool:
    """Return whether the phase says that its draws are enough; it is asked ten times at
    most.
    """
    tenth_before = 10 * (step - program.chunk_steps) // program.phase.steps
    tenth_now = 10 * step // program.phase.steps
    if not holds_draws(records) or tenth_before == tenth_now:
        return False
    return program.phase.enough(extra_so_far(records))
