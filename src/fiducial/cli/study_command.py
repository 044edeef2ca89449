"""``fiducial study``."""

from pathlib import Path
from typing import Annotated

import typer

from .. import catalogue
from ..running.driver import Interrupted
from .app import STOPPED, app, fail, show_text
from .folders import choose_folder
from .settings import key_and_value, parse_value, split_settings
from .user_file import find_problem


@app.command()
def study(
    problem: Annotated[
        str,
        typer.Argument(help="A ready problem, or FILE.py or FILE.py:name, as for `fiducial run`."),
    ],
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas; by default the best there is.")
    ] = None,
    replicates: Annotated[int, typer.Option(min=1, help="Number of simulated data sets.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of data and methods.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, figures and finished shards; must be new or empty."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V1,V2 ...",
            help="Options of the problem to vary, such as sd=0.01,0.05; all combinations are run.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE ...",
            help="Options of the problem, and of methods: pinn.adam_steps=500.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    shard: Annotated[
        int | None,
        typer.Option(min=1, help="Data sets fitted at once; by default what fits in memory."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a study that was stopped.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress bar, and nothing printed but errors.")
    ] = False,
) -> None:
    """Fit many simulated data sets and leave a table of coverage, width and error in a
    folder.

    Exit code 0: done, also when intervals are found wanting. 2: a mistake in the call.
    130: stopped by Ctrl-C."""
    from ..studies.coverage import study as run_study

    try:
        names = (methods or catalogue.default_method().name).split(",")
        options, settings = split_settings(set_ or [], names)
        chosen = [catalogue.method(name, **settings[name]) for name in names]
        varied = {
            key: [parse_value(v) for v in text.split(",")]
            for key, text in (key_and_value(p, "--grid") for p in grid or [])
        }
        label = find_problem(
            problem, options | {key: values[0] for key, values in varied.items()}
        ).name
        folder = choose_folder(out, f"{label}-study", resume, "study.json")
        found = run_study(
            lambda **more: find_problem(problem, options | more),
            chosen,
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
            f"stopped; finished shards are kept, go on with the same command and --out {folder}"
            " --resume",
            STOPPED,
        )
    except (ValueError, TypeError, KeyError, OSError) as error:
        fail(error)
    if not quiet:
        typer.echo(found)
        show_text(f"table.csv, table.md, study.nc and figures are in {folder}")
