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
from .results.building import build_result
from .results.multistart import fit_from_other_guesses
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
    multistart: bool = True,
    progress: bool | None = None,
) -> Result:
    """Fit a problem with a method.

    Arguments:
        problem: the problem.
        method: the method; by default the first of ``efi-direct`` and ``pinn`` that can
            serve the problem, which is named on the error stream.
        seed: seed of all random numbers; the same seed gives the same answer.
        folder: where to keep a checkpoint, so that a stopped run can be resumed.
        resume: go on from the checkpoint in ``folder``, if there is one.
        multistart: where constants are unknown, fit again from other guesses, so that
            the diagnosis can name another solution that fits as well.
        progress: show a line of progress; by default in a terminal and in a notebook.

    Returns:
        The result, also when chains diverged: see ``result.status``.

    Raises:
        ValueError: for a problem or method that cannot work, before anything is
            compiled.
        Interrupted: after Ctrl-C; with a folder the run can be resumed.

    Example:
        ``result = fiducial.fit(problem, seed=1); result.parameters()``
    """
    method, checkpoint = _checked(problem, method, seed, folder, resume)
    with jax.enable_x64(True), progress_line(progress) as line:
        model = bind(problem)
        data: Any = {name: y[None] for name, y in model.data.items()}
        runner = Runner(model, method)
        how: Any = {"checkpoint": checkpoint, "resume": resume}
        try:
            finished = runner.run(data, seed=seed, report=line.report, begin=line.begin, **how)
            answer = method.collect(model, data, finished.outcome)
            others = None
            if multistart:
                theta = None if answer.draws is None else answer.draws["theta"][0]
                drawn = None if theta is None else theta.reshape(-1, model.size)
                estimate = answer.estimate[0]
                others = fit_from_other_guesses(runner, estimate, drawn, seed=seed, line=line)
        except Interrupted:
            again = f"go on with fit(..., folder='{folder}', resume=True)"
            hint = again if folder else "give a folder to be able to resume"
            raise Interrupted(f"stopped by Ctrl-C; {hint}") from None
        finished = finished._replace(seconds=runner.seconds)
        return build_result(model, method, answer, finished, seed=seed, multistart=others)


def _checked(
    problem: Any, method: Any, seed: Any, folder: str | Path | None, resume: bool
) -> tuple[AbstractMethod, Checkpoint | None]:
    """Return the method and the checkpoint, after checks of all arguments."""
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
    return method, checkpoint
