"""Linear algebra on one thread.

On a CPU, factorisations are those of SciPy's BLAS. Its threads wait by spinning and are in the way of the compiled
program's own: matrices of a network's size are done sooner by one, and two processes on the same cores can
hold each other up for minutes.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While this is entered, BLAS has one thread; afterwards as many as before."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - loads the library that is to be limited, which takes a moment

    return ThreadpoolController()
