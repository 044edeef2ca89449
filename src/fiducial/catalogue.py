"""Finds methods and problems by name, by looking into their folders.

A new file is enough: ``problems/heat.py`` with a function ``heat(...) -> Problem`` is
the problem ``heat``, and a class derived from ``AbstractMethod`` in a file of
``methods/`` is a method under its own ``name``. Underscores in file names read as
hyphens."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from .methods.base import AbstractMethod
from .noise.base import AbstractNoise
from .posing.problem import Problem

DEFAULT_METHODS = ("efi-direct", "pinn")
"""Best first: the method used when none is named is the first of these that can
serve the problem.
"""


def _modules(folder: str) -> dict[str, Any]:
    package = importlib.import_module(f"{__package__}.{folder}")
    names = sorted(
        m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")
    )
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}


def methods() -> dict[str, type[AbstractMethod]]:
    """All methods by name.

    Example:
        >>> "pinn" in methods()
        True
    """
    return {
        cls.name: cls
        for module in _modules("methods").values()
        for cls in _classes(module, AbstractMethod)
    }


def problems() -> dict[str, Callable[..., Problem]]:
    """All ready problems by name: functions whose keywords are the problem's options.

    Example:
        >>> "poisson" in problems()
        True
    """
    return {
        name.replace("_", "-"): getattr(module, name)
        for name, module in _modules("problems").items()
    }


def noise_models() -> dict[str, type]:
    """All noise models by class name."""

    return {
        cls.__name__: cls
        for module in _modules("noise").values()
        for cls in _classes(module, AbstractNoise)
    }


def _classes(module: Any, base: type) -> list[Any]:
    own = [
        c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__
    ]
    return [c for c in own if issubclass(c, base) and not inspect.isabstract(c)]


def method(name: str, **settings: Any) -> AbstractMethod:
    """A method by name, with settings."""
    if name == "pinn-paper" or name.startswith("paper-") or "preset" in settings:
        old = "pinn" if "pinn" in name else name.removeprefix("paper-")
        raise ValueError(
            f"the paper's methods take its settings for a problem: write"
            f' fiducial.paper.{old.replace("-", "_")}("poisson"), or on the command line --method'
            f" paper-{old}"
        )
    return _make("method", methods(), name, settings)


def problem(name: str, **options: Any) -> Problem:
    """A ready problem by name, with options.

    Example:
        >>> problem("poisson", sd=0.1).name
        'poisson'
    """
    made: Problem = _make("problem", problems(), name, options)
    if made.options is not None:
        return made
    # so that a saved result can rebuild its problem
    known = inspect.signature(problems()[name]).parameters.values()
    return made.replace(options={p.name: options.get(p.name, p.default) for p in known})


def default_method(problem: Problem | None = None) -> AbstractMethod:
    """The method used when none is named: the first of ``DEFAULT_METHODS`` that can
    serve the problem.
    """
    chosen = [method(name) for name in DEFAULT_METHODS]
    for candidate in chosen[:-1]:
        try:
            if problem is not None:
                candidate.check(problem)
        except ValueError:
            continue
        return candidate
    return chosen[-1]


def _make(kind: str, known: dict[str, Any], name: str, settings: dict[str, Any]) -> Any:
    if name not in known:
        raise ValueError(f"no {kind} called '{name}'; there are {', '.join(sorted(known))}")
    accepted = inspect.signature(known[name]).parameters
    stray = [s for s in settings if s not in accepted]
    if stray:
        raise ValueError(
            f"{kind} '{name}' has no setting '{stray[0]}'; it has {', '.join(accepted) or 'none'}"
        )
    return known[name](**settings)
