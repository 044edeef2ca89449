"""Kernels, one a file: samplers that move the errors of extended fiducial inference."""

import importlib
import inspect
import pkgutil

from .base import AbstractKernel


def kernels_by_name() -> dict[str, type[AbstractKernel]]:
    """Return all kernels of this folder by name; a new file in it is found by itself.

    Example:
        >>> sorted(kernels_by_name())
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
