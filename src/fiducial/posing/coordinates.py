"""Named coordinates: the domain of a problem, one point of it, and sets of points.

A function that a user writes for one point (an equation, an operator, the scale of a
noise) receives the point as a plain number when the domain has one coordinate, and as a
[`Point`][fiducial.Point] (``at.x``, ``at.t``) when it has several.
"""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

TIME_NAMES = ("t", "time")
"""Names of coordinates that are time; all others are space."""
_RESERVED = (
    "names",
    "values",
    "replace",
    "value",
    "output",
    "point",
    "observation",
    "estimate",
    "mean",
    "sd",
    "lower",
    "upper",
    "sd_solution",
    "sd_noise",
)
"""Names that cannot be coordinates: attributes of points and columns of tables."""


class Point(eqx.Module):
    """One point with named coordinates: ``at.x`` or ``at["x"]``.

    Example:
        >>> at = Point(("x", "t"), (1.0, 2.0))
        >>> at.t, at.replace(t=0.0).t
        (2.0, 0.0)
    """

    names: tuple[str, ...] = eqx.field(static=True)
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        try:
            return self.values[self.names.index(name)]
        except ValueError:
            raise KeyError(
                f"no coordinate '{name}'; the coordinates are {', '.join(self.names)}"
            ) from None

    def __getattr__(self, name: str) -> Any:
        if name in self.names:
            return self[name]
        raise AttributeError(f"no coordinate '{name}'; the coordinates are {', '.join(self.names)}")

    def replace(self, **changes: Any) -> "Point":
        """Return the point with some coordinates changed, such as
        ``at.replace(x=0.0)``.
        """
        for name in changes:
            self[name]
        return Point(
            self.names,
            tuple(changes.get(n, v) for n, v in zip(self.names, self.values, strict=True)),
        )


def user_point(names: tuple[str, ...], row: Float[Array, " d"]) -> Any:
    """Return a point as a user's function receives it: a number or a ``Point``."""
    if len(names) == 1:
        return row[0]
    return Point(names, tuple(row[i] for i in range(len(names))))


def coordinate_values(names: tuple[str, ...], at: Any) -> tuple[Array, ...]:
    """Return the coordinates of one point in the domain's order."""
    if isinstance(at, Point):
        if at.names != names:
            raise TypeError(
                f"a point with the coordinates {', '.join(at.names)} was given to a field of"
                f" {', '.join(names)}; change coordinates with at.replace({names[0]}=...)"
            )
        return tuple(jnp.asarray(v) for v in at.values)
    if len(names) == 1:
        return (jnp.reshape(jnp.asarray(at), ()),)
    raise TypeError(
        f"a field of {', '.join(names)} needs a point with all of them, such as the argument"
        f" `at` of the equation or at.replace({names[0]}=...); got {at!r}"
    )


class Points(eqx.Module):
    """A set of n points with named coordinates, stored as one (n, d) array."""

    names: tuple[str, ...] = eqx.field(static=True)
    array: np.ndarray

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def map(self, fn: Callable[[Any], Any], dtype: Any = None) -> Any:
        """Return a function of one point at every point, in the given precision."""
        return jax.vmap(lambda row: fn(user_point(self.names, row)))(jnp.asarray(self.array, dtype))

    def distinct(self) -> tuple["Points", np.ndarray]:
        """Return the distinct points, and the position of every point among them."""
        rows, index = np.unique(self.array, axis=0, return_inverse=True)
        return Points(self.names, rows), index.reshape(-1)

    def replicate_numbers(self) -> np.ndarray:
        """Return for every point the number of equal points before it."""
        _, index = self.distinct()
        order = np.argsort(index, kind="stable")
        number = np.empty(len(self), int)
        number[order] = np.arange(len(self)) - np.searchsorted(index[order], index[order])
        return number

    def coordinates(self) -> dict[str, np.ndarray]:
        """Return the values of each coordinate by its name."""
        return {name: self.array[:, i] for i, name in enumerate(self.names)}


class Box:
    """The domain of a problem: a range for every named coordinate.

    A coordinate called ``t`` or ``time`` is time, all others are space, for the
    shorthands [`time_derivative`][fiducial.time_derivative],
    [`laplacian`][fiducial.laplacian], ``gradient`` and ``divergence``.

    Arguments:
        ranges: ``name=(lower, upper)`` for each coordinate, in the order in which
            arrays of points list them.

    Example:
        >>> Box(x=(0, 1), t=(0, 2)).names
        ('x', 't')
    """

    def __init__(self, **ranges: tuple[float, float]):
        if not ranges:
            raise ValueError("Box() needs at least one coordinate, such as Box(x=(0, 1))")
        for name, limits in ranges.items():
            if name in _RESERVED:
                raise ValueError(
                    f"Box({name}=...): '{name}' has a meaning of its own in points and tables;"
                    " give the coordinate another name"
                )
            try:
                lower, upper = (float(v) for v in limits)
            except (TypeError, ValueError):
                raise ValueError(
                    f"Box({name}={limits!r}): give two numbers, such as {name}=(0, 1)"
                ) from None
            if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
                raise ValueError(
                    f"Box({name}={limits!r}): the limits must be finite and in increasing order,"
                    f" such as {name}=(0, 1)"
                )
        self.names: tuple[str, ...] = tuple(ranges)
        self.lower = np.array([float(r[0]) for r in ranges.values()])
        self.upper = np.array([float(r[1]) for r in ranges.values()])

    def __repr__(self) -> str:
        limits = zip(self.names, self.lower, self.upper, strict=True)
        return f"Box({', '.join(f'{n}=({lo:g}, {hi:g})' for n, lo, hi in limits)})"

    def points(self, x: Any, *, label: str = "x", inside: bool = True) -> Points:
        """Return points from a number, a vector, a mapping, a data frame or an array.

        Arguments:
            x: for one coordinate a number or a vector; otherwise a mapping (or data
                frame) from coordinate to vector, where single numbers are repeated, or
                an array with a column per coordinate.
            label: name of the points in an error message.
            inside: whether to refuse points outside the domain.
        """
        try:
            array = self._array(x, label)
        except (TypeError, ValueError) as error:
            if str(error).startswith(label):
                raise
            raise ValueError(
                f"{label}: the points are not numbers ({error}); give numbers for"
                f" {', '.join(self.names)}"
            ) from None
        bad = ~np.isfinite(array).all(axis=1)
        if bad.any():
            raise ValueError(
                f"{label}: point {int(np.argmax(bad))} is not finite ({array[bad][0]}); remove or"
                " correct it"
            )
        if inside:
            slack = 1e-9 * (self.upper - self.lower)
            out = (array < self.lower - slack) | (array > self.upper + slack)
            if out.any():
                i, j = np.argwhere(out)[0]
                raise ValueError(
                    f"{label}: point {i} has {self.names[j]} = {array[i, j]:g}, outside {self!r};"
                    " extend the domain or remove the point"
                )
        return Points(self.names, array)

    def _array(self, x: Any, label: str) -> np.ndarray:
        names = self.names
        if isinstance(x, Points):
            return x.array
        if isinstance(x, Mapping) or hasattr(x, "columns"):
            given = list(x.columns) if hasattr(x, "columns") else list(x)
            missing = [n for n in names if n not in given]
            extra = [n for n in given if n not in names] if isinstance(x, Mapping) else []
            if missing or extra:
                raise ValueError(
                    f"{label}: the coordinates are {', '.join(names)}, but"
                    f" {', '.join(map(str, given))} were given; give one vector for each coordinate"
                )
            columns = [np.asarray(x[n], dtype=float).reshape(-1) for n in names]
            size = max(len(c) for c in columns)
            for n, c in zip(names, columns, strict=True):
                if len(c) not in (1, size):
                    raise ValueError(
                        f"{label}: coordinate '{n}' has {len(c)} values, another has {size}; give"
                        " the same number for each, or a single one"
                    )
            return np.stack([np.broadcast_to(c, (size,)) for c in columns], axis=1)
        array = np.asarray(x, dtype=float)
        if len(names) == 1:
            if array.ndim > 1 and not (array.ndim == 2 and array.shape[1] == 1):
                raise ValueError(
                    f"{label}: expected a vector of {names[0]}, got an array of shape {array.shape}"
                )
            return array.reshape(-1, 1)
        if array.ndim == 1 and array.shape == (len(names),):
            array = array[None]
        if array.ndim != 2 or array.shape[1] != len(names):
            wanted = ", ".join(f"'{n}': ..." for n in names)
            raise ValueError(
                f"{label}: expected {{{wanted}}} or an array with {len(names)} columns, got an"
                f" array of shape {array.shape}"
            )
        return array
