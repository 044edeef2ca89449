"""Points on the sides of a domain, for conditions at its edge."""

import numpy as np

from ..posing.coordinates import Box


def edges(box: Box, n: int, **sides: str) -> np.ndarray:
    """A row of points for each side, ``n`` evenly spaced along every other coordinate;
    corners are listed once.

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
