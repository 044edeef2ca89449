"""What the chunks of a run recorded, put together into its outcome."""

from typing import Any

import jax
import numpy as np

from ..methods.base import Outcome
from ..phases.base import AbstractPhase
from ..status import Status

Records = list[Any]
"""For each chunk of one phase the pair (info, draws): arrays with the axes data set,
chain and record in front, and None in the place of draws for a phase that does not
draw."""


def holds_draws(records: Records) -> bool:
    """Return whether the chunks of a phase hold draws."""
    return bool(records) and records[0][1] is not None


def extra_so_far(records: Records) -> dict[str, np.ndarray]:
    """Return the further numbers of all draws so far, the draw on the third axis."""
    return jax.tree.map(_one_axis_of_draws, _in_sequence([draws[1] for _, draws in records]))


def outcome(
    phases: list[AbstractPhase],
    records: list[Records],
    state: Any,
    status: np.ndarray,
    unsettled: np.ndarray,
) -> Outcome:
    """Return the outcome of a run.

    Arguments:
        phases: the phases.
        records: for each phase its records.
        state: the last state, all lanes joined.
        status: the last status of every lane.
        unsettled: which lanes ran out of steps in a phase that must settle.
    """
    ended = np.where(status == Status.RUNNING, Status.FINISHED.value, status)
    ended = np.where(unsettled & (ended != Status.DIVERGED), Status.UNSETTLED.value, ended)
    trace: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for phase, own in zip(phases, records, strict=True):
        if not own:
            continue
        trace[phase.name], draws = _within_steps(phase, _in_sequence(own))
        if draws is not None:
            kept[phase.name], extra[phase.name] = jax.tree.map(_one_axis_of_draws, draws)
    state, trace, kept, extra = _without_diverged((state, trace, kept, extra), ended)
    return Outcome(state, ended, trace, kept, extra)


def _in_sequence(chunks: list[Any]) -> Any:
    """Join the arrays of successive chunks along time, the third axis."""
    return jax.tree.map(lambda *xs: np.concatenate(xs, axis=2), *chunks)


def _within_steps(phase: AbstractPhase, records: Any) -> Any:
    """Leave out records of the last chunk that lie beyond the last step of the phase."""
    count = -(-phase.steps // phase.record_every)
    return jax.tree.map(lambda v: v[:, :, :count], records)


def _one_axis_of_draws(records: np.ndarray) -> np.ndarray:
    """Join the axes (record, draw of a record) into one axis of draws."""
    return records.reshape(*records.shape[:2], -1, *records.shape[4:])


def _without_diverged(values: Any, status: np.ndarray) -> Any:
    """Replace each chain that diverged by one of its data set that did not, where there is
    one.
    """
    sound = status != Status.DIVERGED
    lost = ~sound & sound.any(axis=1, keepdims=True)
    if not lost.any():
        return values
    chosen = np.where(lost, np.argmax(sound, axis=1)[:, None], np.arange(status.shape[1]))
    data_sets = np.arange(len(status))[:, None]
    return jax.tree.map(lambda v: v[data_sets, chosen], values)
