"""A problem by its name, or from a user's file."""

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from typing import Any

from .. import catalogue
from ..posing.problem import Problem


def find_problem(spec: str, options: dict[str, Any]) -> Problem:
    """A problem by name, or from a user's file."""
    path, _, name = spec.partition(":")
    if not path.endswith(".py"):
        try:
            return catalogue.problem(spec, **options)
        except TypeError as error:
            words = [f"{key}={value}" for key, value in options.items() if isinstance(value, str)]
            raise ValueError(
                f"--set {' '.join(words)}: is a number meant? ({error})" if words else error
            ) from error
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    module = _import(Path(path))
    found = {n: v for n, v in vars(module).items() if isinstance(v, Problem)}
    if not name:
        if "problem" in vars(module):
            name = "problem"
        elif len(found) == 1:
            name = next(iter(found))
        elif not found:
            raise ValueError(
                f"{path} has no problem; write problem = fiducial.Problem(...), or name a function"
                f" that makes one: {path}:NAME"
            )
        else:
            raise ValueError(
                f"{path} has {len(found)} problems ({', '.join(found)}); name one: {path}:NAME"
            )
    if not hasattr(module, name):
        raise ValueError(f"{path} has no '{name}'; it has {', '.join(found) or 'no problem'}")
    value = getattr(module, name)
    if callable(value):
        accepted = inspect.signature(value).parameters
        stray = [o for o in options if o not in accepted]
        if stray:
            raise ValueError(
                f"{path}:{name} has no option '{stray[0]}'; it has {', '.join(accepted) or 'none'}"
            )
        value = value(**options)
    elif options:
        raise ValueError(
            f"{path}:{name} is a problem without options; make it a function with keyword arguments"
            " to use --set"
        )
    if not isinstance(value, Problem):
        raise TypeError(f"{path}:{name} is {type(value).__name__}, not a Problem")
    return value if value.name != "problem" else value.replace(name=Path(path).stem)


def _import(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (ValueError, TypeError, OSError):
        raise
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename) == path.resolve()
        ]
        raise ValueError(
            f"{path}{f', line {lines[-1]}' if lines else ''}: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.pop(0)
    return module
