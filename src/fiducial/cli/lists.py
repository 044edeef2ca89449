"""``fiducial problems`` and ``fiducial methods``: what is in the catalogue."""

import inspect

import typer

from .. import catalogue, paper
from .app import app


@app.command()
def problems() -> None:
    """List the ready problems with their options."""
    for name, make in catalogue.problems().items():
        options = ", ".join(
            f"{p.name}={p.default}" for p in inspect.signature(make).parameters.values()
        )
        typer.echo(
            f"{name}\n    {(inspect.getdoc(make) or '').splitlines()[0]}\n    options: {options}"
        )


@app.command()
def methods() -> None:
    """List the methods with their settings; those of the paper have its settings for
    the problem named.
    """
    default = catalogue.default_method().name
    for name, cls in (catalogue.methods() | paper.methods()).items():
        settings = ", ".join(
            p.name if p.default is p.empty else f"{p.name}={p.default}"
            for p in inspect.signature(cls).parameters.values()
        )
        typer.echo(
            f"{name}{' (default)' if name == default else ''}\n    {cls.summary}\n    settings:"
            f" {settings}"
        )
