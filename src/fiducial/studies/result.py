"""What a study found: tables, warnings, figures and files."""

import io
import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..atomic_files import write_sealed, write_text, write_with
from .cell import Cell
from .table import off_level, row, to_csv, to_markdown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


TABLE = "fiducial-table-1"
"""Format of ``table.md``, which ``fiducial show`` prints."""
_TREE = "fiducial-study-2"
"""Format of ``study.nc``; version 1 had no seal."""


@dataclass(frozen=True)
class Study:
    """The answers of every method to all data sets, and their table.

    Attributes:
        cells: the results by method and grid point.
        level: level of the intervals.
        seed: seed of data and methods.

    Example:
        ``study("poisson", [PINN()], replicates=100).table``
    """

    cells: list[Cell]
    level: float
    seed: int

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The table, a dictionary per row."""
        rows = []
        for cell in self.cells:
            outputs = list(cell.problem.outputs)
            found = row(cell.method, cell.arrays, cell.truth, outputs, cell.usable)
            rows.append(found | {f"option_{name}": value for name, value in cell.options.items()})
        return rows

    @property
    def table(self) -> "pd.DataFrame":
        """The table as a data frame, with the columns of ``table.csv``."""
        import pandas as pd

        return pd.read_csv(io.StringIO(to_csv(self.rows)))

    @property
    def warnings(self) -> list[str]:
        """A line for every coverage more than two standard errors off its level."""
        return off_level(self.rows, self.level)

    @property
    def tree(self) -> "xr.DataTree":
        """Measures, limits on the points and imputed errors of every data set, a
        node per cell.
        """
        import xarray as xr

        attrs = {"format": _TREE, "level": self.level, "seed": self.seed}
        nodes = {"/" + cell.label: _dataset(cell) for cell in self.cells}
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs), **nodes})

    def __str__(self) -> str:
        return to_markdown(self.rows) + "\n".join(self.warnings)

    def __repr__(self) -> str:
        return str(self)

    def save(self, folder: str | Path) -> Path:
        """Write table.csv, table.md, study.nc and the figures into a folder."""
        from .figures import all_figures

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tree = self.tree
        write_sealed(
            folder / "study.nc", lambda path: tree.to_netcdf(path, engine="h5netcdf"), _TREE
        )
        for name, figure in all_figures(self).items():
            write_with(folder / f"{name}.png", partial(figure.savefig, dpi=130, format="png"))
        text = "\n".join([to_markdown(self.rows), *self.warnings])
        write_sealed(folder / "table.md", lambda path: path.write_text(text), TABLE)
        write_text(folder / "table.csv", to_csv(self.rows))
        return folder


def _dataset(cell: Cell) -> "xr.Dataset":
    """Return the results of a cell as a dataset."""
    import xarray as xr

    variables: dict[str, Any] = {}
    for name, values in cell.arrays.items():
        if name == "seconds":
            continue
        quantity, _, measure = name.partition(".")
        if quantity in cell.problem.outputs:
            inner = ["point"]
        else:
            owner = measure if quantity == "errors" else quantity
            inner = [f"{owner}_{i}" for i in range(values.ndim - 1)]
        variables[name.replace(".", "_")] = (["dataset", *inner][: values.ndim], values)
    return xr.Dataset(
        variables,
        coords={name: ("point", v) for name, v in cell.points.coordinates().items()},
        attrs={"options": json.dumps(cell.options), "seconds": json.dumps(cell.seconds)},
    )
