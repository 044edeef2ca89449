"""Sizes of outputs, from what was observed of them, and of residuals, from random
networks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..device import run_once
from ..posing.problem import Problem

if TYPE_CHECKING:
    from .model import Model

_TRIAL_NETWORKS = 8


def output_scaling(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offset and size of each output from the direct observations of it."""
    assert isinstance(problem.outputs, Mapping)
    offsets, scales, positives = [], [], []
    for name, output in problem.outputs.items():
        seen = [g.y for g in problem.groups if g.output == name]
        y = np.concatenate(seen) if seen else np.zeros(1)
        middle = 0.5 * float(y.min() + y.max())
        spread = 0.5 * float(y.max() - y.min())
        size = float(np.abs(y).max())
        # values that hardly differ say nothing about how much the field varies: use
        # their size
        if spread < 1e-6 * size or output.positive:
            middle, spread = 0.0, size
        offsets.append(middle)
        scales.append(output.scale or spread or 1.0)
        positives.append(output.positive)
    return np.array(offsets), np.array(scales), np.array(positives)


def residual_scales(model: "Model") -> dict[str, float]:
    """Typical residual of each group over random networks, which also finds values
    that are not finite.
    """

    def trial(key: PRNGKeyArray) -> dict[str, Array]:
        theta = model.init(key)
        return {g.name: model.mean(theta, g) for g in model.groups}

    means = run_once(jax.vmap(trial), jax.random.split(jax.random.key(1), _TRIAL_NETWORKS))
    scales = {}
    for g in model.groups:
        mean = np.asarray(means[g.name])
        if not np.isfinite(mean).all():
            site = g.sites.array[int(np.argwhere(~np.isfinite(mean))[0][1])]
            at = ", ".join(f"{n}={v:g}" for n, v in zip(g.sites.names, site, strict=True))
            what = "the equation" if g.physics else f"the quantity observed as '{g.name}'"
            raise ValueError(
                f"{what} is not finite at {at} for a fresh network with the unknowns at their"
                " guesses; check divisions, logarithms and powers there, or give other guesses"
            )
        residual = mean[:, g.index] - g.y
        scales[g.name] = float(np.sqrt(np.mean(residual**2))) or 1.0
    return scales
