"""Building a result: the answer of a method, laid out as a tree."""

import dataclasses
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import Check
from ..device import run_once
from ..methods.base import AbstractMethod, Answer, WeightedDraws
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
    """Return the result for the first data set of a run.

    Arguments:
        model: the problem in computable form.
        method: the method.
        answer: the method's answer.
        finished: the run.
        seed: the seed of the run.
        multistart: where fits from other guesses ended, or None.
    """
    import xarray as xr

    checks = method.judge(answer.facts.of(0), model)
    nodes = {
        "/": _root(model.problem, method, checks, finished, seed),
        **_estimate_and_draws(model, method, answer),
        **_left_out(answer),
        **_facts(answer),
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


def _estimate_and_draws(model: Model, method: AbstractMethod, answer: Answer) -> "Nodes":
    import xarray as xr

    one = _named(model, answer.estimate[0][None, None])
    estimate = one.isel(chain=0, draw=0, drop=True)
    nodes = {"/estimate": estimate}
    drawn = None if answer.draws is None else _named(model, answer.draws["theta"][0])
    for name in set(estimate.data_vars) - {"theta", *model.problem.unknowns}:
        own = None if drawn is None else drawn[name].values[None]
        estimate[name].values = method.estimate_noise(estimate[name].values[None], own)[0]
    if drawn is None:
        return nodes
    nodes["/draws"] = drawn
    errors = {
        g: (("chain", "draw", f"{g}_observation"), z[0]) for g, z in answer.draws["errors"].items()
    }
    if errors:
        nodes["/errors"] = xr.Dataset(errors)
    if answer.weighted is not None:
        nodes["/raw"] = _raw(model, answer.weighted, drawn)
    return nodes


def _raw(model: Model, weighted: WeightedDraws, drawn: "xr.Dataset") -> "xr.Dataset":
    """Return the draws before resampling: their weights, and the constants and noise sizes.

    The parameters ``theta`` of a raw draw are those of any draw whose ``source`` is its
    number. Those of a raw draw without a copy are not kept, as a second set of parameters
    would double the file for draws that have hardly any weight.
    """
    source = weighted.source[0]
    unchanged = np.array_equal(source, np.broadcast_to(np.arange(source.shape[1]), source.shape))
    raw = drawn if unchanged else _named(model, weighted.draws["theta"][0])
    axes = ("chain", "draw")
    return raw.drop_vars("theta").assign(
        log_weight=(axes, weighted.log_weight[0]),
        failed=(axes, weighted.failed[0].astype(np.int8)),
        source=(axes, source),
    )


def _left_out(answer: Answer) -> "Nodes":
    import xarray as xr

    if answer.left_out is None:
        return {}
    variables = {
        name: ([f"{name}_{i}" for i in range(v.ndim - 1)], v[0])
        for name, v in answer.left_out.items()
    }
    return {"/left_out": xr.Dataset(variables)}


def _facts(answer: Answer) -> "Nodes":
    import xarray as xr

    facts = answer.facts.of(0).known()
    if not facts:
        return {}
    variables = {name: ([f"{name}_{i}" for i in range(np.ndim(v))], v) for name, v in facts.items()}
    return {"/facts": xr.Dataset(variables)}


def _named(model: Model, theta: np.ndarray) -> "xr.Dataset":
    """Return constants, noise sizes and parameters for theta of shape (chain, draw, p)."""
    import xarray as xr

    def named(t: Any) -> dict[str, Any]:
        noise = {
            f"{name}_{group}": value
            for group, parameters in model.noise(t).items()
            for name, value in parameters.items()
        }
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
