"""How thoroughly programs are compiled.

On a CPU, programs of hundreds of small kernels take longer to compile than to run, unless they run often. On a GPU those that
run often are mostly kernels too small to fill it, so that as many of these as do not need each other run at the same time.
The effort changes no number by more than rounding.
"""

import enum
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jax


class Effort(enum.Enum):
    """How much time to spend on compiling."""

    RUNS_ONCE = enum.auto()
    """As little as can be."""
    RUNS_SELDOM = enum.auto()
    """Less, for some hundred runs, each of which is mostly linear algebra."""
    RUNS_OFTEN = enum.auto()
    """All that the compiler can do."""


_ON_CPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_ONCE: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0},
    Effort.RUNS_SELDOM: {"xla_cpu_use_fusion_emitters": False},
}
_ON_GPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_OFTEN: {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"},
}


def compile_program(lowered: Any, effort: Effort) -> Any:
    """A lowered function, compiled."""
    options = _ON_CPU if jax.default_backend() == "cpu" else _ON_GPU
    if effort in options:
        with suppress(jax.errors.JaxRuntimeError):  # options come and go with versions of XLA
            return lowered.compile(options[effort])
    return lowered.compile()


def run_once(fn: Callable[..., Any], *args: Any) -> Any:
    """``jax.jit(fn)(*args)`` for a program that is not needed again.

    Example:
        >>> float(run_once(lambda x: 2 * x, 1.5))
        3.0
    """
    return compile_program(jax.jit(fn).lower(*args), Effort.RUNS_ONCE)(*args)
