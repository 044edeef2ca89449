"""Bands of the solution and intervals of new measurements, at any points."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import run_once
from ..noise._linear_gaussian import AbstractLinearGaussian
from ..posing.coordinates import Points
from ..posing.groups import Group
from ..posing.problem import Problem
from .conformal import conformal_limits
from .intervals import summarise_draws

if TYPE_CHECKING:
    import xarray as xr

    from .result import Result


def confidence_band(result: "Result", points: Points, level: float) -> "xr.Dataset":
    """Return the band of every output; see ``Result.band``."""
    outputs = list(result.problem.outputs)
    estimate, values = _outputs(result, points, outputs)
    drawn = None if result.draws is None else values
    stats = summarise_draws(estimate, drawn, level)
    return _dataset(result, points, outputs, stats, level, kind="confidence")


def prediction_interval(result: "Result", points: Points, level: float) -> "xr.Dataset":
    """Return the interval of a new measurement of every output with noisy
    observations; see ``Result.predict``.
    """
    noisy = {
        g.output: g for g in reversed(result.problem.groups) if g.noise is not None and g.output
    }
    outputs = [name for name in result.problem.outputs if name in noisy]
    if not outputs:
        raise ValueError(
            "predict: no output has noisy observations, so there is no noise to add; use band"
        )
    groups = [noisy[name] for name in outputs]
    estimate, values = _outputs(result, points, outputs)
    if result.draws is None:
        stats = summarise_draws(estimate, None, level)
        stats |= {"sd_solution": stats["sd"], "sd_noise": np.full_like(estimate, np.nan)}
    else:
        stats = summarise_draws(estimate, values, level)
        stats |= _with_noise(result, stats["sd"], values, points, groups, level)
    if "left_out" in result.tree.children:
        stats |= _conformal(result, points, groups, outputs, level)
    return _dataset(result, points, outputs, stats, level, kind="prediction")


def unit_of(problem: Problem, name: str) -> dict[str, str]:
    """Return the unit of a coordinate, an output or an unknown as xarray attributes."""
    return {"units": problem.units[name]} if name in problem.units else {}


def _outputs(result: "Result", points: Points, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs of the estimate (point, output) and of the draws (draw, point,
    output).
    """
    which = [list(result.problem.outputs).index(name) for name in names]
    nodes = ["estimate"] if result.draws is None else ["estimate", "draws"]
    theta = np.concatenate([result.parameter_vectors(node) for node in nodes])
    every = result.evaluate(theta, points)[:, :, which]
    return every[0], every[1:]


def _dataset(
    result: "Result",
    points: Points,
    outputs: list[str],
    stats: dict[str, np.ndarray],
    level: float,
    *,
    kind: str,
) -> "xr.Dataset":
    import xarray as xr

    coordinates = {
        name: ("point", v, unit_of(result.problem, name))
        for name, v in points.coordinates().items()
    }
    without = result.no_interval is not None and np.isnan(stats["lower"]).all()
    note = {"note": result.no_interval} if without else {}
    return xr.Dataset(
        {name: (("output", "point"), v.T) for name, v in stats.items()},
        coords={"output": outputs, **coordinates},
        attrs={"level": level, "kind": kind, **note},
    )


def _with_noise(
    result: "Result",
    sd_solution: np.ndarray,
    values: np.ndarray,
    points: Points,
    groups: list[Group],
    level: float,
) -> dict[str, np.ndarray]:
    """Return limits of new measurements, and both parts of their standard deviation."""
    # one error per draw for all points, so that limits do not depend on the other
    # points
    error = np.random.default_rng(result.seed).standard_normal((len(values), 1, len(groups)))
    if all(g.linear_gaussian for g in groups):
        size = _noise_sizes(result, "draws", points, groups)
        measured = values + size * error
    else:
        measured, size = _measurements(result, points, groups, values, error)
    limits = summarise_draws(sd_solution, measured, level)
    # given the draw the error is independent of the solution, so the variances add
    sd_noise = np.sqrt(np.mean(size**2, axis=0))
    return {
        "lower": limits["lower"],
        "upper": limits["upper"],
        "sd": np.hypot(sd_solution, sd_noise),
        "sd_solution": sd_solution,
        "sd_noise": sd_noise,
    }


def _conformal(
    result: "Result", points: Points, groups: list[Group], outputs: list[str], level: float
) -> dict[str, np.ndarray]:
    """Return conformal limits of new measurements, from fits that left some out."""
    left_out = result.tree["left_out"].to_dataset()
    which = [list(result.problem.outputs).index(name) for name in outputs]
    values = result.evaluate(result.parameter_vectors("left_out"), points)[:, :, which]
    sizes = _noise_sizes(result, "left_out", points, groups)
    limits = [
        conformal_limits(
            values[..., i],
            sizes[..., i],
            left_out[f"z_{g.name}"].values,
            left_out[f"fold_{g.name}"].values,
            level,
        )
        for i, g in enumerate(groups)
    ]
    lower, upper = (np.stack([found[i] for found in limits], axis=-1) for i in (0, 1))
    return {"lower": lower, "upper": upper}


def _measurements(
    result: "Result", points: Points, groups: list[Group], values: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return new measurements with given errors, and the sizes of their noise, for the
    draws' values (draw, point, group).
    """
    model = result.model

    def of_draw(theta: Any, mean: Any, z: Any) -> Any:
        noise = model.noise(theta)
        made, sizes = [], []
        for i, g in enumerate(groups):
            assert g.noise is not None
            own = jnp.broadcast_to(z[:, i], mean[:, i].shape)
            made.append(g.noise.push(mean[:, i], own, points, noise[g.name]))
            sizes.append(g.noise.spread(mean[:, i], points, noise[g.name]))
        return jnp.stack(made, axis=-1), jnp.stack(sizes, axis=-1)

    with jax.enable_x64(True):
        found = run_once(jax.vmap(of_draw), result.parameter_vectors("draws"), values, error)
        return tuple(np.asarray(v) for v in found)  # type: ignore[return-value]


def _noise_sizes(result: "Result", node: str, points: Points, groups: list[Group]) -> np.ndarray:
    """Return standard deviations of new measurements, (draw, point, group)."""
    model = result.model

    def sizes(theta: Any) -> Any:
        noise = model.noise(theta)
        own = [
            g.noise.sd(points, noise[g.name])
            for g in groups
            if isinstance(g.noise, AbstractLinearGaussian)
        ]
        return jnp.stack(own, axis=-1)

    with jax.enable_x64(True):
        return np.asarray(run_once(jax.vmap(sizes), result.parameter_vectors(node)))
