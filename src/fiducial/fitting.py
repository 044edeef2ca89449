"""Fit a problem with a method."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .catalogue import default_method
from .methods.base import AbstractMethod
from .model.binding import bind
from .posing.problem import Problem
from .results.other_solutions import look_elsewhere
from .results.result import Result
from .running.checkpoint import Checkpoint
from .running.driver import Interrupted, Runner
from .running.progress import progress_line


def fit(
    problem: Problem,
    method: AbstractMethod | None = None,
    *,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    elsewhere: bool = True,
    progress: bool | None = None,
) -> Result:
    """Answer a problem with a method.

    Arguments:
        problem: the problem.
        method: the method; if left out, the best there is, and a line says which.
        seed: seed of all random numbers; the same seed gives the same answer.
        folder: where to keep a checkpoint after every chunk of steps, so that a stopped
            run can be resumed; resuming a run that is complete gives its result at
            once.
        resume: go on from the checkpoint in ``folder``, if there is one.
        elsewhere: where constants are unknown, fit again from other guesses of them,
            and let the diagnosis say if there is another solution that fits as well.
        progress: show a line of progress; by default only in a terminal and in a
            notebook.

    Returns:
        The result, also when chains diverged: look at ``result.status``.

    Raises:
        ValueError: for a problem or method that cannot work, before the method is
            compiled.
        Interrupted: after Ctrl-C; with a folder the run can be resumed.

    Example:
        ``result = fiducial.fit(problem, seed=1); result.parameters()``
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"fit({problem!r}): give a Problem, or one from the catalogue:"
            " fiducial.problem('poisson')"
        )
    if method is None:
        method = default_method(problem)
        print(f"fiducial: no method named, using {method.name}", file=sys.stderr)
    if not isinstance(method, AbstractMethod):
        raise TypeError(f"fit(problem, {method!r}): give a method such as PINN() (with brackets)")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed={seed!r}: give a whole number of at least 0")
    if resume and folder is None:
        raise ValueError(
            "resume=True needs the folder of the run that was stopped: fit(..., folder='run',"
            " resume=True)"
        )
    checkpoint = None if folder is None else Checkpoint(Path(folder))
    if checkpoint is not None and checkpoint.exists() and not resume:
        raise ValueError(
            f"{folder} holds a run already; give resume=True to go on with it, or another folder"
        )
    method.check(problem)
    with jax.enable_x64(True), progress_line(progress) as line:
        model = bind(problem)
        data: Any = {name: y[None] for name, y in model.data.items()}
        runner = Runner(model, method)
        try:
            finished = runner.run(
                data,
                seed=int(seed),
                checkpoint=checkpoint,
                resume=resume,
                report=line.report,
                begin=line.begin,
            )
            answer = method.collect(model, data, finished.outcome)
            drawn = (
                None if answer.draws is None else answer.draws["theta"][0].reshape(-1, model.size)
            )
            others = (
                look_elsewhere(runner, answer.estimate[0], drawn, seed=int(seed), line=line)
                if elsewhere
                else None
            )
        except Interrupted:
            hint = (
                f"; go on with fit(..., folder='{folder}', resume=True)"
                if folder
                else "; give a folder to be able to resume"
            )
            raise Interrupted(f"stopped by Ctrl-C{hint}") from None
        return Result.build(
            model,
            method,
            answer,
            finished._replace(seconds=runner.seconds),
            seed=int(seed),
            elsewhere=others,
        )
