"""The entry point of the command."""

import sys

from ..running.interrupts import keep_interrupts

# each of the four modules adds its commands to the application
from . import lists, run_command, show_command, study_command  # noqa: F401
from .app import app


def main() -> None:
    """Run the command. ``--set a=1 b=2`` is read as ``--set a=1 --set b=2``, and
    ``--grid`` likewise.
    """
    keep_interrupts()
    arguments: list[str] = []
    repeating: str | None = None
    for argument in sys.argv[1:]:
        if (
            repeating
            and "=" in argument
            and not argument.startswith("-")
            and arguments[-1] != repeating
        ):
            arguments.append(repeating)
        elif argument.startswith("-"):
            repeating = argument if argument in ("--set", "--grid") else None
        arguments.append(argument)
    app(arguments, prog_name="fiducial")
