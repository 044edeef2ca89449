"""The catalogue: problems, methods and noise models by name, found in their folders.

A new file is enough: ``problems/heat.py`` with a function ``heat(...) -> Problem`` is
the problem ``heat``, and a class derived from ``AbstractMethod`` in a file of
``methods/`` is a method under its own ``name``. Underscores in file names read as
hyphens.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from .methods.base import AbstractMethod
from .noise.base import AbstractNoise
from .posing.problem import Problem

DEFAULT_METHODS = ("efi-direct", "pinn")
"""Methods to use when none is named, the best first: the first that can serve the
problem is taken.
"""


def _modules(folder: str) -> dict[str, Any]:
    """Return the modules of a catalogue folder by name, without underscored ones."""
    package = importlib.import_module(f"{__package__}.{folder}")
    names = sorted(
        m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")
    )
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}


def methods() -> dict[str, type[AbstractMethod]]:
    """Return all methods by name.

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
    """Return all ready problems by name: functions whose keywords are their options.

    Example:
        >>> "poisson" in problems()
        True
    """
    return {
        name.replace("_", "-"): getattr(module, name)
        for name, module in _modules("problems").items()
    }


def noise_models() -> dict[str, type]:
    """Return all noise models by class name.

    Example:
        >>> "Gaussian" in noise_models()
        True
    """
    return {
        cls.__name__: cls
        for module in _modules("noise").values()
        for cls in _classes(module, AbstractNoise)
    }


def _classes(module: Any, base: type) -> list[Any]:
    """Return the classes derived from ``base`` that a module defines itself."""
    own = [
        c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__
    ]
    return [c for c in own if issubclass(c, base) and not inspect.isabstract(c)]


def method(name: str, **settings: Any) -> AbstractMethod:
    """Return a method by name, with settings.

    Example:
        >>> method("pinn", adam_steps=500).adam_steps
        500
    """
    if "preset" in settings:
        raise _moved(name)
    return call_with(method_class(name), settings, f"method '{name}'")


def method_class(name: str) -> type[AbstractMethod]:
    """Return the class of a method by name."""
    if name == "pinn-paper" or name.startswith("paper-"):
        raise _moved(name)
    return _one_of(methods(), name, "method")


def _moved(name: str) -> ValueError:
    """Return the error that says where a method of the paper is."""
    own = "pinn" if name == "pinn-paper" else name.removeprefix("paper-")
    return ValueError(
        f"the paper's methods take its settings for a problem: write"
        f' fiducial.paper.{own.replace("-", "_")}("poisson"), or on the command line --method'
        f" paper-{own}"
    )


def problem(name: str, **options: Any) -> Problem:
    """Return a ready problem by name, with options.

    Example:
        >>> problem("poisson", sd=0.1).name
        'poisson'
    """
    make = _one_of(problems(), name, "problem")
    made: Problem = call_with(make, options, f"problem '{name}'")
    if made.options is not None:
        return made
    # so that a saved result can rebuild its problem
    known = inspect.signature(make).parameters.values()
    return made.replace(options={p.name: options.get(p.name, p.default) for p in known})


def default_method(problem: Problem | None = None) -> AbstractMethod:
    """Return the method to use when none is named: the first of ``DEFAULT_METHODS``
    that can serve the problem.
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


def call_with(make: Callable[..., Any], settings: dict[str, Any], label: str) -> Any:
    """Return what a class or function makes of settings, or raise a ``ValueError`` that
    lists those it has.

    Arguments:
        make: the class or function.
        settings: keyword arguments for it.
        label: what to call it in a message.
    """
    accepted = inspect.signature(make).parameters
    unknown = [name for name in settings if name not in accepted]
    if unknown:
        raise ValueError(
            f"{label} has no setting '{unknown[0]}'; it has {', '.join(accepted) or 'none'}"
        )
    return make(**settings)


def _one_of(known: dict[str, Any], name: str, kind: str) -> Any:
    if name not in known:
        raise ValueError(f"no {kind} called '{name}'; there are {', '.join(sorted(known))}")
    return known[name]
