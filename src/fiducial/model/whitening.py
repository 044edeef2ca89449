"""Means and data of one group in units of their errors."""

from jaxtyping import Array, Float

from ..noise.base import NoiseParameters
from ..posing.groups import Group


def whiten_mean(
    group: Group, mean: Float[Array, "k *columns"], noise: NoiseParameters, scale: float
) -> Float[Array, "m *columns"]:
    """Return means at the sites, or columns of their Jacobian, in units of the errors
    (for exact groups in units of ``scale``).
    """
    if group.noise is None:
        return mean / scale
    return group.noise.whiten_mean(mean, group.points, group.index, len(group.sites), noise)


def whiten_data(
    group: Group, y: Float[Array, " n"], noise: NoiseParameters, scale: float
) -> Float[Array, " m"]:
    """Return data in the units of ``whiten_mean``, replicates collapsed to one row for
    each site.
    """
    if group.noise is None:
        # Exact replicates can only repeat one value: the first at each site stands for all.
        return y[group.first] / scale
    return group.noise.whiten_data(y, group.points, group.index, len(group.sites), noise)
