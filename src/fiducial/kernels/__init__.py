"""Samplers of the errors, one file each."""

import importlib
import inspect
import pkgutil

from .base import AbstractKernel


def known() -> dict[str, type[AbstractKernel]]:
    """All samplers by name; a new file in this folder is found by itself.

    Example:
        >>> sorted(known())
        ['sghmc', 'sgld']
    """
    modules = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    own = [
        c
        for m in modules
        for c in vars(m).values()
        if inspect.isclass(c) and c.__module__ == m.__name__
    ]
    return {c.name: c for c in own if issubclass(c, AbstractKernel) and not inspect.isabstract(c)}
