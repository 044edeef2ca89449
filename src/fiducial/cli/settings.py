"""Settings on the command line: ``--set key=value``."""

import json
from typing import Any

from .. import catalogue, paper
from ..methods.base import AbstractMethod


def split_settings(
    pairs: list[str], methods: list[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the options of the problem, and the settings of each method.

    ``key=value`` is an option of the problem, ``method.key=value`` a setting of all
    methods, ``NAME.key=value`` a setting of one.
    """
    options: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {name: {} for name in methods}
    for pair in pairs:
        key, text = key_and_value(pair, "--set")
        owner, dot, setting = key.partition(".")
        if not dot:
            options[key] = parse_value(text)
        elif owner == "method" or owner in settings:
            for name in methods if owner == "method" else [owner]:
                settings[name][setting] = parse_value(text)
        else:
            raise ValueError(
                f"--set {pair}: '{owner}' is not a method of this run; write method.{setting}=..."
                f" or {methods[0]}.{setting}=..."
            )
    return options, settings


def find_method(name: str, problem: str, settings: dict[str, Any]) -> AbstractMethod:
    """Return a method by name; a method of the paper has the paper's settings for the
    problem where ``settings`` says nothing else.
    """
    if name in paper.methods():
        return paper.method(name, problem, **settings)
    return catalogue.method(name, **settings)


def key_and_value(text: str, option: str) -> tuple[str, str]:
    """Return both sides of ``key=value``."""
    key, equals, value = text.partition("=")
    if not (equals and key):
        raise ValueError(f"{option} {text}: write key=value, such as sd=0.1")
    return key, value


def parse_value(text: str) -> Any:
    """Return a number, a truth value or None, in JSON's spelling or Python's; else the text."""
    lower = text.lower()
    spelled = {"none": "null", "true": "true", "false": "false"}.get(lower, text)
    try:
        return json.loads(spelled)
    except ValueError:
        return text
