"""The answers of one method to all data sets of one problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..posing.coordinates import Points
from ..posing.problem import Problem
from ..status import Status


@dataclass(frozen=True)
class Cell:
    """The answers of one method to all data sets at one grid point.

    Attributes:
        method: name of the method.
        options: options of the problem at the grid point.
        problem: the problem, with its truth.
        points: where the field is judged.
        truth: true values by name: outputs at the points, unknowns, noise sizes.
        arrays: results as ``Bench.shard`` names them, all data sets on the first axis.
    """

    method: str
    options: dict[str, Any]
    problem: Problem
    points: Points
    truth: dict[str, np.ndarray]
    arrays: dict[str, np.ndarray]

    @property
    def usable(self) -> np.ndarray:
        """For each data set whether there is an answer."""
        return np.isin(self.arrays["status"], [s.value for s in Status if s.usable])

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of compiling, of the method's own programs, and of all else."""
        return dict(zip(("compile", "run", "rest"), self.arrays["seconds"].tolist(), strict=True))

    @property
    def label(self) -> str:
        """The name of the cell in figures and files."""
        return "-".join([self.method, *(f"{k}={v}" for k, v in self.options.items())])
