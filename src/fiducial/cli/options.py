"""Arguments and options of the subcommands."""

from pathlib import Path
from typing import Annotated

import typer

Problem = Annotated[
    str,
    typer.Argument(
        help="A ready problem (see `fiducial problems`), or FILE.py or FILE.py:name with a"
        " Problem, or a function that returns one."
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="The method (see `fiducial methods`), or FILE.py:NAME for one of your own; by default"
        " efi-direct where it can serve the problem."
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        help="Methods, or FILE.py:NAME for those of your own, separated by commas; by default"
        " efi-direct."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
Level = Annotated[float, typer.Option(help="Level of the intervals.")]
RunFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the results; must be new or empty. By default PROBLEM-METHOD in the"
        " current folder."
    ),
]
StudyFolder = Annotated[
    Path | None,
    typer.Option(help="Folder for tables, figures and finished shards; must be new or empty."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE ...",
        help="Options of the problem, such as sd=0.1, and of the method, such as"
        " method.adam_steps=500. FILE.py:NAME is an object of your own file, such as a kernel"
        " or a noise model.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        help="Other methods to run and compare with, separated by commas; part of the verdict."
    ),
]
Multistart = Annotated[
    bool,
    typer.Option(
        help="Fit again from other guesses of unknown constants, to find other solutions."
    ),
]
Replicates = Annotated[int, typer.Option(min=1, help="Number of simulated data sets.")]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=V1,V2 ...",
        help="Options of the problem to vary, such as sd=0.01,0.05; all combinations are run.",
    ),
]
Shard = Annotated[
    int | None,
    typer.Option(min=1, help="Data sets fitted at once; by default what fits in memory."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No progress line, and nothing printed but errors.")
]
RunOrStudy = Annotated[Path, typer.Argument(help="The folder of a run or of a study.")]
