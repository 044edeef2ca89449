"""How far exact values are off, and equations, where they were asked and between."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.collocation import sobol
from ..posing.coordinates import Box, Points
from ..posing.groups import Group
from .model import Model

MET, MET_BETWEEN = 0.01, 0.03
"""What is near enough, for exact values and for equations at new points."""
_NEW_POINTS = 256


def relative_residuals(
    model: Model, theta: Float[Array, " p"]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """By exact group the root mean square of its residual, relative to that of random
    networks: where it was asked, and at new points.

    The latter for equations whose right-hand side is constant, and which have points
    between those that were asked."""
    domain = model.problem.domain

    def relative(g: Group, residual: Array) -> Array:
        return jnp.sqrt(jnp.mean(residual**2)) / model.scales[g.name]

    exact = [g for g in model.groups if g.exact]
    # of points chosen one by one only those on a line have others between them
    between = [g for g in exact if g.may_move or (g.has_constant_value and len(domain.names) == 1)]
    return (
        {g.name: relative(g, model.mean(theta, g)[g.index] - g.y) for g in exact},
        {
            g.name: relative(g, model.mean(theta, g, _new_points(g, domain)) - g.y[0])
            for g in between
        },
    )


def _new_points(group: Group, domain: Box) -> Points:
    """New points for an equation, where it was asked."""
    if not group.filling:
        (name,), places = domain.names, group.sites.array
        if np.ptp(places) > 0:
            domain = Box(**{name: (float(places.min()), float(places.max()))})
    return Points(group.points.names, sobol(_NEW_POINTS, seed=1)(domain))
