"""One phase of a method, compiled, for all data sets and chains."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..device import Effort
from ..model.model import Data, Model
from ..model.placement import Placement
from ..phases.base import AbstractPhase, Drawn, Keep
from ..status import Status
from .compiled import Compiled
from .lanes import Apart, Lanes, apart, in_batch, joined, one_lane_per_core

_MOST_RECORDS = 20
"""Largest number of records in a chunk."""
_LARGE_BATCH = 64
"""Number of data sets from which on those that are done are left out of a batch, once only
a quarter of them is running."""
_START = (1, 2, 2)
"""Leading axes of lanes that the arguments of a start have (see ``Lanes``), the placement
aside: data, state of the phase before, keys."""
_CHUNK = (1, 2, 2, 2, 0)
"""Leading axes of lanes that the arguments of a chunk have, the placement aside: data, state,
status, keys, first step."""
_CHUNK_APART = (1, 2, 2, 2, 2)
"""Leading axes of lanes that the arguments of a chunk have where each lane has a first step
of its own."""


class Measured(NamedTuple):
    """What a program is given about all data sets.

    Attributes:
        placement: where it was measured: for all data sets together, or for each of them,
            with a leading axis (see ``PhaseProgram``).
        data: observed values by group, (data set, n).
    """

    placement: Placement
    data: Data


class PhaseProgram:
    """The start and a chunk of steps of one phase, compiled once per shape of batch, or
    once in all where each core runs one lane.

    Every argument called ``keys`` holds the data of a random key per lane, with the leading
    axes (data set, chain). States and statuses have these axes too.

    Arguments:
        model: the problem made computable.
        phase: the phase.
        keep: what to keep of each draw.
        seconds: where to add up the seconds of compiling and running.
        most: largest number of lanes that run at the same time.
        own_placements: whether each data set has a placement of its own.
    """

    def __init__(
        self,
        model: Model,
        phase: AbstractPhase,
        keep: Keep,
        seconds: dict[str, float],
        *,
        most: int,
        own_placements: bool = False,
    ):
        self.model = model
        placements = (1 if own_placements else 0,)
        self._own_placements = own_placements
        self._start_axes = placements + _START
        self._chunk_axes = placements + _CHUNK
        self.phase = phase
        self.keep = keep
        every = phase.record_every
        # at least 20 chunks, so that lanes which are done do not wait for long and an
        # interrupt is answered soon
        self.records_per_chunk = min(_MOST_RECORDS, max(1, -(-phase.steps // (20 * every))))
        self.chunk_steps = every * self.records_per_chunk
        self._start = Lanes(
            self._lane_start, self._start_axes, seconds, effort=Effort.RUNS_ONCE, most=most
        )
        self._chunk = Lanes(
            self._lane_chunk,
            placements + _CHUNK_APART if one_lane_per_core() else self._chunk_axes,
            seconds,
            effort=phase.effort,
            most=most,
        )
        self._few = Compiled(self._some, seconds, effort=phase.effort)

    def prepare_start(self, measured: Measured, keys: Any, previous: Any) -> Any:
        """Begin to compile the start.

        Arguments:
            measured: placement and data.
            keys: the random keys.
            previous: shapes of the last state of the phase before.

        Returns:
            Shapes of the first state of this phase.
        """
        return self._start.prepare(*measured, previous, keys)

    def prepare_chunk(self, measured: Measured, keys: Any, state: Any, status: np.ndarray) -> None:
        """Begin to compile a chunk of steps, for a state of these shapes."""
        first = np.zeros(status.shape, int) if one_lane_per_core() else np.asarray(0)
        self._chunk.prepare(*measured, state, status, keys, first)
        if self._thins(state, status):
            rows = np.arange(len(status) // 4)
            self._few.prepare(*measured, state, status, keys, np.asarray(0), rows)

    def wait(self) -> None:
        """Wait until everything is compiled."""
        self._start.wait()
        self._chunk.wait()
        self._few.wait()

    def start(self, measured: Measured, keys: Any, previous: Any) -> Any:
        """Return the first state of every lane, from the last state of the phase before."""
        return self._start(*measured, previous, keys)

    def chunk(
        self, measured: Measured, keys: Any, state: Any, status: Any, step: int
    ) -> tuple[Any, Any, Any, int]:
        """Run ``chunk_steps`` steps from ``step`` on every lane that is running, or several
        times that number where cores are free for them.

        Returns:
            State, status, what was recorded, and the step after the last.
        """
        # lanes are counted on the host, where that needs no compiling
        end = step + self.chunk_steps
        idle = ~(status == Status.RUNNING.value).any(axis=1)
        few = len(status) // 4
        if one_lane_per_core():
            state, after, recorded, end = self._beside(measured, keys, state, status, step)
        elif self._thins(state, status) and np.sum(~idle) <= few:
            rows = np.argsort(idle, kind="stable")[:few]
            state, after, recorded = self._few(
                *measured, state, status, keys, np.asarray(step), rows
            )
        else:
            state, after, recorded = self._chunk(*measured, state, status, keys, np.asarray(step))
        return (
            state,
            np.asarray(after),
            jax.tree.map(np.asarray, recorded),
            min(end, self.phase.steps),
        )

    def _beside(
        self, measured: Measured, keys: Any, state: Any, status: np.ndarray, step: int
    ) -> tuple[Apart, np.ndarray, Any, int]:
        """Run one lane on each core; where that leaves cores idle, these run the next
        chunks of a phase whose steps are independent.
        """
        left = -(-(self.phase.steps - step) // self.chunk_steps)
        times = 1
        if self.phase.independent:
            times = min(left, max(1, self._chunk.at_once // status.size))
        found = self._chunks(measured, keys, state, status, step, times)
        # a lane that diverged takes no part in the chunks after that
        if times > 1 and (found[1] != status).any():
            found = self._chunks(measured, keys, state, status, step, 1)
        return found

    def _chunks(
        self, measured: Measured, keys: Any, state: Any, status: np.ndarray, step: int, times: int
    ) -> tuple[Apart, np.ndarray, Any, int]:
        """Run ``times`` successive chunks of every lane at the same time."""
        sets, chains = status.shape
        firsts = step + self.chunk_steps * np.arange(times)
        repeated, own = (np.repeat(np.asarray(v), times, axis=1) for v in (status, keys))
        new, after, recorded = self._chunk(
            *measured,
            apart(state, 2, (sets, chains)).repeated(times),
            repeated,
            own,
            np.broadcast_to(np.tile(firsts, chains), repeated.shape),
        ).parts()
        ended = joined(after).reshape(sets, chains, times).max(axis=2)
        in_order = jax.tree.map(
            lambda v: v.reshape(sets, chains, times * v.shape[2], *v.shape[3:]), joined(recorded)
        )
        return (
            Apart(new.each[times - 1 :: times], (sets, chains)),
            ended,
            in_order,
            step + times * self.chunk_steps,
        )

    def _thins(self, state: Any, status: np.ndarray) -> bool:
        """Return whether data sets that are done can be left out: in large batches, in
        phases that do not draw. Where each core runs one lane, there is nothing to leave
        out.
        """
        return (
            not one_lane_per_core()
            and len(status) >= _LARGE_BATCH
            and jax.eval_shape(self.phase.draw, state) is None
        )

    def state_shapes(self, measured: Measured, keys: Any, previous: Any) -> Any:
        """Return shapes of the state, found without computing it."""
        start = in_batch(self._lane_start, self._start_axes)
        return jax.eval_shape(start, *measured, previous, keys)

    def record_shapes(self, measured: Measured, keys: Any, state: Any, status: Any) -> Any:
        """Return shapes of what a chunk records, found without computing it."""
        chunk = in_batch(self._lane_chunk, self._chunk_axes)
        return jax.eval_shape(chunk, *measured, state, status, keys, np.asarray(0))[2]

    def _lane_start(self, placement: Placement, data: Data, previous: Any, key: Any) -> Any:
        """Return the first state of one lane; key 0 is that of the start."""
        own = jax.random.fold_in(jax.random.wrap_key_data(key), 0)
        return self.phase.init(self.model.placed(placement), data, previous, key=own)

    def _some(
        self,
        placement: Placement,
        data: Data,
        state: Any,
        status: Any,
        keys: Any,
        first: Any,
        rows: Any,
    ) -> Any:
        """Run a chunk of the data sets ``rows``; the others record not-a-number."""
        some, now, running, own = jax.tree.map(lambda v: v[rows], (data, state, status, keys))
        if self._own_placements:
            placement = jax.tree.map(lambda v: v[rows], placement)
        chunk = in_batch(self._lane_chunk, self._chunk_axes)
        new, after, recorded = chunk(placement, some, now, running, own, first)
        state = jax.tree.map(lambda whole, part: whole.at[rows].set(part), state, new)
        missing = jax.tree.map(
            lambda v: jnp.full((len(status), *v.shape[1:]), jnp.nan, v.dtype), recorded
        )
        recorded = jax.tree.map(lambda whole, part: whole.at[rows].set(part), missing, recorded)
        return state, status.at[rows].set(after), recorded

    def _lane_chunk(
        self, placement: Placement, data: Data, state: Any, status: Any, key: Any, first: Any
    ) -> Any:
        """Run a chunk of steps of one lane from the step ``first``; return its state, its
        status and what was recorded.
        """
        phase, model = self.phase, self.model.placed(placement)
        key = jax.random.wrap_key_data(key)
        # jitted so that it is traced once: for its shapes here, and in the loop below
        step_once = jax.jit(
            lambda state, progress, key: phase.step(model, data, state, progress, key=key)
        )

        def step(k: Any, carry: Any) -> Any:
            advance = partial(self._advance, step_once, key, k)
            if not one_lane_per_core():  # in a batch both branches would be computed
                return advance(carry)
            return jax.lax.cond(self._active(carry[1], k), advance, lambda c: c, carry)

        def record(carry: Any, block: Any) -> Any:
            start = first + block * phase.record_every
            carry = jax.lax.fori_loop(start, start + phase.record_every, step, carry)
            state, _, info = carry
            drawn = phase.draw(state)
            kept = None
            if drawn is not None:
                kept = self._kept(phase.view(model, state), data, drawn)
            return carry, (info, kept)

        info_before = jax.tree.map(
            lambda s: jnp.full(s.shape, jnp.nan, s.dtype),
            jax.eval_shape(step_once, state, first / phase.steps, key)[1],
        )
        (state, status, _), recorded = jax.lax.scan(
            record, (state, status, info_before), jnp.arange(self.records_per_chunk)
        )
        return state, status, recorded

    def _active(self, status: Any, step: Any) -> Any:
        """Return whether a lane takes this step."""
        return (status == Status.RUNNING.value) & (step < self.phase.steps)

    def _advance(self, step_once: Any, key: Any, step: Any, carry: Any) -> Any:
        """Take one step of a lane; a lane that is not running, or whose step gives a value
        that is not finite, keeps its state.
        """
        state, status, info = carry
        new, new_info = step_once(state, step / self.phase.steps, jax.random.fold_in(key, step + 1))
        active = self._active(status, step)
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(new)]))
        keep = active & finite
        state = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, state)
        info = jax.tree.map(lambda a, b: jnp.where(active, a, b), new_info, info)
        done = jnp.where(self.phase.done(state), Status.CONVERGED.value, status)
        stopped = jnp.where(finite, done, Status.DIVERGED.value)
        return state, jnp.where(active, stopped, status), info

    def _kept(self, model: Model, data: Data, drawn: Drawn) -> tuple[Any, dict[str, Any]]:
        """Return what is kept of each draw, and the further numbers of each."""
        return jax.vmap(lambda theta: self.keep(model, theta, data))(drawn.theta), drawn.extra
