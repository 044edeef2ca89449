"""Functions compiled once per shape of their arguments, with the seconds that this
takes.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax

from ..device import Effort, compile_program
from .threads import factors_batches, one_thread

_COMPILERS = ThreadPoolExecutor(thread_name_prefix="compile")
"""Threads that compile programs at the same time."""


class Compiled:
    """A function compiled once per shape of its arguments, which adds up the seconds of
    compiling and of running.

    Arguments:
        fn: a function of arrays.
        seconds: where to add the seconds, under ``compile`` and ``run``.
        warm_up: run a new program once more and count that as compiling, because its
            first run loads it onto the device.
        effort: how much time to spend on compiling.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        seconds: dict[str, float],
        *,
        warm_up: bool = False,
        effort: Effort = Effort.RUNS_OFTEN,
    ):
        self._fn = fn
        self._seconds = seconds
        self._warm_up = warm_up
        self._effort = effort
        self._programs: dict[Any, Future[Any]] = {}
        self._results: dict[Any, Any] = {}
        self.waits_for_threads = False
        """Whether a program may wait for threads that other programs hold, so that it
        must run alone (see ``factors_batches``).
        """

    def prepare(self, *args: Any) -> Any:
        """Begin to compile for arguments of these shapes, in a thread of its own.

        Returns:
            The shapes of the result.
        """
        begun = time.perf_counter()
        shapes = _shapes(args)
        if shapes in self._results:
            return self._results[shapes]
        # by default a GPU multiplies float32 with fewer digits, which would lose energies
        # and second derivatives
        with jax.default_matmul_precision("highest"):
            traced = jax.jit(self._fn).trace(*args)
            lowered = traced.lower()
        self.waits_for_threads |= factors_batches(traced.jaxpr)
        self._programs[shapes] = _COMPILERS.submit(compile_program, lowered, self._effort)
        self._results[shapes] = lowered.out_info
        self._seconds["compile"] += time.perf_counter() - begun
        return self._results[shapes]

    def wait(self) -> None:
        """Wait until everything prepared is compiled."""
        begun = time.perf_counter()
        for program in self._programs.values():
            program.result()
        self._seconds["compile"] += time.perf_counter() - begun

    def program(self, *args: Any) -> Any:
        """Return the program for arguments of these shapes."""
        shapes = _shapes(args)
        if shapes not in self._programs:
            self.prepare(*args)
        begun = time.perf_counter()
        found = self._programs[shapes].result()
        self._seconds["compile"] += time.perf_counter() - begun
        return found

    def __call__(self, *args: Any) -> Any:
        must_warm_up = self._warm_up and _shapes(args) not in self._programs
        program = self.program(*args)
        with one_thread():
            begun = time.perf_counter()
            if must_warm_up:
                jax.block_until_ready(program(*args))
                self._seconds["compile"] += time.perf_counter() - begun
                begun = time.perf_counter()
            result = jax.block_until_ready(program(*args))
        self._seconds["run"] += time.perf_counter() - begun
        return result


def _shapes(args: Any) -> Any:
    return jax.tree.structure(args), *((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(args))
