"""The numbers of a model that may differ between data sets which share one compiled
program: where and how often it was measured, scales, known constants.

Data sets of different sizes are padded to a common one. Padded observations lie at
padded sites and enter no row, error or count.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ..posing.coordinates import Points
from ..posing.groups import Group


class GroupPlacement(NamedTuple):
    """Where the n observations of a group lie (see ``Group``), in arrays.

    Attributes:
        points: coordinates of the point of each observation, of shape (n, d).
        sites: coordinates of the k distinct points, (k, d).
        index: for each observation, the position of its point among the sites.
        first: for each site, the position of its first observation.
        real: one for each observation, zero for padded ones; None without padding.
        real_sites: the same for sites.
    """

    points: Any
    sites: Any
    index: Any
    first: Any
    real: Any = None
    real_sites: Any = None


class Placement(NamedTuple):
    """The numbers by which models of one problem differ between data sets.

    Attributes:
        groups: where the observations lie, for each group in the model's order.
        scales: the scale of each group's residual (see ``Model``).
        representation: the representation's own numbers.
    """

    groups: tuple[GroupPlacement, ...]
    scales: dict[str, Any]
    representation: Any


def placement_of(group: Group) -> GroupPlacement:
    """Return where the observations of a group lie."""
    return GroupPlacement(
        points=np.asarray(group.points.array),
        sites=np.asarray(group.sites.array),
        index=np.asarray(group.index),
        first=np.asarray(group.first),
        real=group.real,
        real_sites=group.real_sites,
    )


def placed_groups(
    groups: Sequence[Group], placements: Sequence[GroupPlacement]
) -> tuple[Group, ...]:
    """Return groups of the same quantities with observations at other places."""
    return tuple(
        dataclasses.replace(
            group,
            points=Points(group.points.names, own.points),
            sites=Points(group.sites.names, own.sites),
            index=own.index,
            first=own.first,
            real=own.real,
            real_sites=own.real_sites,
        )
        for group, own in zip(groups, placements, strict=True)
    )


def bucket(number: int) -> int:
    """Return the size to which so many observations are padded: the next of 1, 2, 3, 4,
    6, 8, 12, 16, 24 ..., so that few sizes need a program of their own.

    Example:
        >>> [bucket(n) for n in (1, 5, 7, 9, 100)]
        [1, 6, 8, 12, 128]
    """
    power = 1
    while power < number:
        power *= 2
    return 3 * power // 4 if number <= 3 * power // 4 else power


def stack_placements(placements: Sequence[Placement]) -> Placement:
    """Return the placements of several data sets in one tree of arrays with a leading
    axis, those of groups padded where their sizes differ.
    """
    columns = zip(*(p.groups for p in placements), strict=True)
    padded = zip(*(_padded_alike(column) for column in columns), strict=True)
    alike = [p._replace(groups=groups) for p, groups in zip(placements, padded, strict=True)]
    return jax.tree.map(lambda *arrays: np.stack(arrays), *alike)


def stack_data(data: Sequence[dict[str, Any]], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Return the values of several data sets with a leading axis, with copies of the
    first value, which is a possible one, for padded observations.

    Arguments:
        data: observed values by group, one dictionary for each data set.
        sizes: number of observations of each group, padded ones included.
    """

    def filled(values: np.ndarray, size: int) -> np.ndarray:
        return np.append(values, np.full(size - len(values), values[0]))

    return {name: np.stack([filled(y[name], size) for y in data]) for name, size in sizes.items()}


def check_padding(groups: Sequence[Group], placement: Placement) -> None:
    """Raise a ``ValueError`` if a group is padded whose noise does not allow that:
    errors must be independent, and their sizes may not be listed one by one.
    """
    for group, own in zip(groups, placement.groups, strict=True):
        if own.real is not None and group.noise is not None and not group.noise.independent:
            raise ValueError(
                f"'{group.name}': data sets with different numbers of observations need"
                " independent errors of one distribution, such as Gaussian(sd=0.1) or Gaussian()"
            )


def _padded_alike(column: Sequence[GroupPlacement]) -> list[GroupPlacement]:
    """Return the placements of one group in several data sets, padded to one size."""
    if len({(p.points.shape, p.sites.shape) for p in column}) == 1:
        return list(column)
    sites = bucket(1 + max(len(p.sites) for p in column))
    # at least one padded observation for each padded site
    observations = sites + bucket(max(len(p.points) - len(p.sites) for p in column))
    return [_padded(p, observations, sites) for p in column]


def _padded(own: GroupPlacement, observations: int, sites: int) -> GroupPlacement:
    """Return a placement with more observations and sites, at the first real site."""
    n, k = len(own.points), len(own.sites)
    more, more_sites = observations - n, sites - k
    number = np.arange(more)
    return GroupPlacement(
        points=np.concatenate([own.points, np.repeat(own.sites[:1], more, axis=0)]),
        sites=np.concatenate([own.sites, np.repeat(own.sites[:1], more_sites, axis=0)]),
        index=np.concatenate([own.index, k + number % more_sites]),
        first=np.concatenate([own.first, n + np.arange(more_sites)]),
        real=np.concatenate([np.ones(n), np.zeros(more)]),
        real_sites=np.concatenate([np.ones(k), np.zeros(more_sites)]),
    )
