"""Representations of a solution, one a file or folder, found by themselves."""

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from .base import AbstractRepresentation


@cache
def representations_by_name() -> dict[str, type[AbstractRepresentation]]:
    """Return all representations of this folder by name.

    Example:
        >>> "network" in representations_by_name()
        True
    """
    modules = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    own = [
        c
        for m in modules
        for c in vars(m).values()
        if inspect.isclass(c) and c.__module__.startswith(m.__name__)
    ]
    return {
        c.name: c
        for c in own
        if issubclass(c, AbstractRepresentation) and not inspect.isabstract(c) and c.name
    }


def representation_of(recipe: Any) -> type[AbstractRepresentation]:
    """Return the class of representations that a recipe asks for.

    A recipe of your own names its class by an attribute ``representation``.
    """
    own = getattr(recipe, "representation", None)
    if own is not None:
        return own
    for representation in representations_by_name().values():
        if isinstance(recipe, representation.recipe):
            return representation
    raise TypeError(
        f"{recipe!r} does not say how to represent a solution; give a network such as"
        " MLP((50, 50)), or an object with an attribute `representation`"
    )
