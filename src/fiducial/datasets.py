"""Published measurements that come with the package, available offline.

Each function returns a mapping from column to NumPy array, a table for
``Observed.from_table``."""

from importlib.resources import files

import numpy as np

Table = dict[str, np.ndarray]
"""The columns of a table by name."""


def v79_tumour() -> Table:
    """Return the growth of Chinese hamster V79 fibroblast tumour spheroids: 45 volumes
    over 60 days.

    Columns: ``time_days`` and ``volume`` (in 10^9 cubic micrometres).

    Reference:
        Marusic, Bajzer, Freyer, Vuk-Pavlovic (1994), Analysis of growth of
        multicellular tumour spheroids by mathematical models, Cell Proliferation
        27:73-94.

    Example:
        >>> len(v79_tumour()["volume"])
        45
    """
    return _read("v79_tumour.csv")


def scratch_assay() -> Table:
    """Return scratch assays of PC-3 cells: counts in columns of 50 um by 1430 um, at 38
    positions, 5 times and 6 initial cell numbers.

    Columns: ``initial_cells``, ``time_h``, ``position_um`` and the counts in three
    wells, ``count1``, ``count2``, ``count3``. The density in cells per square
    millimetre is a count over 0.0715.

    Reference:
        Jin, Shah, Penington, McCue, Chopin, Simpson (2016), Reproducibility of scratch
        assays is affected by the initial degree of confluence, Journal of Theoretical
        Biology 390:136-145.

    Example:
        >>> table = scratch_assay()
        >>> len(table["count1"]) == 6 * 5 * 38
        True
    """
    return _read("scratch_assay.csv")


def nist(name: str) -> Table:
    """Return the data of a nonlinear regression of NIST's Statistical Reference
    Datasets.

    Columns: ``x`` and ``y``.

    Arguments:
        name: ``"misra1a"``, ``"rat42"`` or ``"boxbod"``.

    Reference:
        NIST, Statistical Reference Datasets, Nonlinear Regression.

    Example:
        >>> nist("boxbod")["y"].tolist()
        [109.0, 149.0, 149.0, 191.0, 213.0, 224.0]
    """
    names = ("misra1a", "rat42", "boxbod")
    if name not in names:
        raise ValueError(f"nist({name!r}): give one of {', '.join(map(repr, names))}")
    return _read(f"nist_{name}.csv")


def _read(name: str) -> Table:
    with (files(__package__) / "tables" / name).open() as file:
        columns = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",")
    return dict(zip(columns, values.T, strict=True))
