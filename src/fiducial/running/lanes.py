"""The lanes of a batch: each is one chain on one data set."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import Effort
from .compiled import Compiled
from .threads import one_thread

_ALONE = threading.Lock()
"""Held by a program that must run alone (see ``factors_batches``)."""


def one_lane_per_core() -> bool:
    """Return whether each core runs one lane at a time, as on a CPU; otherwise one program
    runs all lanes.
    """
    return jax.default_backend() == "cpu"


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Return the bytes of free memory of this machine, 4 GiB where it does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def at_once(lane_bytes: int) -> int:
    """Return how many lanes may run at the same time: one on each core, as long as they
    fill at most half of the free memory.

    Arguments:
        lane_bytes: memory that one lane needs.
    """
    return max(1, min(cores(), free_memory() // 2 // max(1, lane_bytes)))


@dataclass(frozen=True)
class Apart:
    """Values of lanes that ran one on each core, not joined into arrays, because a state
    can be large and is only handed on.

    Attributes:
        each: the value of each lane, all chains of the first data set first.
        lanes: numbers of data sets and chains.
    """

    each: list[Any]
    lanes: tuple[int, int]

    def repeated(self, times: int) -> "Apart":
        """Return each value ``times`` times in a row, as if there were that many more
        chains.
        """
        each = [one for one in self.each for _ in range(times)]
        return Apart(each, (self.lanes[0], times * self.lanes[1]))

    def parts(self) -> tuple["Apart", ...]:
        """Return the elements of values that are tuples, an ``Apart`` for each element."""
        return tuple(
            Apart([one[i] for one in self.each], self.lanes) for i in range(len(self.each[0]))
        )


def apart(value: Any, axes: int, lanes: tuple[int, int]) -> Apart:
    """Split a tree of arrays into what each lane sees of it.

    Arguments:
        value: the tree, or an ``Apart``, which is returned as it is.
        axes: how many leading axes are those of lanes, as in ``Lanes``.
        lanes: numbers of data sets and chains.
    """
    if isinstance(value, Apart):
        return value
    arrays = jax.tree.map(np.asarray, value)
    return Apart(
        [
            jax.tree.map(lambda v, at=(i, j)[:axes]: v[at], arrays)
            for i in range(lanes[0])
            for j in range(lanes[1])
        ],
        lanes,
    )


def joined(found: Any) -> Any:
    """Return the values of all lanes in one tree of arrays, with leading axes (data set,
    chain).
    """
    if not isinstance(found, Apart):
        return found

    def join(*own: Any) -> np.ndarray:
        parts = [np.asarray(v) for v in own]
        if len(parts) == 1:
            return parts[0][None, None]
        return np.stack(parts).reshape(*found.lanes, *parts[0].shape)

    return jax.tree.map(join, *found.each)


class Lanes:
    """A function of one lane, compiled for all lanes of a batch.

    An accelerator runs all lanes in one program. On a CPU that would be slower than one
    lane after another: the many small products of a batch are not shared out among the
    cores, and all lanes wait for the slowest. There the program is for one lane, and each
    core takes the next lane when it is free.

    Arguments:
        fn: a function of one lane.
        axes: how many leading axes each of its arguments has in a batch: 2 for (data set,
            chain), 1 for (data set,), 0 for a value that all lanes share.
        seconds: where to add up the seconds of compiling and running.
        effort: how much time to spend on compiling.
        most: largest number of lanes that run at the same time.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        axes: tuple[int, ...],
        seconds: dict[str, float],
        *,
        effort: Effort,
        most: int,
    ):
        self._axes = axes
        self._seconds = seconds
        self._apart = one_lane_per_core()
        self._most = most
        self._compiled = Compiled(fn if self._apart else in_batch(fn, axes), seconds, effort=effort)

    def prepare(self, *args: Any) -> Any:
        """Begin to compile for arguments of these shapes, and return the shapes of the
        result.
        """
        if not self._apart:
            return self._compiled.prepare(*args)
        one = [
            jax.tree.map(lambda v, k=k: jax.ShapeDtypeStruct(v.shape[k:], v.dtype), a)
            for a, k in zip(args, self._axes, strict=True)
        ]
        lanes = _lanes(args, self._axes)
        return jax.tree.map(
            lambda v: jax.ShapeDtypeStruct((*lanes, *v.shape), v.dtype),
            self._compiled.prepare(*one),
        )

    def wait(self) -> None:
        """Wait until the program is compiled."""
        self._compiled.wait()

    @property
    def at_once(self) -> int:
        """The number of lanes that run at the same time."""
        return 1 if self._compiled.waits_for_threads else self._most

    def __call__(self, *args: Any) -> Any:
        """Return the result, an ``Apart`` where each core runs one lane; arguments may be
        ``Apart`` too.
        """
        if not self._apart:
            return self._compiled(*args)
        lanes = _lanes(args, self._axes)
        split = [apart(a, k, lanes).each for a, k in zip(args, self._axes, strict=True)]
        each = list(zip(*split, strict=True))
        program = self._compiled.program(*each[0])
        begun = time.perf_counter()
        with one_thread(), _ALONE if self._compiled.waits_for_threads else nullcontext():
            found = _run(program, each, min(self.at_once, len(each)))
        self._seconds["run"] += time.perf_counter() - begun
        return Apart(found, lanes)


def in_batch(fn: Callable[..., Any], axes: tuple[int, ...]) -> Callable[..., Any]:
    """Return a function of all lanes at once.

    Arguments:
        fn: a function of one lane.
        axes: how many leading axes its arguments have in a batch, as in ``Lanes``.
    """

    def run(*args: Any) -> Any:
        sets, chains = _lanes(args, axes)

        def flat(value: Any, axes: int) -> Any:
            # one axis for all lanes, because each vmap is another pass over the whole
            # program while it is traced
            if axes == 2:
                return value.reshape(sets * chains, *value.shape[2:])
            return jnp.repeat(value, chains, axis=0) if axes == 1 else value

        lanes = [jax.tree.map(partial(flat, axes=k), a) for a, k in zip(args, axes, strict=True)]
        if sets * chains == 1:  # products in a batch of one are slower than without
            one = [
                jax.tree.map(lambda v: v[0], a) if k else a
                for a, k in zip(lanes, axes, strict=True)
            ]
            found = jax.tree.map(lambda v: v[None], fn(*one))
        else:
            found = jax.vmap(fn, [0 if k else None for k in axes])(*lanes)
        return jax.tree.map(lambda v: v.reshape(sets, chains, *v.shape[1:]), found)

    return run


def _lanes(args: Any, axes: tuple[int, ...]) -> tuple[int, int]:
    """Return the numbers of data sets and chains."""
    (first, *_) = (
        leaf for a, k in zip(args, axes, strict=True) if k == 2 for leaf in jax.tree.leaves(a)
    )
    return first.lanes if isinstance(first, Apart) else first.shape[:2]


def _run(program: Any, lanes: list[Any], workers: int) -> list[Any]:
    """Run a program for every lane, and return the results in the order of the lanes.

    Arguments:
        program: the compiled function of one lane.
        lanes: the arguments of each lane.
        workers: number of lanes that run at the same time.
    """
    found: list[Any] = [None] * len(lanes)
    todo = deque(range(len(lanes)))

    def work() -> None:
        with jax.enable_x64(True):  # a setting of each thread
            while True:
                try:
                    k = todo.popleft()
                except IndexError:
                    return
                found[k] = jax.block_until_ready(program(*lanes[k]))

    others: list[Future[None]] = []
    try:
        for _ in range(workers - 1):
            others.append(_workers().submit(work))
        work()
        for future in others:
            if not future.cancel():  # it has begun, or is done
                future.result()
    finally:  # after an error or an interrupt no further lane begins
        todo.clear()
    return found


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="lane")
