"""Sizes of residuals, from random networks or other starts."""

from typing import TYPE_CHECKING

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..device import run_once
from ..posing.groups import Group

if TYPE_CHECKING:
    from .model import Model

_TRIAL_NETWORKS = 8
"""Number of random networks over which the size of a residual is averaged."""


def residual_scales(model: "Model") -> dict[str, float]:
    """Return the root mean square of each group's residual over random networks.

    Raises:
        ValueError: when a mean is not finite.
    """

    def means_of_random_network(key: PRNGKeyArray) -> dict[str, Array]:
        return model.means(model.init(key))

    keys = jax.random.split(jax.random.key(1), _TRIAL_NETWORKS)
    means = run_once(jax.vmap(means_of_random_network), keys)
    scales = {}
    for g in model.groups:
        mean = np.asarray(means[g.name])
        _check_finite(g, mean)
        scales[g.name] = float(np.sqrt(np.mean((mean[:, g.index] - g.y) ** 2))) or 1.0
    return scales


def _check_finite(group: Group, means: np.ndarray) -> None:
    """Raise a ``ValueError`` if a group's means, (network, site), are not finite."""
    if np.isfinite(means).all():
        return
    site = group.sites.array[int(np.argwhere(~np.isfinite(means))[0][1])]
    at = ", ".join(f"{n}={v:g}" for n, v in zip(group.sites.names, site, strict=True))
    what = "the equation" if group.physics else f"the quantity observed as '{group.name}'"
    raise ValueError(
        f"{what} is not finite at {at} for a random network with the unknowns at their"
        " guesses; check divisions, logarithms and powers there, or give other guesses"
    )
