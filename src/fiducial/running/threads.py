"""Threads of linear algebra.

On a CPU, XLA factorises matrices with SciPy's BLAS, whose threads wait by spinning and so
take cores from the threads of the compiled program. Matrices of a network's size are
factorised faster by one thread, and two processes on the same cores can delay each other
by minutes."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
"""Held while ``_limits`` is read and changed."""
_limits: list[Any] = []
"""An entry for each ``one_thread`` that has been entered and not left: the limit on BLAS
for the first of them, None for the others."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of all these contexts is left."""
    with _LOCK:
        _limits.append(None if _limits else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _limits.pop()
            if limit is not None:
                limit.restore_original_limits()


def factors_batches(jaxpr: Any) -> bool:
    """Return whether a program factors or solves batches of matrices.

    On a CPU such an operation hands its matrices to XLA's threads, and blocks one of them
    until they are done (jaxlib 0.10). When programs that run at the same time block all
    threads, none of them ever ends."""
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
    import scipy.linalg  # noqa: F401 - loads the library that is to be limited

    return ThreadpoolController()
