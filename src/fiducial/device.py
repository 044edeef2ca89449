"""How programs are compiled, and how they branch and loop on a device.

On a CPU, programs of hundreds of small kernels take longer to compile than to run,
unless they run often. On a GPU those that run often are mostly kernels too small to
fill it, so that as many of these as do not need each other run at the same time. The
effort changes no number by more than rounding. What would change numbers is switched
off for every program."""

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
    """As little as can be."""
    RUNS_SELDOM = enum.auto()
    """Less, for some hundred runs, each of which is mostly linear algebra."""
    RUNS_OFTEN = enum.auto()
    """All that the compiler can do."""


_ON_CPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_ONCE: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0},
    Effort.RUNS_SELDOM: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1},
}
_ON_GPU: dict[Effort, dict[str, Any]] = {
    Effort.RUNS_OFTEN: {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"},
}
_WITHOUT_YNNPACK: dict[str, Any] = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""On a CPU jaxlib 0.10.2 hands products and sums to a library, YNNPACK, unless told not
to. Its numbers are wrong for more than 16,384 small products that are summed up (jax
issue 39103), and for products in programs that run at the same time."""


def compile_program(lowered: Any, effort: Effort) -> Any:
    """A lowered function, compiled."""
    own = (_ON_CPU if jax.default_backend() == "cpu" else _ON_GPU).get(effort, {})
    with suppress(jax.errors.JaxRuntimeError):  # options come and go with versions of XLA
        return lowered.compile({**_always(), **own})
    return lowered.compile(_always())


def jit(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``jax.jit`` for a function that is called by itself, not within another one.

    Example:
        >>> float(jit(lambda x: 2 * x)(1.5))
        3.0
    """
    return jax.jit(fn, compiler_options=_always())


@cache
def _always() -> dict[str, Any]:
    """Options for every program, however thoroughly it is compiled; a version of XLA
    that does not know them has no need of them.
    """
    if jax.default_backend() != "cpu":
        return {}
    with suppress(jax.errors.JaxRuntimeError):
        jax.jit(lambda: 0).lower().compile(_WITHOUT_YNNPACK)
        return _WITHOUT_YNNPACK
    return {}


def run_once(fn: Callable[..., Any], *args: Any) -> Any:
    """``jax.jit(fn)(*args)`` for a program that is not needed again.

    Example:
        >>> float(run_once(lambda x: 2 * x, 1.5))
        3.0
    """
    return compile_program(jax.jit(fn).lower(*args), Effort.RUNS_ONCE)(*args)


def apply_if(needed: Bool[Array, ""], fn: Callable[[Any], Any], value: Any) -> Any:
    """``fn(value)`` where it is needed; in a batch it is skipped when none needs it,
    which ``lax.cond`` does not do.

    Example:
        >>> int(apply_if(jnp.asarray(True), lambda v: v + 1, jnp.asarray(1)))
        2
    """
    return jax.lax.while_loop(
        lambda c: c[0], lambda c: (jnp.asarray(False), fn(c[1])), (needed, value)
    )[1]


def loops_per_lane() -> bool:
    """Whether the elements of a batch are better taken one after another, as on a
    CPU: a loop then ends for each when it is done with it.
    """
    return jax.default_backend() == "cpu"


def map_elements(fn: Callable[..., Any], *batches: Any) -> Any:
    """A function with loops of its own for each element of a batch: one by one on a
    CPU, all at once on an accelerator.

    Example:
        >>> map_elements(lambda v: 2 * v, jnp.arange(3)).tolist()
        [0, 2, 4]
    """
    return (
        jax.lax.map(lambda one: fn(*one), batches) if loops_per_lane() else jax.vmap(fn)(*batches)
    )
