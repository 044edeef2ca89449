"""Sets of points that ready problems share: on the sides of a domain, and on a mesh."""

import numpy as np

from ..posing.coordinates import Box


def mesh(**axes: np.ndarray) -> dict[str, np.ndarray]:
    """Return every combination of the values along each coordinate, one vector per
    coordinate; the last coordinate changes fastest.

    Example:
        >>> mesh(x=np.array([0.0, 1.0]), t=np.array([2.0, 3.0]))["t"].tolist()
        [2.0, 3.0, 2.0, 3.0]
    """
    every = np.meshgrid(*axes.values(), indexing="ij")
    return {name: values.ravel() for name, values in zip(axes, every, strict=True)}


def inner(lower: float, upper: float, n: int) -> np.ndarray:
    """Return ``n`` evenly spaced values strictly between two limits.

    Example:
        >>> inner(0.0, 1.0, 3).tolist()
        [0.25, 0.5, 0.75]
    """
    return np.linspace(lower, upper, n + 2)[1:-1]


def later(end: float, n: int) -> np.ndarray:
    """Return ``n`` evenly spaced times after 0, the last of them ``end``.

    Example:
        >>> later(1.0, 4).tolist()
        [0.25, 0.5, 0.75, 1.0]
    """
    return np.linspace(0, end, n + 1)[1:]


def edges(box: Box, n: int, **sides: str) -> np.ndarray:
    """Return points on sides of a box, one row per point, ``n`` of them evenly spaced
    along every other coordinate; corners are listed once.

    Arguments:
        box: the domain.
        n: points along each other coordinate.
        sides: for each coordinate whose ends matter ``"lower"``, ``"upper"`` or
            ``"both"``.

    Example:
        >>> len(edges(Box(x=(0, 1), t=(0, 2)), 5, x="both", t="lower"))
        13
    """
    rows = []
    for name, which in sides.items():
        i = box.names.index(name)
        ends = {
            "lower": [box.lower[i]],
            "upper": [box.upper[i]],
            "both": [box.lower[i], box.upper[i]],
        }[which]
        axes = [
            np.array(ends) if j == i else np.linspace(lo, hi, n)
            for j, (lo, hi) in enumerate(zip(box.lower, box.upper, strict=True))
        ]
        rows.append(np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1))
    return np.unique(np.concatenate(rows), axis=0)
