"""Means and data of one group in units of their errors."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..noise._linear_gaussian import AbstractLinearGaussian
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
    rows = _linear(group).whiten_mean(mean, group.points, group.index, len(group.sites), noise)
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
    rows = _linear(group).whiten_data(y, group.points, group.index, len(group.sites), noise)
    return group.only_real_sites(rows)


def _linear(group: Group) -> AbstractLinearGaussian:
    """Return the noise of a group whose data can be whitened."""
    if not isinstance(group.noise, AbstractLinearGaussian):
        raise TypeError(
            f"the errors of '{group.name}' are not Gaussian, or do not enter the data linearly;"
            " compute with normal scores (Model.errors)"
        )
    return group.noise
