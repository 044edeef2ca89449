"""How well a solution satisfies exact values and equations, where they are imposed and
between those points.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.collocation import sobol
from ..posing.coordinates import Box, Points
from ..posing.groups import Group
from .model import Model

MET = 0.01
"""Largest relative residual of an exact group that counts as satisfied."""
MET_BETWEEN = 0.03
"""Largest relative residual of an equation that counts as satisfied at new points."""
_NEW_POINTS = 256
"""Number of new points at which an equation is evaluated."""


def relative_residuals(
    model: Model, theta: Float[Array, " p"]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the root mean square of each exact group's residual, relative to that of
    random networks.

    Returns:
        It by group at the points where the group is imposed; and at new points, for
        equations with a constant right-hand side that have points between those.
    """
    domain = model.problem.domain

    def relative(g: Group, residual: Array) -> Array:
        return jnp.sqrt(jnp.mean(residual**2)) / model.scales[g.name]

    imposed = {}
    between = {}
    means = model.observed_means(theta)
    for g in model.groups:
        if g.exact:
            imposed[g.name] = relative(g, means[g.name] - g.y)
        # Of points chosen one by one only those on a line have others between them.
        if g.may_move or (g.has_constant_value and len(domain.names) == 1):
            new = model.mean(theta, g, _new_points(g, domain))
            between[g.name] = relative(g, new - g.y[0])
    return imposed, between


def _new_points(group: Group, domain: Box) -> Points:
    """Return new points for an equation, in the region where it is imposed."""
    if not group.filling:
        (name,), places = domain.names, group.sites.array
        if np.ptp(places) > 0:
            domain = Box(**{name: (float(places.min()), float(places.max()))})
    return Points(group.points.names, sobol(_NEW_POINTS, seed=1)(domain))
