"""Linear algebra and threads.

On a CPU, factorisations are those of SciPy's BLAS. Its threads wait by spinning and are
in the way of the compiled program's own: matrices of a network's size are done sooner
by one, and two processes on the same cores can hold each other up for minutes."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
from threadpoolctl import ThreadpoolController

_HELD = threading.Lock()
_inside: list[Any] = []
"""The limit for each who has entered ``one_thread`` and not left; the first one's is
real.
"""


@contextmanager
def one_thread() -> Iterator[None]:
    """While anyone has entered this, BLAS has one thread; afterwards as many as
    before.
    """
    with _HELD:
        _inside.append(None if _inside else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _HELD:
            limit = _inside.pop()
            if limit is not None:
                limit.restore_original_limits()


def factors_batches(jaxpr: Any) -> bool:
    """Whether a program factors or solves batches of matrices.

    On a CPU such an operation hands its matrices to XLA's threads and holds one of them
    until they are done (jaxlib 0.10). When all threads are held so, as programs that
    run at the same time can bring about, they wait for ever."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _factorisations() and any(
            math.prod(v.aval.shape[:-2]) > 1 for v in eqn.invars
        ):
            return True
        inner = jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda v: hasattr(v, "eqns"))
        if any(factors_batches(v) for v in inner if hasattr(v, "eqns")):
            return True
    return False


@cache
def _factorisations() -> frozenset[str]:
    return frozenset(p.name for name, p in vars(jax.lax.linalg).items() if name.endswith("_p"))


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - loads the library that is to be limited, which takes a moment

    return ThreadpoolController()
