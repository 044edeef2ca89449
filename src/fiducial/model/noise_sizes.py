"""The sizes of the errors: from the parameter vector and back, and from residuals."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..noise.base import NoiseParameters
from ..posing.groups import Group
from .flat import ravel
from .layout import Layout

_ALL_EXACT = 100.0
"""Precision that is assumed where no data have errors: one percent."""


def noise_parameters(layout: Layout, theta: Float[Array, " p"]) -> dict[str, NoiseParameters]:
    """Return the unknown noise parameters of every noisy group, in the user's units."""
    raw = layout.parts(theta)["noise"]
    return {
        group: {name: unknown.constrain(raw[group][name]) for name, unknown in own.items()}
        for group, own in layout.noise_unknowns.items()
    }


def replace_noise(
    layout: Layout, theta: Float[Array, " p"], noise: Mapping[str, NoiseParameters]
) -> Float[Array, " p"]:
    """Return the parameters with other noise parameters, given in the user's units."""
    parts = layout.parts(theta)
    raw = {
        group: {name: unknown.unconstrain(noise[group][name]) for name, unknown in own.items()}
        for group, own in layout.noise_unknowns.items()
    }
    return ravel({**parts, "noise": raw}).astype(theta.dtype)


def data_precision(
    groups: Iterable[Group],
    noise: Mapping[str, NoiseParameters],
    scales: Mapping[str, Any],
    means: Mapping[str, Array],
) -> Float[Array, ""]:
    """Return the largest ratio, over the noisy groups, of the size of the data to the
    standard error of a mean; at least 1, and 100 where all data are exact.

    Arguments:
        groups: the groups.
        noise: the unknown noise parameters of every noisy group.
        scales: the size of each group's data.
        means: the means of those groups whose errors are not linear Gaussian.
    """
    ratios = []
    for group in groups:
        if group.noise is not None:
            zeros = jnp.zeros(group.size, jnp.float64)
            ones = jnp.ones(group.size, jnp.float64)
            own = noise[group.name]
            if group.name in means:
                one_in_errors = 1 / group.noise.spread(means[group.name], group.points, own)
            else:
                one_in_errors = group.noise.pull(zeros, ones, group.points, own)
            squares = jnp.sum(group.only_real(one_in_errors) ** 2)
            ratios.append(scales[group.name] * jnp.sqrt(squares / group.site_count))
    return jnp.maximum(1.0, jnp.max(jnp.stack(ratios))) if ratios else jnp.asarray(_ALL_EXACT)
