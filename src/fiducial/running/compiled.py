"""Functions compiled once per shape of their arguments, with the seconds that they
take.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax

from ..device import Effort, compile_program
from .threads import factors_batches, one_thread

_COMPILERS = ThreadPoolExecutor(thread_name_prefix="compile")


class Compiled:
    """A function compiled once per shape of its arguments, with the seconds of
    compiling and running added up.

    Arguments:
        fn: a function of arrays.
        seconds: where to add them, under ``compile`` and ``run``.
        cheap: run a new program once more and count that as compiling, because its
            first run loads it onto the device.
        effort: how thoroughly to compile it.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        seconds: dict[str, float],
        *,
        cheap: bool = False,
        effort: Effort = Effort.RUNS_OFTEN,
    ):
        self._fn, self._seconds, self._cheap, self._effort = fn, seconds, cheap, effort
        self._programs: dict[Any, Future[Any]] = {}
        self._results: dict[Any, Any] = {}
        self.waits_for_threads = False
        """Whether a program may wait for threads that others hold, so that it must
        run by itself (see ``factors_batches``).
        """

    def prepare(self, *args: Any) -> Any:
        """Begin to compile for arguments of these shapes, beside whatever else is being
        traced or compiled.

        Returns:
            The shapes of the result.
        """
        begun, shapes = time.perf_counter(), _shapes(args)
        if shapes in self._results:
            return self._results[shapes]
        # float32 means float32: a GPU would multiply with fewer digits, in which
        # energies and second derivatives drown
        with jax.default_matmul_precision("highest"):
            traced = jax.jit(self._fn).trace(*args)
            lowered = traced.lower()
        self.waits_for_threads |= factors_batches(traced.jaxpr)
        self._programs[shapes] = _COMPILERS.submit(compile_program, lowered, self._effort)
        self._results[shapes] = lowered.out_info
        self._seconds["compile"] += time.perf_counter() - begun
        return self._results[shapes]

    def wait(self) -> None:
        """Until all that was prepared is compiled."""
        begun = time.perf_counter()
        for program in self._programs.values():
            program.result()
        self._seconds["compile"] += time.perf_counter() - begun

    def program(self, *args: Any) -> Any:
        """The program for arguments of these shapes."""
        shapes = _shapes(args)
        if shapes not in self._programs:
            self.prepare(*args)
        begun = time.perf_counter()
        found = self._programs[shapes].result()
        self._seconds["compile"] += time.perf_counter() - begun
        return found

    def __call__(self, *args: Any) -> Any:
        new = self._cheap and _shapes(args) not in self._programs
        program = self.program(*args)
        with one_thread():
            begun = time.perf_counter()
            if new:
                jax.block_until_ready(program(*args))
                self._seconds["compile"] += time.perf_counter() - begun
                begun = time.perf_counter()
            result = jax.block_until_ready(program(*args))
        self._seconds["run"] += time.perf_counter() - begun
        return result


def _shapes(args: Any) -> Any:
    return jax.tree.structure(args), *((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(args))
