"""Finds what the command names: problems, methods, and objects in settings, each by a name
of the catalogue or in a user's file.
"""

import inspect
from types import ModuleType
from typing import Any

from .. import catalogue, paper
from ..methods.base import AbstractMethod
from ..posing.problem import Problem
from .user_file import object_in_file, split_file


def find_problem(spec: str, options: dict[str, Any]) -> Problem:
    """Return a problem by its name, or from ``FILE.py`` or ``FILE.py:NAME``.

    Arguments:
        spec: the name or the file.
        options: options of the problem, for a ready problem or a function in the file.
    """
    place = split_file(spec)
    if place is None:
        return _ready_problem(spec, options)
    path, name = place
    value, label = object_in_file(
        path,
        name,
        kind="problem",
        is_one=lambda _, value: isinstance(value, Problem),
        example="problem = fiducial.Problem(...)",
    )
    if callable(value):
        value = catalogue.call_with(value, options, label)
    elif options:
        raise ValueError(
            f"{label} is a problem without options; make it a function with keyword arguments to"
            " use --set"
        )
    if not isinstance(value, Problem):
        raise TypeError(f"{label} is {type(value).__name__}, not a Problem")
    return value if value.name != "problem" else value.replace(name=path.stem)


def find_method(spec: str) -> type[AbstractMethod] | AbstractMethod:
    """Return a method by its name, or from ``FILE.py`` or ``FILE.py:NAME``: a class, or in
    a user's file also a method with settings of its own.
    """
    place = split_file(spec)
    if place is None:
        return paper.methods().get(spec) or catalogue.method_class(spec)
    value, label = object_in_file(
        *place, kind="method", is_one=_is_method, example="class Mine(fiducial.AbstractMethod)"
    )
    if not isinstance(value, AbstractMethod) and not _is_method_class(value):
        raise TypeError(f"{label} is not a method; derive it from fiducial.AbstractMethod")
    return value


def make_method(
    found: type[AbstractMethod] | AbstractMethod, settings: dict[str, Any], problem: Problem
) -> AbstractMethod:
    """Return a method with settings, made of what ``find_method`` found; a method of the
    paper has the paper's settings for the problem where ``settings`` says nothing else.
    """
    if found in paper.methods().values():
        return paper.method(found.name, problem.name, **settings)
    if not isinstance(found, AbstractMethod):
        return catalogue.call_with(found, settings, f"method '{found.name}'")
    if settings:
        raise ValueError(
            f"--set {found.name}.{next(iter(settings))}=...: the file gives '{found.name}' with its"
            " settings; name its class to set others"
        )
    return found


def find_value(value: Any) -> Any:
    """Return the value of a setting; for ``FILE.py:NAME`` the object of this name.

    A class, such as a kernel or a noise model of your own, is called without arguments.
    """
    place = split_file(value) if isinstance(value, str) else None
    if place is None or not place[1]:
        return value
    found, _ = object_in_file(
        *place, kind="object", is_one=lambda *_: False, example="a class or an object"
    )
    return found() if inspect.isclass(found) else found


def _is_method(module: ModuleType, value: Any) -> bool:
    own = _is_method_class(value) and value.__module__ == module.__name__
    return own or isinstance(value, AbstractMethod)


def _is_method_class(value: Any) -> bool:
    return (
        inspect.isclass(value)
        and issubclass(value, AbstractMethod)
        and not inspect.isabstract(value)
    )


def _ready_problem(name: str, options: dict[str, Any]) -> Problem:
    try:
        return catalogue.problem(name, **options)
    except TypeError as error:
        words = [f"{key}={value}" for key, value in options.items() if isinstance(value, str)]
        if not words:
            raise ValueError(error) from error
        raise ValueError(f"--set {' '.join(words)}: is a number meant? ({error})") from error
