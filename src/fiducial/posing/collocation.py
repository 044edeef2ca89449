"""Collocation points: rules that choose the points where the equation is imposed.

A rule is any function ``domain -> (n, d) array``; these are the usual ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .coordinates import Box

Collocation = Callable[[Box], np.ndarray]
"""A rule: a function of the domain that returns points, an (n, d) array."""


@dataclass(frozen=True)
class Filling:
    """A rule whose points fill the domain, so that the equation may be imposed at other
    points of it as well.
    """

    rule: Collocation

    def __call__(self, domain: Box) -> np.ndarray:
        return self.rule(domain)


def _scaled_to(domain: Box, unit: np.ndarray) -> np.ndarray:
    return domain.lower + (domain.upper - domain.lower) * unit


def _check_count(n: int, rule: str) -> None:
    if not (isinstance(n, int) and n >= 1):
        raise ValueError(
            f"{rule}({n!r}): the number of points must be a whole number of at least 1, such as"
            f" {rule}(100)"
        )


def grid(n: int | None = None, **per_coordinate: int) -> Collocation:
    """Return a rule for a regular grid that includes the ends of every range.

    Arguments:
        n: number of points along each coordinate.
        per_coordinate: number of points along named coordinates, such as
            ``grid(x=50, t=10)``.

    Example:
        >>> grid(3)(Box(x=(0, 1))).ravel().tolist()
        [0.0, 0.5, 1.0]
    """
    for count in [*([] if n is None else [n]), *per_coordinate.values()]:
        _check_count(count, "grid")

    def lay(domain: Box) -> np.ndarray:
        unknown = [name for name in per_coordinate if name not in domain.names]
        missing = [name for name in domain.names if name not in per_coordinate and n is None]
        if unknown or missing:
            wanted = ", ".join(f"{name}=10" for name in domain.names)
            raise ValueError(
                f"grid(...): give one number, or a number for each of {', '.join(domain.names)}:"
                f" grid({wanted})"
            )
        axes = [
            np.linspace(lo, hi, per_coordinate.get(name, n or 1))
            for name, lo, hi in zip(domain.names, domain.lower, domain.upper, strict=True)
        ]
        return np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)

    return Filling(lay)


def sobol(n: int, *, seed: int = 0) -> Collocation:
    """Return a rule for scrambled Sobol points, which cover several dimensions evenly
    (``scipy.stats.qmc``).

    Arguments:
        n: number of points.
        seed: seed of the scrambling.

    Example:
        >>> sobol(8)(Box(x=(0, 1), t=(0, 1))).shape
        (8, 2)
    """
    _check_count(n, "sobol")

    def lay(domain: Box) -> np.ndarray:
        from scipy.stats import qmc

        power = int(np.ceil(np.log2(n)))
        return _scaled_to(domain, qmc.Sobol(len(domain.names), seed=seed).random_base2(power)[:n])

    return Filling(lay)


def latin_hypercube(n: int, *, seed: int = 0) -> Collocation:
    """Return a rule for Latin hypercube points, which fill every coordinate evenly
    (``scipy.stats.qmc``).

    Arguments:
        n: number of points.
        seed: seed of the random points.

    Example:
        >>> latin_hypercube(8)(Box(x=(0, 1))).shape
        (8, 1)
    """
    _check_count(n, "latin_hypercube")

    def lay(domain: Box) -> np.ndarray:
        from scipy.stats import qmc

        return _scaled_to(domain, qmc.LatinHypercube(len(domain.names), seed=seed).random(n))

    return Filling(lay)


def at_points(x: Any) -> Collocation:
    """Return a rule for given points; the equation is imposed there and nowhere else.

    Arguments:
        x: the points, in any form that ``Observed`` takes.

    Example:
        >>> at_points([0.0, 0.3])(Box(x=(0, 1))).shape
        (2, 1)
    """
    return lambda domain: domain.points(x, label="collocation points").array


def _default(domain: Box) -> np.ndarray:
    d = len(domain.names)
    return grid(200)(domain) if d == 1 else sobol(1024 * (d - 1))(domain)


default = Filling(_default)
"""The rule of a problem that gives none: 200 points on a line, 1,024 Sobol points in a
plane and 1,024 more for each further coordinate.
"""
