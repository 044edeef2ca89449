"""The application behind the command ``fiducial``, with what all subcommands share."""

import os
import shutil
import sys
import textwrap
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn

import jax
import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")

FAILED = 1
"""Exit code of a run that failed."""
USAGE = 2
"""Exit code of a mistake in the call."""
STOPPED = 130
"""Exit code of a run that Ctrl-C stopped."""


def fail(message: Any, code: int = USAGE) -> NoReturn:
    """Print a message on the error stream and end with an exit code."""
    typer.echo(f"fiducial: {message}", err=True)
    raise typer.Exit(code)


def show_text(text: str) -> None:
    """Print a text; in a terminal long lines are wrapped between words."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        text = "\n".join(_wrapped(line, width) for line in text.splitlines())
    typer.echo(text)


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    return textwrap.fill(line, width, subsequent_indent="      ", break_on_hyphens=False)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fiducial {metadata.version('fiducial')}, jax {jax.__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the versions of fiducial and JAX.",
    ),
]


@app.callback()
def keep_programs(version: Version = False) -> None:
    """Calibrated uncertainty for physics-informed neural networks and differential
    equations.
    """
    # JAX's own settings come first: JAX_COMPILATION_CACHE_DIR, JAX_ENABLE_COMPILATION_CACHE
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "fiducial"))
    # a run compiles dozens of small programs, which are worth keeping as well
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
