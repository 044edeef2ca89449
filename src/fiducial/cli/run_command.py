"""``fiducial run``: fit one problem with one method."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from .. import catalogue
from ..atomic_files import write_json
from ..fitting import fit
from ..methods.base import AbstractMethod
from ..posing.problem import Problem
from ..results.diagnosis import Diagnosis
from ..results.result import Result
from ..results.summary import SUMMARY, as_text
from ..running.checkpoint import Checkpoint
from ..running.driver import Interrupted
from ..running.progress import progress_line
from . import options
from .app import FAILED, STOPPED, app, fail, show_text
from .finding import find_method, find_problem, make_method
from .folders import choose_folder
from .settings import split_settings


@app.command()
def run(
    problem: options.Problem,
    method: options.Method = None,
    seed: options.Seed = 0,
    out: options.RunFolder = None,
    set_: options.Set = None,
    against: options.Against = None,
    level: options.Level = 0.95,
    multistart: options.Multistart = True,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a problem and leave summary.json, result.nc and figures in a folder.

    Exit code 0: there is an answer, whose verdict says whether to trust it. 1: the run
    failed. 2: a mistake in the call. 130: stopped by Ctrl-C.
    """
    if not 0 < level < 1:
        fail(f"--level {level}: give a number between 0 and 1, such as 0.95")
    try:
        posed, chosen, rivals = _choose(problem, method, set_ or [], against)
    except (ValueError, TypeError, KeyError, OSError) as error:
        fail(error)
    folder = choose_folder(out, f"{posed.name}-{chosen.name}", resume)
    if method is None and not quiet:
        typer.echo(f"no method named, using {chosen.name} (`fiducial methods` lists all)", err=True)
    how: dict[str, Any] = {"seed": seed, "progress": False if quiet else None}
    with _resumable(folder):
        place: dict[str, Any] = {"folder": folder / "checkpoint", "resume": resume}
        result = fit(posed, chosen, multistart=multistart, **place, **how)
        others = [fit(posed, other, multistart=False, **how) for other in rivals]
        with progress_line(how["progress"]) as line:
            line.begin("saving the result and drawing figures")
            diagnosis = result.diagnose(against=others)
            _write(result, folder, level, diagnosis)
            Checkpoint(folder / "checkpoint").remove()  # only now is the result saved
            text = "" if quiet else as_text(result, level, diagnosis)
    if not quiet:
        show_text(text)
        show_text(f"figures, summary.json and result.nc are in {folder}")
    if not result.status.usable:
        fail(f"the run failed: {result.status.message}", FAILED)


def _choose(
    spec: str, method: str | None, pairs: list[str], against: str | None
) -> tuple[Problem, AbstractMethod, list[AbstractMethod]]:
    """Return the problem, its method, and the methods to compare with."""
    named = find_method(method) if method else None
    known = [named.name] if named else list(catalogue.methods())
    given, settings = split_settings(pairs, known)
    posed = find_problem(spec, given)
    found = named or type(catalogue.default_method(posed))
    name = found.name
    others = [n for n in known if settings[n] != settings[name] and n != name and settings[n]]
    if others:
        setting = next(iter(settings[others[0]]))
        raise ValueError(
            f"--set {others[0]}.{setting}=...: the method is '{name}'; give --method {others[0]}"
        )
    chosen = make_method(found, settings[name], posed)
    rivals = [make_method(find_method(n), {}, posed) for n in against.split(",")] if against else []
    for other in (chosen, *rivals):
        other.check(posed)
        if rivals and other.no_interval:
            raise ValueError(
                f"--against: '{other.name}' has no intervals to compare; give methods that have"
            )
    return posed, chosen, rivals


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Turn the exceptions of a run into messages and exit codes."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        fail(f"stopped; go on with the same command and --out {folder} --resume", STOPPED)
    except (ValueError, TypeError) as error:
        fail(error)
    except OSError as error:
        fail(f"cannot write to {folder}: {error.strerror or error}")


def _write(result: Result, folder: Path, level: float, diagnosis: Diagnosis) -> None:
    from ..results.drawn_constants import constant_draws, correlated_pairs
    from ..results.figures import plot, plot_constants, plot_errors, plot_trace

    (folder / "result.nc").unlink(missing_ok=True)  # this run was stopped after writing it
    result.save(folder / "result.nc")
    plot(result, level, diagnosis=diagnosis).savefig(folder / "solution.png", dpi=150)
    plot_trace(result).savefig(folder / "trace.png", dpi=110)
    if "errors" in result.tree.children:
        plot_errors(result, diagnosis=diagnosis).savefig(folder / "errors.png", dpi=110)
    drawn = constant_draws(result)
    if drawn is not None and correlated_pairs(drawn):
        plot_constants(result, diagnosis=diagnosis).savefig(folder / "constants.png", dpi=110)
    write_json(folder / "summary.json", result.summary(level, diagnosis), SUMMARY)
