"""How a result is laid out in its file: draws by a mean, a basis and coordinates.

Draws of the parameters of a network are many and long (1,000 times 2,701 for a network of
50-50), but they move in few directions: those that the data leave open, and their
products. What is stored are these directions and the coordinates of the draws along them.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

_TOLERANCE = 1e-12
"""Largest distance of a stored draw from the draw, relative to the largest singular value
of all draws. With it ``poisson`` needs 21 directions and the decay of the README 9, and no
limit of a band moves by more than 1e-11 of its width; the promise to users is 1e-6."""
_FIRST_TRY = 32
"""Number of directions that is tried first; it is doubled until the tolerance is met."""
_LARGE = 10_000
"""Number of values from which on a variable is compressed."""

_NODES = ("draws", "left_out")
"""Nodes that hold vectors of parameters by the hundred."""


class Directions(NamedTuple):
    """Vectors as ``mean + coordinates @ basis``.

    Attributes:
        mean: their mean.
        basis: orthonormal directions, a row each.
        coordinates: coordinates of each vector, a row each.
    """

    mean: np.ndarray
    basis: np.ndarray
    coordinates: np.ndarray


def compact(tree: "xr.DataTree") -> "xr.DataTree":
    """Return a tree with the vectors ``theta`` by mean, basis and coordinates, wherever
    that halves their size at least.
    """
    import xarray as xr

    nodes = tree.to_dict()
    for name in _NODES:
        node = nodes.get(f"/{name}")
        if node is None or "theta" not in node:
            continue
        *axes, _ = node["theta"].dims
        theta = node["theta"].values
        found = find_directions(theta.reshape(-1, theta.shape[-1]))
        if found is None:
            continue
        shape = (*theta.shape[:-1], len(found.basis))
        nodes[f"/{name}"] = node.drop_vars("theta").assign(
            theta_mean=("parameter", found.mean),
            theta_basis=(("direction", "parameter"), found.basis),
            theta_coordinates=((*axes, "direction"), found.coordinates.reshape(shape)),
        )
    return xr.DataTree.from_dict(nodes)


def expand(tree: "xr.DataTree") -> "xr.DataTree":
    """Return a tree with the vectors ``theta`` that ``compact`` has taken apart."""
    import xarray as xr

    nodes = tree.to_dict()
    for name in _NODES:
        node = nodes.get(f"/{name}")
        if node is None or "theta_mean" not in node:
            continue
        mean, basis, coordinates = (
            node[f"theta_{part}"] for part in ("mean", "basis", "coordinates")
        )
        *axes, _ = coordinates.dims
        theta = mean.values + coordinates.values @ basis.values
        stored = ["theta_mean", "theta_basis", "theta_coordinates"]
        nodes[f"/{name}"] = node.drop_vars(stored).assign(theta=((*axes, *mean.dims), theta))
    return xr.DataTree.from_dict(nodes)


def find_directions(vectors: np.ndarray) -> Directions | None:
    """Return vectors by the directions in which they lie, or None where that does not halve
    their size.

    The directions are those of random combinations of the vectors (Halko, Martinsson and
    Tropp 2011), whose number is doubled until the distance of every vector from its
    reconstruction meets the tolerance. A full singular value decomposition would take a
    second for the draws of a small network.

    Example:
        >>> found = find_directions(np.outer(np.arange(200.0), np.ones(300)))
        >>> found.basis.shape
        (1, 300)
    """
    count, length = vectors.shape
    if not np.isfinite(vectors).all():
        return None
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    random = np.random.default_rng(0)
    size = _FIRST_TRY
    while 2 * size * (count + length) <= count * length:
        combinations = random.standard_normal((size, count)) @ centred
        frame, _ = np.linalg.qr(combinations.T)
        coordinates = centred @ frame
        left, values, right = np.linalg.svd(coordinates, full_matrices=False)
        kept = values > _TOLERANCE * values[0]
        basis = right[kept] @ frame.T
        coordinates = left[:, kept] * values[kept]
        missed = np.linalg.norm(centred - coordinates @ basis, axis=1).max()
        if missed <= _TOLERANCE * values[0]:
            return Directions(mean, basis, coordinates)
        size *= 2
    return None


def encoding(tree: "xr.DataTree") -> dict[str, dict[str, Any]]:
    """Return how the variables of each node are to be written: large ones compressed,
    without loss.
    """
    how = {"zlib": True, "complevel": 1, "shuffle": True}
    return {
        node.path: {str(k): how for k, v in node.data_vars.items() if v.size >= _LARGE}
        for node in tree.subtree
    }
