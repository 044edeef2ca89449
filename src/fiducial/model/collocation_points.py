"""Other points at which the equation is imposed."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..posing.coordinates import Box, Points
from ..posing.groups import Group


def points_may_move(groups: Sequence[Group], domain: Box) -> bool:
    """Return whether ``shift_points`` moves any points.

    It does not on a line, where the points are dense enough."""
    return len(domain.names) > 1 and any(g.may_move for g in groups)


def shift_points(groups: Sequence[Group], domain: Box, key: PRNGKeyArray) -> tuple[Group, ...]:
    """Return the groups with the points of equations shifted by one random vector;
    points that leave the domain come back in at the opposite side.
    """
    if not points_may_move(groups, domain):
        return tuple(groups)
    shift = jax.random.uniform(key, (len(domain.names),), jnp.float64)
    size = domain.upper - domain.lower

    def move(group: Group) -> Group:
        if not group.may_move:
            return group
        unit = (group.sites.array - domain.lower) / size
        array = domain.lower + size * ((unit + shift) % 1.0)
        return dataclasses.replace(group, sites=Points(domain.names, array))

    return tuple(move(g) for g in groups)


def thin_points(groups: Sequence[Group], most: int) -> tuple[Group, ...]:
    """Return the groups with at most ``most`` points for each equation that holds
    exactly.
    """
    return tuple(g.thinned(most) if g.exact and g.physics else g for g in groups)
