"""``fiducial show``: the summary of a run, or the table of a study, once more."""

from typing import Any

import typer

from .. import catalogue
from ..atomic_files import DamagedFileError, read_json, read_sealed
from ..results.summary import SUMMARY
from ..running.checkpoint import Checkpoint
from ..studies.result import TABLE
from . import options
from .app import FAILED, app, fail, show_text


@app.command()
def show(folder: options.RunOrStudy) -> None:
    """Print the summary of a run, or the table of a study."""
    path = folder / "summary.json"
    if folder.is_file():
        fail(f"{folder} is a file; give the folder that it is in")
    if (folder / "table.md").is_file():
        try:
            typer.echo(read_sealed(folder / "table.md", TABLE).decode())
        except DamagedFileError as error:
            fail(f"{error}; run the study again with --resume to write its tables anew")
        return
    if Checkpoint(folder / "checkpoint").exists() and not path.is_file():
        again = f"go on with the same command and --out {folder} --resume"
        fail(f"the run in {folder} has not finished; {again}", FAILED)
    try:
        text = _text(read_json(path, SUMMARY))
    except FileNotFoundError:
        fail(f"{folder} holds no summary.json; give the folder that `fiducial run` named")
    except DamagedFileError as error:
        fail(f"{error}; print(fiducial.load('{folder}')) shows the result itself")
    except (ValueError, KeyError, TypeError) as error:
        fail(f"{path} is not a summary of fiducial ({error})")
    show_text(text)
    show_text("files: " + ", ".join(sorted(p.name for p in folder.iterdir() if p.is_file())))


def _text(summary: dict[str, Any]) -> str:
    """Return a summary as lines of text."""
    method = summary["method"]
    lines = [f"{summary['problem']} by {method}, seed {summary['seed']}: {summary['status']}"]
    lines += [_line(name, entry) for name, entry in summary["unknowns"].items()]
    for group, own in summary["noise"].items():
        lines += [_line(f"{parameter} of {group}", entry) for parameter, entry in own.items()]
    for name, entry in summary["field"].items():
        if any(v is not None for v in entry.values()):
            lines.append(_line(name, entry))
    lines.append(f"verdict: {summary['diagnosis']['verdict']}")
    why = getattr(catalogue.methods().get(method), "no_interval", None)
    if why is not None:
        lines.append(f"  no interval: {why}")
    for check in summary["diagnosis"]["checks"]:
        name = f"  [{'ok' if check['ok'] else '!!'}] {check['name']}"
        numbers = {key: check[key] for key in ("value", "limit")}
        lines.append(_line(name, numbers).removesuffix(": "))
    return "\n".join(lines)


def _line(name: str, entry: dict[str, Any]) -> str:
    return f"{name}: " + ", ".join(f"{k} {v:.5g}" for k, v in entry.items() if v is not None)
