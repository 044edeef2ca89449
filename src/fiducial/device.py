"""How programs are compiled, and how they branch and loop on a device.

On a CPU, a program of hundreds of small kernels takes longer to compile than to run,
unless it runs often, so programs that run seldom are compiled with less effort. On a GPU,
a program that runs often consists mostly of kernels too small to fill the device, so
independent kernels run at the same time. The effort changes numbers by rounding errors
only. A library that computes wrong numbers is switched off for every program."""

import enum
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


class Effort(enum.Enum):
    """How much time to spend on compiling."""

    RUNS_ONCE = enum.auto()
    """For a program that runs once: as little as possible."""
    RUNS_SELDOM = enum.auto()
    """For a program of mostly linear algebra that runs some hundred times: less than the
    compiler's default.
    """
    RUNS_OFTEN = enum.auto()
    """For all other programs: the compiler's default."""


_ON_CPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_ONCE: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0},
    Effort.RUNS_SELDOM: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1},
}
_ON_GPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_OFTEN: {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"},
}
_WITHOUT_YNNPACK: dict[str, Any] = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""Compiler options that switch off YNNPACK, to which jaxlib 0.10.2 hands products and sums
on a CPU. Its numbers are wrong for sums of more than 16,384 small products (jax issue
39103), and for products in programs that run at the same time."""


def compile_program(lowered: Any, effort: Effort) -> Any:
    """Compile a lowered function.

    Arguments:
        lowered: the function, as ``jax.jit(fn).lower(...)`` gives it.
        effort: how much time to spend.
    """
    own = (_ON_CPU if jax.default_backend() == "cpu" else _ON_GPU).get(effort, {})
    with suppress(jax.errors.JaxRuntimeError):  # not every version of XLA knows all options
        return lowered.compile({**_always(), **own})
    return lowered.compile(_always())


def jit(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled like ``jax.jit`` does, with the options for every program.

    It is for a function that is called directly, not within another compiled one.

    Example:
        >>> float(jit(lambda x: 2 * x)(1.5))
        3.0
    """
    return jax.jit(fn, compiler_options=_always())


@cache
def _always() -> dict[str, Any]:
    """Return the options for every program; none where XLA does not know them, since such
    a version has no YNNPACK.
    """
    if jax.default_backend() != "cpu":
        return {}
    with suppress(jax.errors.JaxRuntimeError):
        jax.jit(lambda: 0).lower().compile(_WITHOUT_YNNPACK)
        return _WITHOUT_YNNPACK
    return {}


def run_once(fn: Callable[..., Any], *args: Any) -> Any:
    """Return ``jax.jit(fn)(*args)``, compiled with the least effort, for a program that is
    not needed again.

    Example:
        >>> float(run_once(lambda x: 2 * x, 1.5))
        3.0
    """
    return compile_program(jax.jit(fn).lower(*args), Effort.RUNS_ONCE)(*args)


def apply_if(needed: Bool[Array, ""], fn: Callable[[Any], Any], value: Any) -> Any:
    """Return ``fn(value)`` if it is needed, and ``value`` otherwise.

    In a batch ``fn`` is skipped when no element needs it, which ``lax.cond`` does not do.

    Example:
        >>> int(apply_if(jnp.asarray(True), lambda v: v + 1, jnp.asarray(1)))
        2
    """
    return jax.lax.while_loop(
        lambda c: c[0], lambda c: (jnp.asarray(False), fn(c[1])), (needed, value)
    )[1]


def loops_per_lane() -> bool:
    """Return whether elements of a batch are better computed one after another, as on a
    CPU, where the loop of each element then ends on its own.
    """
    return jax.default_backend() == "cpu"


def map_elements(fn: Callable[..., Any], *batches: Any) -> Any:
    """Apply a function that contains loops to each element of a batch: one by one on a
    CPU, all at once on an accelerator.

    Example:
        >>> map_elements(lambda v: 2 * v, jnp.arange(3)).tolist()
        [0, 2, 4]
    """
    return (
        jax.lax.map(lambda one: fn(*one), batches) if loops_per_lane() else jax.vmap(fn)(*batches)
    )
