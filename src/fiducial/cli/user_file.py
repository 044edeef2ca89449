"""A user's file: loaded as a module of its own name, and the objects in it."""

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>.*))?", flags=re.DOTALL)


def split_file(spec: str) -> tuple[Path, str] | None:
    """Return the path and the name in ``FILE.py`` or ``FILE.py:NAME``; None for other text.

    Example:
        >>> split_file("my.py:decay")[1], split_file("my.py")[1], split_file("poisson")
        ('decay', '', None)
    """
    match = _FILE.fullmatch(spec)
    return None if match is None else (Path(match["path"]), match["name"] or "")


def load_module(path: Path) -> ModuleType:
    """Return a user's file as a module.

    The name of the module contains a digest of the file, so that a file called
    ``numpy.py`` or ``signal.py`` replaces no other module, and so that the file is run
    once, however often the command refers to it.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    whole = path.resolve()
    digest = hashlib.sha256(str(whole).encode() + whole.read_bytes()).hexdigest()[:12]
    name = f"user_file_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, whole)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    # Files beside it can be imported, also later by its functions. They come last, so that
    # they replace no installed module.
    if str(whole.parent) not in sys.path:
        sys.path.append(str(whole.parent))
    try:
        spec.loader.exec_module(module)
    except (ValueError, TypeError, OSError):
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == whole]
        where = f", line {lines[-1]}" if lines else ""
        raise ValueError(f"{path}{where}: {type(error).__name__}: {error}") from error
    return module


def object_in_file(
    path: Path, name: str, *, kind: str, is_one: Callable[[ModuleType, Any], bool], example: str
) -> tuple[Any, str]:
    """Return an object of a user's file, and what to call it in messages.

    Arguments:
        path: the file.
        name: the name of the object. Without one it is the object that is called like its
            kind, or the only one of its kind.
        kind: the kind of object that is meant, such as ``"problem"``.
        is_one: tells whether an object of the module is of this kind.
        example: a line for the file that makes one.
    """
    module = load_module(path)
    known = [key for key, value in vars(module).items() if is_one(module, value)]
    if not name and not hasattr(module, kind):
        if not known:
            raise ValueError(
                f"{path} has no {kind}; write {example}, or name a function that makes one:"
                f" {path}:NAME"
            )
        if len(known) > 1:
            raise ValueError(
                f"{path} has {len(known)} {kind}s ({', '.join(known)}); name one: {path}:{known[0]}"
            )
        (name,) = known
    name = name or kind
    if not hasattr(module, name):
        raise ValueError(f"{path} has no '{name}'; it has {', '.join(known) or f'no {kind}'}")
    return getattr(module, name), f"{path}:{name}"
