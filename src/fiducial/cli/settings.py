"""Settings on the command line: ``--set key=value``."""

import json
from typing import Any

from .finding import find_value


def split_settings(
    pairs: list[str], methods: list[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the options of the problem, and the settings of each method.

    ``key=value`` is an option of the problem, ``method.key=value`` a setting of all
    methods, ``NAME.key=value`` a setting of one. A value ``FILE.py:NAME`` is an object of
    a user's file, such as a kernel or a noise model.

    Arguments:
        pairs: texts ``key=value``.
        methods: names of the methods of the run.
    """
    options: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {name: {} for name in methods}
    for pair in pairs:
        key, text = key_and_value(pair, "--set")
        owner, dot, setting = key.partition(".")
        value = find_value(parse_value(text))
        if not dot:
            options[key] = value
        elif owner == "method" or owner in settings:
            for name in methods if owner == "method" else [owner]:
                settings[name][setting] = value
        else:
            raise ValueError(
                f"--set {pair}: '{owner}' is not a method of this run; write method.{setting}=..."
                f" or {methods[0]}.{setting}=..."
            )
    return options, settings


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
