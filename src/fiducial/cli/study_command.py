"""``fiducial study``: how often intervals cover the truth."""

import typer

from .. import catalogue
from ..running.driver import Interrupted
from . import options
from .app import STOPPED, app, fail, show_text
from .finding import find_method, find_problem, make_method
from .folders import choose_folder
from .settings import key_and_value, parse_value, split_settings


@app.command()
def study(
    problem: options.Problem,
    methods: options.Methods = None,
    replicates: options.Replicates = 100,
    seed: options.Seed = 0,
    out: options.StudyFolder = None,
    grid: options.Grid = None,
    set_: options.Set = None,
    level: options.Level = 0.95,
    shard: options.Shard = None,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit many simulated data sets and leave a table of coverage, width and error in a
    folder.

    Exit code 0: done, also when intervals do not cover. 2: a mistake in the call. 130:
    stopped by Ctrl-C.
    """
    from ..studies import coverage

    try:
        specs = (methods or catalogue.default_method().name).split(",")
        found = [find_method(spec) for spec in specs]
        given, settings = split_settings(set_ or [], [method.name for method in found])
        pairs = (key_and_value(text, "--grid") for text in grid or [])
        varied = {key: [parse_value(v) for v in text.split(",")] for key, text in pairs}
        first = {key: values[0] for key, values in varied.items()}
        posed = find_problem(problem, given | first)
        stored = ("study.json", "shards/*.npz")
        folder = choose_folder(out, f"{posed.name}-study", resume, stored)
        result = coverage.study(
            lambda **more: find_problem(problem, given | more),
            [make_method(method, settings[method.name], posed) for method in found],
            replicates=replicates,
            seed=seed,
            level=level,
            grid=varied,
            shard=shard,
            folder=folder,
            resume=resume,
            progress=False if quiet else None,
        )
    except Interrupted:
        fail(
            "stopped; finished shards are kept, go on with the same command and"
            f" --out {folder} --resume",
            STOPPED,
        )
    except (ValueError, TypeError, KeyError, OSError) as error:
        fail(error)
    if not quiet:
        typer.echo(result)
        show_text(f"table.csv, table.md, study.nc and figures are in {folder}")
