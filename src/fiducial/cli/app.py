"""The command ``fiducial``: what all its subcommands share."""

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

FAILED, USAGE, STOPPED = 1, 2, 130


def fail(message: Any, code: int = USAGE) -> NoReturn:
    typer.echo(f"fiducial: {message}", err=True)
    raise typer.Exit(code)


def show_text(text: str) -> None:
    """Print; in a terminal lines that are too long for it go on in the next one,
    between words.
    """
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        lines = text.splitlines()
        text = "\n".join(
            textwrap.fill(x, width, subsequent_indent="      ", break_on_hyphens=False)
            if len(x) > width
            else x
            for x in lines
        )
    typer.echo(text)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fiducial {metadata.version('fiducial')}, jax {jax.__version__}")
        raise typer.Exit


@app.callback()
def keep_programs(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions of fiducial and JAX.",
        ),
    ] = False,
) -> None:
    """Honest uncertainty for physics-informed neural networks."""
    # JAX's own settings and variables go before: JAX_COMPILATION_CACHE_DIR,
    # JAX_ENABLE_COMPILATION_CACHE
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "fiducial"))
    if (
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ
    ):  # small programs too: there are dozens
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
