"""Observations: which quantity was measured, where, and with what noise."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..noise.base import AbstractNoise

Operator = Callable[[Any, Any, Any], Any]
"""A function ``(field, at, p) -> number`` of the solution, a point and the constants."""


class Observed:
    """Measured or prescribed values of a quantity of the field.

    Arguments:
        what: the name of an output; or ``"equation"``, for values of the equation's
            residual (a right-hand side); or a function ``(field, at, p)``, for a
            derivative, a flux, or a condition at a boundary.
        x: the points: a vector for one coordinate, or a mapping from coordinate to
            vector.
        y: the values: one per point, or a column per replicate; zero by default. When
            the equation is a system, a tuple with values for each of its parts.
        noise: the noise model; None for exact values.
        name: name of the group; by default the output, ``equation``, or the
            function's name.

    Example:
        >>> Observed("u", x=[0.0, 1.0], y=[[1.0, 1.1], [2.0, 1.9]]).y.shape
        (2, 2)
    """

    def __init__(
        self,
        what: str | Operator,
        x: Any,
        y: Any = 0.0,
        noise: AbstractNoise | None = None,
        *,
        name: str | None = None,
    ):
        if not (isinstance(what, str) or callable(what)):
            raise TypeError(
                f"Observed({what!r}, ...): give the name of an output, such as 'u', or 'equation',"
                " or a function (field, at, p)"
            )
        if noise is not None and not isinstance(noise, AbstractNoise):
            raise TypeError(
                f"Observed(noise={noise!r}): give a noise model such as Gaussian(sd=0.1), or leave"
                " it out for exact values"
            )
        self.what = what
        self.name = name or (
            what if isinstance(what, str) else getattr(what, "__name__", "operator").strip("<>")
        )
        self.x = x
        self.y: np.ndarray | tuple[np.ndarray, ...]
        if isinstance(y, tuple) and what == "equation":
            self.y = tuple(self._values(v) for v in y)
        else:
            self.y = self._values(y)
        self.noise = noise

    def _values(self, y: Any) -> np.ndarray:
        try:
            values = np.asarray(y, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"observations of '{self.name}': the values are not numbers: {y!r}; give a vector,"
                " or an array with a row per point and a column per replicate"
            ) from None
        if values.ndim > 2:
            raise ValueError(
                f"observations of '{self.name}': y has {values.ndim} dimensions; give a vector, or"
                " a row per point and a column per replicate"
            )
        bad = ~np.isfinite(values)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(np.atleast_1d(bad))[0])
            raise ValueError(
                f"observations of '{self.name}': y{list(where)} is {np.atleast_1d(values)[where]};"
                " remove the point or correct the value"
            )
        return values

    def with_values(self, y: Any) -> "Observed":
        """Return observations of the same quantity at the same points with other
        values, given as for ``Observed``.
        """
        return Observed(self.what, self.x, y, self.noise, name=self.name)

    def __repr__(self) -> str:
        shape = self.y.shape if isinstance(self.y, np.ndarray) else tuple(v.shape for v in self.y)
        return f"Observed('{self.name}', y of shape {shape}, noise={self.noise})"

    @classmethod
    def from_table(
        cls,
        what: str | Operator,
        table: Any,
        *,
        x: str | Sequence[str] | Mapping[str, str],
        y: str | Sequence[str],
        noise: AbstractNoise | None = None,
        name: str | None = None,
    ) -> "Observed":
        """Return observations from a CSV file or a data frame.

        Arguments:
            what: as for ``Observed``.
            table: path of a CSV file with a header, a pandas data frame, or a mapping
                of columns.
            x: the column of the only coordinate; or coordinate columns by their own
                names; or a mapping from coordinate to column.
            y: the column of values, or one column per replicate.
            noise: as for ``Observed``.
            name: as for ``Observed``.

        Example:
            >>> table = {"day": [0.0, 1.0], "a": [1.0, 2.0], "b": [1.1, 2.1]}
            >>> Observed.from_table("u", table, x="day", y=["a", "b"]).y.shape
            (2, 2)
        """
        columns = _Columns(table)
        points: Any
        if isinstance(x, str):
            points = columns[x]
        else:
            named = x if isinstance(x, Mapping) else {c: c for c in x}
            points = {coordinate: columns[c] for coordinate, c in named.items()}
        values = columns[y] if isinstance(y, str) else np.stack([columns[c] for c in y], axis=1)
        return cls(what, points, values, noise, name=name)


class _Columns:
    """The columns of a table by name, as numbers."""

    def __init__(self, table: Any):
        is_file = isinstance(table, str | Path)
        self.source = str(table) if is_file else "the table"
        self.table = _read_csv(Path(table)) if is_file else table
        self.names = [str(c) for c in getattr(self.table, "columns", self.table)]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise ValueError(
                f"{self.source} has no column '{name}'; its columns are {', '.join(self.names)}"
            )
        try:
            return np.asarray(self.table[name], dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{self.source}: column '{name}' holds values that are not numbers; correct them"
                " in the table, or name another column"
            ) from None


def _read_csv(path: Path) -> Any:
    import pandas as pd

    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: no such file; a relative path starts at the current folder, {Path.cwd()}"
        )
    try:
        return pd.read_csv(path, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a CSV table: {error}") from None
