"""``fiducial show``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import catalogue
from ..running.checkpoint import Checkpoint
from .app import FAILED, app, fail, show_text


@app.command()
def show(folder: Annotated[Path, typer.Argument(help="The folder of a run.")]) -> None:
    """Print the summary of a run, or the table of a study."""
    path = folder / "summary.json"
    if folder.is_file():
        fail(f"{folder} is a file; give the folder that it is in")
    if (folder / "table.md").is_file():
        typer.echo((folder / "table.md").read_text())
        return
    if Checkpoint(folder / "checkpoint").exists() and not path.is_file():
        fail(
            f"the run in {folder} has not finished; go on with the same command and --out {folder}"
            " --resume",
            FAILED,
        )
    try:
        summary = json.loads(path.read_text())
        text = _text(summary)
    except FileNotFoundError:
        fail(f"{folder} holds no summary.json; give the folder that `fiducial run` named")
    except (ValueError, KeyError, TypeError) as error:
        fail(f"{path} is not a summary of fiducial ({error})")
    show_text(text)
    show_text("files: " + ", ".join(sorted(p.name for p in folder.iterdir() if p.is_file())))


def _text(summary: dict[str, Any]) -> str:
    lines = [
        f"{summary['problem']} by {summary['method']}, seed {summary['seed']}: {summary['status']}"
    ]

    def line(name: str, entry: dict[str, Any]) -> str:
        return f"{name}: " + ", ".join(f"{k} {v:.5g}" for k, v in entry.items() if v is not None)

    lines += [line(name, entry) for name, entry in summary["unknowns"].items()]
    lines += [
        line(f"{parameter} of {group}", entry)
        for group, own in summary["noise"].items()
        for parameter, entry in own.items()
    ]
    lines += [
        line(name, entry)
        for name, entry in summary["field"].items()
        if any(v is not None for v in entry.values())
    ]
    lines.append(f"verdict: {summary['diagnosis']['verdict']}")
    if (
        why := getattr(catalogue.methods().get(summary["method"]), "no_interval", None)
    ) is not None:
        lines.append(f"  no interval: {why}")
    for check in summary["diagnosis"]["checks"]:
        lines.append(
            line(
                f"  [{'ok' if check['ok'] else '!!'}] {check['name']}",
                {k: check[k] for k in ("value", "limit")},
            ).removesuffix(": ")
        )
    return "\n".join(lines)
