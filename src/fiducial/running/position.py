"""How far a run has come, and how that is read from a checkpoint."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..status import Status
from .checkpoint import Checkpoint
from .identity import differences
from .phase_program import Measured, PhaseProgram
from .records import Records


@dataclass(frozen=True)
class Position:
    """How far a run has come.

    Attributes:
        phase: number of the phase that runs.
        step: number of its steps that are done.
        chunk: number of chunks that are done, those of all phases counted.
        state: the state of the phase, None before the first step of the first phase.
        status: the status of every lane, (data set, chain).
        unsettled: which lanes ran out of steps in a phase that must settle.
        records: for each phase what its chunks recorded.
    """

    phase: int
    step: int
    chunk: int
    state: Any
    status: np.ndarray
    unsettled: np.ndarray
    records: list[Records] = field(repr=False)

    @classmethod
    def at_start(cls, lanes: tuple[int, int], phases: int) -> "Position":
        """Return the position of a run that has not begun.

        Arguments:
            lanes: numbers of data sets and chains.
            phases: number of phases.
        """
        return cls(
            phase=0,
            step=0,
            chunk=0,
            state=None,
            status=np.full(lanes, Status.RUNNING.value),
            unsettled=np.zeros(lanes, bool),
            records=[[] for _ in range(phases)],
        )


def must_agree(checkpoint: Checkpoint, identity: dict[str, Any]) -> None:
    """Raise a ``ValueError`` if a checkpoint is of another run.

    Arguments:
        checkpoint: the checkpoint.
        identity: what is to be run, as from ``run_identity``.
    """
    details = differences(checkpoint.identity(), identity)
    if details:
        raise ValueError(
            f"cannot resume {checkpoint.folder}: different {details}; use another folder, or the"
            " same settings as before"
        )


def restore(
    checkpoint: Checkpoint,
    programs: list[PhaseProgram],
    measured: Measured,
    keys: Any,
    start: Position,
) -> Position:
    """Return the newest position that a checkpoint holds whole, or the start.

    A position is whole when its state can be read, and the records of all chunks up to
    it. Chunks after it are deleted, since they are about to be computed again.

    Arguments:
        checkpoint: the checkpoint.
        programs: the compiled phases.
        measured: placement and data.
        keys: for each phase the random keys of all lanes.
        start: the position of a run that has not begun.
    """
    states: list[Any] = []
    for i, program in enumerate(programs):
        states.append(program.state_shapes(measured, keys[i], states[-1] if states else None))
    stored = checkpoint.newest()
    checkpoint.forget_after(stored.number if stored else 0)
    if stored is None:
        return start
    where = stored.state.position
    *leaves, status, unsettled = stored.state.leaves
    records: list[Records] = [[] for _ in programs]
    structures: dict[int, Any] = {}
    for chunk in stored.records:
        i = chunk.position["phase"]
        if i not in structures:
            shapes = programs[i].record_shapes(measured, keys[i], states[i], status)
            structures[i] = jax.tree.structure(shapes)
        records[i].append(jax.tree.unflatten(structures[i], chunk.leaves))
    structure = jax.tree.structure(states[where["phase"]])
    return Position(
        phase=where["phase"],
        step=where["step"],
        chunk=stored.number,
        state=jax.tree.unflatten(structure, [jnp.asarray(a) for a in leaves]),
        status=status,
        unsettled=unsettled,
        records=records,
    )
