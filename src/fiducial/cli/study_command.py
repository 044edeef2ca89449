"""``fiducial study``."""

import typer

from .. import catalogue
from ..running.driver import Interrupted
from . import options
from .app import STOPPED, app, fail, show_text
from .folders import choose_folder
from .settings import find_method, key_and_value, parse_value, split_settings
from .user_file import find_problem


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
        names = (methods or catalogue.default_method().name).split(",")
        given, settings = split_settings(set_ or [], names)
        pairs = (key_and_value(text, "--grid") for text in grid or [])
        varied = {key: [parse_value(v) for v in text.split(",")] for key, text in pairs}
        first = {key: values[0] for key, values in varied.items()}
        posed = find_problem(problem, given | first).name
        folder = choose_folder(out, f"{posed}-study", resume, "study.json")
        found = coverage.study(
            lambda **more: find_problem(problem, given | more),
            [find_method(name, posed, settings[name]) for name in names],
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
        typer.echo(found)
        show_text(f"table.csv, table.md, study.nc and figures are in {folder}")
