"""A problem by its name, or from a user's file."""

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import catalogue
from ..posing.problem import Problem


def find_problem(spec: str, options: dict[str, Any]) -> Problem:
    """Return a problem by its name, or from ``FILE.py`` or ``FILE.py:name``.

    Arguments:
        spec: the name or the file.
        options: options of the problem, for a ready problem or a function in the file.
    """
    path, _, name = spec.partition(":")
    if not path.endswith(".py"):
        return _ready_problem(spec, options)
    module = load_module(Path(path))
    name = name or _only_problem(module, path)
    if not hasattr(module, name):
        known = ", ".join(_problems_in(module)) or "no problem"
        raise ValueError(f"{path} has no '{name}'; it has {known}")
    value = getattr(module, name)
    if callable(value):
        value = _call(value, options, f"{path}:{name}")
    elif options:
        raise ValueError(
            f"{path}:{name} is a problem without options; make it a function with keyword arguments"
            " to use --set"
        )
    if not isinstance(value, Problem):
        raise TypeError(f"{path}:{name} is {type(value).__name__}, not a Problem")
    return value if value.name != "problem" else value.replace(name=Path(path).stem)


def load_module(path: Path) -> ModuleType:
    """Return a user's file as a module, under a name that no other module has."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    whole = path.resolve()
    digest = hashlib.sha256(str(whole).encode()).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_{digest}", whole)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    # files beside it can be imported, but do not replace installed modules
    sys.path.append(str(whole.parent))
    try:
        spec.loader.exec_module(module)
    except (ValueError, TypeError, OSError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == whole]
        where = f", line {lines[-1]}" if lines else ""
        raise ValueError(f"{path}{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(whole.parent))
    return module


def _ready_problem(name: str, options: dict[str, Any]) -> Problem:
    try:
        return catalogue.problem(name, **options)
    except TypeError as error:
        words = [f"{key}={value}" for key, value in options.items() if isinstance(value, str)]
        if not words:
            raise ValueError(error) from error
        raise ValueError(f"--set {' '.join(words)}: is a number meant? ({error})") from error


def _problems_in(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, Problem)]


def _only_problem(module: ModuleType, path: str) -> str:
    """Return ``problem``, or the name of the only problem in a file."""
    found = _problems_in(module)
    if hasattr(module, "problem"):
        return "problem"
    if not found:
        raise ValueError(
            f"{path} has no problem; write problem = fiducial.Problem(...), or name a function that"
            f" makes one: {path}:NAME"
        )
    if len(found) > 1:
        raise ValueError(
            f"{path} has {len(found)} problems ({', '.join(found)}); name one: {path}:NAME"
        )
    return found[0]


def _call(make: Callable[..., Any], options: dict[str, Any], label: str) -> Any:
    accepted = inspect.signature(make).parameters
    stray = [name for name in options if name not in accepted]
    if stray:
        known = ", ".join(accepted) or "none"
        raise ValueError(f"{label} has no option '{stray[0]}'; it has {known}")
    return make(**options)
