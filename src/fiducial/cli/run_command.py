"""``fiducial run``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .. import catalogue
from ..atomic_files import write_text
from ..fitting import fit
from ..results.result import Result
from ..results.summary import as_text
from ..running.checkpoint import Checkpoint
from ..running.driver import Interrupted
from ..running.progress import progress_line
from .app import FAILED, STOPPED, app, fail, show_text
from .folders import choose_folder
from .settings import split_settings
from .user_file import find_problem


@app.command()
def run(
    problem: Annotated[
        str,
        typer.Argument(
            help=(
                "A ready problem (see `fiducial problems`), or FILE.py or FILE.py:name with a"
                " Problem, or a function that returns one."
            )
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(help="The method (see `fiducial methods`); by default the best there is."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Folder for the results; must be new or empty. By default PROBLEM-METHOD in the"
                " current folder."
            )
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE ...",
            help=(
                "Options of the problem, such as sd=0.1, and of the method, such as"
                " method.adam_steps=500."
            ),
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Other methods to run and compare with, separated by commas; part of the verdict."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    elsewhere: Annotated[
        bool,
        typer.Option(
            help=(
                "Fit again from other guesses of unknown constants, to see whether there are other"
                " solutions."
            )
        ),
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress bar, and nothing printed but errors.")
    ] = False,
) -> None:
    """Fit a problem and leave summary.json, result.nc and figures in a folder.

    Exit code 0: there is an answer, whose verdict says whether to trust it. 1: the run
    failed. 2: a mistake in the call. 130: stopped by Ctrl-C."""
    if not 0 < level < 1:
        fail(f"--level {level}: give a number between 0 and 1, such as 0.95")
    try:
        known = [method] if method else list(catalogue.methods())
        options, settings = split_settings(set_ or [], known)
        posed = find_problem(problem, options)
        name = method or catalogue.default_method(posed).name
        others = [n for n in known if settings[n] != settings[name] and n != name and settings[n]]
        if others:
            raise ValueError(
                f"--set {others[0]}.{next(iter(settings[others[0]]))}=...: the method is '{name}';"
                f" give --method {others[0]}"
            )
        chosen = catalogue.method(name, **settings[name])
        rivals = [catalogue.method(n) for n in against.split(",")] if against else []
        for other in (chosen, *rivals):
            other.check(posed)
            if rivals and other.no_interval:
                raise ValueError(
                    f"--against: '{other.name}' has no intervals to compare; give methods that have"
                )
    except (ValueError, TypeError, KeyError, OSError) as error:
        fail(error)
    folder = choose_folder(out, f"{posed.name}-{chosen.name}", resume)
    if method is None and not quiet:
        typer.echo(f"no method named, using {name} (`fiducial methods` lists all)", err=True)
    try:
        result = fit(
            posed,
            chosen,
            seed=seed,
            folder=folder / "checkpoint",
            resume=resume,
            elsewhere=elsewhere,
            progress=False if quiet else None,
        )
    except (Interrupted, KeyboardInterrupt):
        fail(f"stopped; go on with the same command and --out {folder} --resume", STOPPED)
    except (ValueError, TypeError) as error:
        fail(error)
    except OSError as error:
        fail(f"cannot write to {folder}: {error.strerror}")
    try:
        if rivals:
            result.diagnose(
                against=[
                    fit(posed, other, seed=seed, elsewhere=False, progress=False if quiet else None)
                    for other in rivals
                ]
            )
    except Interrupted:
        fail(
            f"stopped while comparing; go on with the same command and --out {folder} --resume",
            STOPPED,
        )
    try:
        with progress_line(False if quiet else None) as line:
            line.begin("saving the result and drawing figures")
            _write(result, folder, level)
            Checkpoint(folder / "checkpoint").remove()  # only now is the result safe elsewhere
            text = "" if quiet else as_text(result, level)
    except KeyboardInterrupt:
        fail(
            f"stopped while saving; go on with the same command and --out {folder} --resume",
            STOPPED,
        )
    if not quiet:
        show_text(text)
        show_text(f"figures, summary.json and result.nc are in {folder}")
    if not result.status.usable:
        fail(f"the run failed: {result.status.message}", FAILED)


def _write(result: Result, folder: Path, level: float) -> None:
    from ..results.constant_pairs import constants, pairs
    from ..results.figures import plot, plot_constants, plot_errors, plot_trace

    (folder / "result.nc").unlink(missing_ok=True)  # of this run, stopped while it was writing
    result.save(folder / "result.nc")
    plot(result, level).savefig(folder / "solution.png", dpi=150)
    plot_trace(result).savefig(folder / "trace.png", dpi=110)
    if "errors" in result.tree.children:
        plot_errors(result).savefig(folder / "errors.png", dpi=110)
    drawn = constants(result)
    if drawn is not None and pairs(drawn):
        plot_constants(result).savefig(folder / "constants.png", dpi=110)
    write_text(
        folder / "summary.json", json.dumps(result.summary(level), indent=2, allow_nan=False) + "\n"
    )
