"""One phase of a method, compiled, for all data sets and chains."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import Effort
from ..model.model import Data, Model
from ..phases.base import AbstractPhase, Drawn, Keep
from ..status import Status
from .compiled import Compiled
from .lanes import Apart, Lanes, apart, in_batch, joined, one_lane_per_core

_MOST_RECORDS = 20
"""Records in a chunk."""
_MANY = 64
"""In a batch of so many data sets those that are done are left out once only a
quarter is still running.
"""
_START, _CHUNK = (1, 2, 2), (1, 2, 2, 2, 0)
"""Axes of lanes that the arguments of a start and of a chunk have."""
_CHUNK_APART = (1, 2, 2, 2, 2)
"""The same where each lane may be at a step of its own."""


class PhaseProgram:
    """A start and a chunk of steps of one phase, compiled once per shape of batch, or
    once where lanes run side by side.

    Every argument called ``keys`` has the data of a key per lane, (data set, chain), as
    have states and statuses.

    Arguments:
        model: the problem made computable.
        phase: the phase.
        keep: what to keep of each draw.
        seconds: where to add up the seconds of compiling and running.
        most: so many lanes side by side at most.
    """

    def __init__(
        self,
        model: Model,
        phase: AbstractPhase,
        keep: Keep,
        seconds: dict[str, float],
        *,
        most: int,
    ):
        self.model, self.phase, self.keep = model, phase, keep
        every = phase.record_every
        # short enough that lanes which are done do not wait for long, and an interrupt
        # is heard
        self.records_per_chunk = min(_MOST_RECORDS, max(1, -(-phase.steps // (20 * every))))
        self.chunk_steps = every * self.records_per_chunk
        self._start = Lanes(self._lane_start, _START, seconds, effort=Effort.RUNS_ONCE, most=most)
        self._chunk = Lanes(
            self._lane_chunk,
            _CHUNK_APART if one_lane_per_core() else _CHUNK,
            seconds,
            effort=phase.effort,
            most=most,
        )
        self._few = Compiled(self._some, seconds, effort=phase.effort)

    def prepare_start(self, data: Data, keys: Any, previous: Any) -> Any:
        """Begin to compile the start, for shapes of the last state of the phase
        before; returns those of the first state of this one.
        """
        return self._start.prepare(data, previous, keys)

    def prepare_chunk(self, data: Data, keys: Any, state: Any, status: np.ndarray) -> None:
        """Begin to compile a chunk of steps, for shapes of the state."""
        self._chunk.prepare(
            data,
            state,
            status,
            keys,
            np.zeros(status.shape, int) if one_lane_per_core() else np.asarray(0),
        )
        if self._thins(state, status):
            self._few.prepare(data, state, status, keys, np.asarray(0), np.arange(len(status) // 4))

    def wait(self) -> None:
        """Until it is compiled."""
        self._start.wait()
        self._chunk.wait()
        self._few.wait()

    def start(self, data: Data, keys: Any, previous: Any) -> Any:
        """The first state of every lane, from the last of the phase before."""
        return self._start(data, previous, keys)

    def chunk(
        self, data: Data, keys: Any, state: Any, status: Any, step: int
    ) -> tuple[Any, Any, Any, int]:
        """Run ``chunk_steps`` steps from ``step`` on every lane that is still running,
        or several times as many where cores are free for them.

        Returns:
            State, status, what was recorded, and the step after the last.
        """
        # bookkeeping stays on the host, where it needs no compiling
        end = step + self.chunk_steps
        idle = ~(status == Status.RUNNING.value).any(axis=1)
        few = len(status) // 4
        if one_lane_per_core():
            state, after, recorded, end = self._beside(data, keys, state, status, step)
        elif self._thins(state, status) and np.sum(~idle) <= few:
            rows = np.argsort(idle, kind="stable")[:few]
            state, after, recorded = self._few(data, state, status, keys, np.asarray(step), rows)
        else:
            state, after, recorded = self._chunk(data, state, status, keys, np.asarray(step))
        return (
            state,
            np.asarray(after),
            jax.tree.map(np.asarray, recorded),
            min(end, self.phase.steps),
        )

    def _beside(
        self, data: Data, keys: Any, state: Any, status: np.ndarray, step: int
    ) -> tuple[Apart, np.ndarray, Any, int]:
        """Lanes side by side, and where that leaves cores idle, the next chunks of a
        phase whose steps do not need each other.
        """
        left = -(-(self.phase.steps - step) // self.chunk_steps)
        times = (
            min(left, max(1, self._chunk.at_once // status.size)) if self.phase.independent else 1
        )
        found = self._chunks(data, keys, state, status, step, times)
        if (
            times > 1 and (found[1] != status).any()
        ):  # a lane broke off: the chunks after that are not its own
            found = self._chunks(data, keys, state, status, step, 1)
        return found

    def _chunks(
        self, data: Data, keys: Any, state: Any, status: np.ndarray, step: int, times: int
    ) -> tuple[Apart, np.ndarray, Any, int]:
        """So many chunks of every lane at the same time."""
        sets, chains = status.shape
        firsts = step + self.chunk_steps * np.arange(times)
        repeated, own = (np.repeat(np.asarray(v), times, axis=1) for v in (status, keys))
        new, after, recorded = self._chunk(
            data,
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
        """Whether data sets that are done can be left out: in large batches, in
        phases that do not draw. Lanes side by side end by themselves.
        """
        return (
            not one_lane_per_core()
            and len(status) >= _MANY
            and jax.eval_shape(self.phase.draw, state) is None
        )

    def state_shapes(self, data: Data, keys: Any, previous: Any) -> Any:
        """The structure of the state, found without computing."""
        return jax.eval_shape(in_batch(self._lane_start, _START), data, previous, keys)

    def record_shapes(self, data: Data, keys: Any, state: Any, status: Any) -> Any:
        """The structure of what a chunk records, found without computing."""
        return jax.eval_shape(
            in_batch(self._lane_chunk, _CHUNK), data, state, status, keys, np.asarray(0)
        )[2]

    def _lane_start(self, data: Data, previous: Any, key: Any) -> Any:
        return self.phase.init(
            self.model, data, previous, key=jax.random.fold_in(jax.random.wrap_key_data(key), 0)
        )

    def _some(self, data: Data, state: Any, status: Any, keys: Any, first: Any, rows: Any) -> Any:
        """A chunk of some data sets only."""
        some, now, running, own = jax.tree.map(lambda v: v[rows], (data, state, status, keys))
        new, after, recorded = in_batch(self._lane_chunk, _CHUNK)(some, now, running, own, first)
        state = jax.tree.map(lambda whole, part: whole.at[rows].set(part), state, new)
        nothing = jax.tree.map(
            lambda v: jnp.full((len(status), *v.shape[1:]), jnp.nan, v.dtype), recorded
        )
        recorded = jax.tree.map(lambda whole, part: whole.at[rows].set(part), nothing, recorded)
        return state, status.at[rows].set(after), recorded

    def _lane_chunk(self, data: Data, state: Any, status: Any, key: Any, first: Any) -> Any:
        phase, key, running = self.phase, jax.random.wrap_key_data(key), Status.RUNNING.value
        # traced once, though it is looked at twice
        step_once = jax.jit(
            lambda state, progress, key: phase.step(self.model, data, state, progress, key=key)
        )

        def one(carry: Any, step: Any) -> Any:
            state, status, info = carry
            new, new_info = step_once(state, step / phase.steps, jax.random.fold_in(key, step + 1))
            active = (status == running) & (step < phase.steps)
            finite = jnp.all(
                jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(new)])
            )
            keep = active & finite
            state = jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, state)
            info = jax.tree.map(lambda a, b: jnp.where(active, a, b), new_info, info)
            stopped = jnp.where(
                finite,
                jnp.where(phase.done(state), Status.CONVERGED.value, status),
                Status.DIVERGED.value,
            )
            return state, jnp.where(active, stopped, status), info

        def one_if_needed(carry: Any, step: Any) -> Any:
            if not one_lane_per_core():  # in a batch both branches would be computed
                return one(carry, step)
            return jax.lax.cond(
                (carry[1] == running) & (step < phase.steps),
                lambda: one(carry, step),
                lambda: carry,
            )

        def block(carry: Any, b: Any) -> Any:
            every = phase.record_every
            start = first + b * every
            carry = jax.lax.fori_loop(start, start + every, lambda k, c: one_if_needed(c, k), carry)
            drawn = phase.draw(carry[0])
            return carry, (
                carry[2],
                None
                if drawn is None
                else self._kept(phase.view(self.model, carry[0]), data, drawn),
            )

        empty = jax.tree.map(
            lambda s: jnp.full(s.shape, jnp.nan, s.dtype),
            jax.eval_shape(step_once, state, first / phase.steps, key)[1],
        )
        (state, status, _), recorded = jax.lax.scan(
            block, (state, status, empty), jnp.arange(self.records_per_chunk)
        )
        return state, status, recorded

    def _kept(self, model: Model, data: Data, drawn: Drawn) -> tuple[Any, dict[str, Any]]:
        return jax.vmap(lambda theta: self.keep(model, theta, data))(drawn.theta), drawn.extra
