"""Means and data of one group in units of their errors."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..noise.base import NoiseParameters
from ..posing.groups import Group


def whiten_mean(
    group: Group, mean: Float[Array, "k *columns"], noise: NoiseParameters, scale: Any
) -> Float[Array, "m *columns"]:
    """Return means at the sites, or columns of their Jacobian, in units of the errors
    (for exact groups in units of ``scale``).
    """
    if group.noise is None:
        return group.only_real_sites(mean / jnp.asarray(scale, mean.dtype))
    rows = group.noise.whiten_mean(mean, group.points, group.index, len(group.sites), noise)
    return group.only_real_sites(rows)


def whiten_data(
    group: Group, y: Float[Array, " n"], noise: NoiseParameters, scale: Any
) -> Float[Array, " m"]:
    """Return data in the units of ``whiten_mean``, replicates collapsed to one row for
    each site.
    """
    if group.noise is None:
        # Exact replicates only repeat one value: the first at each site represents all.
        return group.only_real_sites(y[group.first] / jnp.asarray(scale, y.dtype))
    rows = group.noise.whiten_data(y, group.points, group.index, len(group.sites), noise)
    return group.only_real_sites(rows)
