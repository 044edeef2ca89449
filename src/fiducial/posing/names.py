"""Checks of the names that a user gives."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_RESERVED = {"theta", "chain", "draw", "equation"}
"""Names with a meaning of their own in tables of draws and for observations."""


def check_names(
    coordinates: Iterable[str], outputs: Iterable[str], constants: Sequence[str]
) -> None:
    """Raise a ``ValueError`` if a name is reserved, used twice, or cannot be saved."""
    axes, fields, names = set(coordinates), set(outputs), set(constants)
    if not fields:
        raise ValueError("outputs: give at least one name, such as outputs=('u',)")
    odd = [n for n in (*constants, *outputs) if not isinstance(n, str) or "/" in n or not n]
    if odd:
        raise ValueError(
            f"{odd[0]!r} cannot name an output or an unknown: give a text without '/', under"
            " which a result can be saved"
        )
    reserved = _RESERVED & (fields | names)
    if reserved:
        raise ValueError(
            f"{', '.join(sorted(reserved))}: the name has a meaning of its own in results; give"
            " the output or unknown another name"
        )
    clash = axes & fields or axes & names or fields & names
    clash |= {n for n in constants if constants.count(n) > 1}
    if clash:
        raise ValueError(
            "coordinates, outputs and unknowns need different names; rename what is"
            f" used twice: {', '.join(sorted(clash))}"
        )


def check_units(units: Mapping[str, Any], *known: Iterable[str]) -> None:
    """Raise a ``ValueError`` if a unit is given for something that does not exist."""
    stray = set(units).difference(*known)
    if stray:
        names = ", ".join(name for group in known for name in group)
        raise ValueError(
            f"units: there is no {', '.join(sorted(map(str, stray)))}; give units for some of"
            f" {names}"
        )


def check_group_names(names: Iterable[str]) -> None:
    """Raise a ``ValueError`` if a group cannot be saved under its name."""
    odd = [name for name in names if "/" in name]
    if odd:
        raise ValueError(
            f"Observed(name={odd[0]!r}): give a name without '/', under which a result can be saved"
        )
