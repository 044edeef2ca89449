"""A result made from what a run left."""

import dataclasses
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import Check
from ..device import run_once
from ..methods.base import AbstractMethod, Answer
from ..model.model import Model
from ..posing.problem import Problem
from ..running.driver import Run
from .bands import unit_of
from .result import FORMAT, Result

if TYPE_CHECKING:
    import xarray as xr

    Nodes = dict[str, xr.Dataset]


def build_result(
    model: Model,
    method: AbstractMethod,
    answer: Answer,
    finished: Run,
    *,
    seed: int,
    multistart: "xr.Dataset | None" = None,
) -> Result:
    """Lay out the answer to the first data set of a run as a tree.

    Arguments:
        model: the problem in computable form.
        method: the method.
        answer: what the method made of the run.
        finished: the run.
        seed: the seed of the run.
        multistart: where fits from other guesses ended, or None.
    """
    import xarray as xr

    checks = method.judge(answer.facts.of(0), model)
    nodes = {
        "/": _root(model.problem, method, checks, finished, seed),
        **_answer(model, answer),
        **_trace(finished),
        **_observed(model.problem),
    }
    if multistart is not None:
        nodes["/multistart"] = multistart
    return Result(xr.DataTree.from_dict(nodes), model.problem, model=model)


def _root(
    problem: Problem, method: AbstractMethod, checks: list[Check], finished: Run, seed: int
) -> "xr.Dataset":
    import xarray as xr

    options = None if problem.options is None else dict(problem.options)
    attrs = {
        "format": FORMAT,
        "fiducial_version": metadata.version("fiducial"),
        "problem": problem.name,
        "options": json.dumps(options),
        "method": method.name,
        "settings": json.dumps(method.settings()),
        "no_interval": method.no_interval or "",
        "linear": int(method.linear),
        "seed": seed,
        "seconds": json.dumps(finished.seconds),
        "checks": json.dumps([dataclasses.asdict(check) for check in checks]),
    }
    return xr.Dataset({"status": ("chain", finished.outcome.status[0])}, attrs=attrs)


def _answer(model: Model, answer: Answer) -> "Nodes":
    """Return the nodes that hold the estimate, the draws and the facts."""
    import xarray as xr

    alone = _named(model, answer.estimate[0][None, None])
    nodes = {"/estimate": alone.isel(chain=0, draw=0, drop=True)}
    if answer.draws is not None:
        nodes["/draws"] = drawn = _named(model, answer.draws["theta"][0])
        for name in set(drawn.data_vars) - {"theta", *model.problem.unknowns}:
            # the fit's own noise size is too small, by the degrees of freedom that it has
            # used; this is sqrt(RSS / (n - p)) where that is exact
            precision = (drawn[name] ** -2).mean(("chain", "draw")).values
            nodes["/estimate"][name].values = precision**-0.5
        errors = {
            g: (("chain", "draw", f"{g}_observation"), z[0])
            for g, z in answer.draws["errors"].items()
        }
        if errors:
            nodes["/errors"] = xr.Dataset(errors)
    if answer.left_out is not None:
        variables = {
            name: ([f"{name}_{i}" for i in range(v.ndim - 1)], v[0])
            for name, v in answer.left_out.items()
        }
        nodes["/left_out"] = xr.Dataset(variables)
    facts = answer.facts.of(0).known()
    if facts:
        variables = {
            name: ([f"{name}_{i}" for i in range(np.ndim(v))], v) for name, v in facts.items()
        }
        nodes["/facts"] = xr.Dataset(variables)
    return nodes


def _named(model: Model, theta: np.ndarray) -> "xr.Dataset":
    """Return constants, noise sizes and parameters for theta of shape (chain, draw, p)."""
    import xarray as xr

    def named(t: Any) -> dict[str, Any]:
        noise = {f"{n}_{g}": v for g, params in model.noise(t).items() for n, v in params.items()}
        return {**model.unknowns(t), **noise}

    values = run_once(jax.vmap(jax.vmap(named)), jnp.asarray(theta))
    variables = {}
    for name, v in values.items():
        axes = [f"{name}_{i}" for i in range(v.ndim - 2)]
        variables[name] = (("chain", "draw", *axes), np.asarray(v), unit_of(model.problem, name))
    return xr.Dataset({**variables, "theta": (("chain", "draw", "parameter"), np.asarray(theta))})


def _trace(finished: Run) -> "Nodes":
    import xarray as xr

    return {
        f"/trace/{phase}": xr.Dataset({n: (("chain", "record"), v[0]) for n, v in info.items()})
        for phase, info in finished.outcome.trace.items()
    }


def _observed(problem: Problem) -> "Nodes":
    import xarray as xr

    nodes = {}
    for g in problem.groups:
        columns = {"value": g.y, **g.points.coordinates()}
        noise = json.dumps(g.noise.describe() if g.noise else None)
        nodes[f"/observed/{g.name}"] = xr.Dataset(
            {name: ("observation", v) for name, v in columns.items()}, attrs={"noise": noise}
        )
    return nodes
