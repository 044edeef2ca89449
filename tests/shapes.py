"""Checks of array shapes and types at run time, for the import hook in conftest.py."""

import types
import typing
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import jax
import numpy as np
from beartype import beartype
from jaxtyping import AbstractArray

_ARRAY = jax.Array | np.ndarray | np.generic


def check_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that checks its arguments and its result against its annotations.

    NumPy arrays are accepted wherever JAX arrays are annotated, and numbers wherever these may
    be scalars, as JAX accepts them. Constructors are left out: they check what users give, with
    messages of their own.
    """
    if function.__name__ == "__init__":
        return function
    function.__annotations__ = {
        name: _widened(hint) for name, hint in function.__annotations__.items()
    }
    return beartype(function)


def _widened(hint: Any) -> Any:
    if hint is jax.Array:
        return _ARRAY | float | int
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        if hint.array_type is not jax.Array:
            return hint
        shaped = hint.dtype[_ARRAY, hint.dim_str]
        return shaped if hint.dim_str else shaped | float | int
    if typing.get_origin(hint) is Callable:
        return hint  # the arguments of a function argument are not checked
    arguments = tuple(_widened(argument) for argument in typing.get_args(hint))
    if arguments == typing.get_args(hint):
        return hint
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return reduce(or_, arguments)
    if isinstance(hint, types.GenericAlias):
        return types.GenericAlias(typing.get_origin(hint), arguments)
    return hint
