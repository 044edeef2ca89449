"""The result of a fit: one object over an xarray tree, valid at any point of the domain."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..atomic_files import write_sealed
from ..device import jit
from ..model.binding import bind
from ..model.model import Model
from ..posing.collocation import grid
from ..posing.coordinates import Points
from ..posing.problem import Problem
from ..status import Status
from .intervals import check_level, summarise_draws
from .storage import compact, encoding

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from .diagnosis import Diagnosis

FORMAT = "fiducial-result-2"
"""Format of a saved result."""
UNSEALED_FORMAT = "fiducial-result-1"
"""Format of results saved by older versions, without a checksum and with all draws."""
_BATCH = 4_000
"""Number of field values computed at once when a band is evaluated: with more, the hidden
units take longer to write to memory and to read again than to compute."""


class Result:
    """The solution and the unknown constants, with intervals where the method gives them.

    Arguments:
        tree: the content of the result, as an ``xarray.DataTree``.
        problem: the problem that was fitted.
        model: the problem in computable form, if it exists already.

    Example:
        ``result.band(x, level=0.95)`` is a dataset with ``mean``, ``lower`` and
        ``upper``.
    """

    def __init__(self, tree: "xr.DataTree", problem: Problem, model: Model | None = None):
        self.tree = tree
        self.problem = problem
        self._bound = model

    @property
    def status(self) -> Status:
        """How the run ended: the best status of its chains."""
        return min(self.statuses, key=lambda s: (not s.usable, s))

    @property
    def statuses(self) -> list[Status]:
        """How each chain ended."""
        return [Status(int(s)) for s in np.asarray(self.tree["status"])]

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.tree.attrs["method"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.tree.attrs["seed"])

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of compiling and of running."""
        return json.loads(self.tree.attrs["seconds"])

    @property
    def no_interval(self) -> str | None:
        """Why there are no intervals, or None."""
        return str(self.tree.attrs["no_interval"]) or None

    @property
    def draws(self) -> "xr.Dataset | None":
        """Draws of the unknown constants, the noise sizes and the parameters ``theta``;
        None for a point estimate.
        """
        return self.tree["draws"].to_dataset() if "draws" in self.tree.children else None

    @property
    def facts(self) -> dict[str, Any]:
        """What the method knows about its own answer, such as ``effective_draws``."""
        if "facts" not in self.tree.children:
            return {}
        known = self.tree["facts"].data_vars.items()
        return {str(name): v.values if v.ndim else float(v) for name, v in known}

    @cached_property
    def model(self) -> Model:
        """The problem in computable form, with which the draws are evaluated."""
        model = self._bound
        if model is None:
            with jax.enable_x64(True):
                model = bind(self.problem)
        if self.tree.attrs.get("linear"):
            return model.linear_around(self.parameter_vectors("estimate")[0])
        return model

    def parameters(self, level: float = 0.95) -> "pd.DataFrame":
        """Return a table of the unknown constants and the inferred noise sizes.

        Arguments:
            level: level of the intervals.

        Returns:
            A data frame with a row for each component of an unknown, and the columns
            estimate, mean, sd, lower, upper, truth and unit; a value that is not known is
            not-a-number.
        """
        import pandas as pd

        check_level(level)
        rows: dict[str, dict[str, Any]] = {}
        for name in map(str, self.tree["estimate"].data_vars):
            if name != "theta":
                rows |= self._rows(name, level)
        columns = ["estimate", "mean", "sd", "lower", "upper", "truth", "unit"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table.astype(dict.fromkeys(columns[:-1], float))

    def _rows(self, name: str, level: float) -> dict[str, dict[str, Any]]:
        """Return a row of the table of parameters for each component of a constant."""
        estimate = np.asarray(self.tree["estimate"][name].values)
        draws, truth = self.draws, self._true_constants().get(name)
        drawn = None if draws is None else draws[name].values.reshape((-1, *estimate.shape))
        rows = {}
        for i in np.ndindex(estimate.shape):
            own = None if drawn is None else drawn[(slice(None), *i)]
            if own is not None and np.ptp(own) == 0:  # a constant that is held has no interval
                own = None
            label = name + (f"[{','.join(map(str, i))}]" if i else "")
            row: dict[str, Any] = {
                k: float(v) for k, v in summarise_draws(estimate[i], own, level).items()
            }
            row["truth"] = None if truth is None else float(np.asarray(truth)[i])
            row["unit"] = self.problem.units.get(name, "")
            rows[label] = row
        return rows

    def _true_constants(self) -> dict[str, Any]:
        truth = self.problem.truth
        if truth is None:
            return {}
        noise = {f"{n}_{g}": v for g, own in truth.noise.items() for n, v in own.items()}
        return {**noise, **truth.unknowns}

    def band(self, x: Any = None, level: float = 0.95) -> "xr.Dataset":
        """Return the solution with its confidence band.

        Arguments:
            x: points of the domain in any form that observations take; by default a
                regular grid.
            level: level of the band.

        Returns:
            A dataset with ``mean``, ``sd``, ``lower``, ``upper`` and ``estimate`` over
            (output, point) and the coordinates of the points. Without intervals sd,
            lower and upper are not-a-number, and the attribute ``note`` says why.
        """
        from .bands import confidence_band

        check_level(level)
        return confidence_band(self, self._points(x), level)

    def predict(self, x: Any = None, level: float = 0.95) -> "xr.Dataset":
        """Return the interval of a new measurement, with its noise.

        Where an output has several noisy groups of observations, the new measurement has
        the noise of the first.

        Arguments:
            x: as for ``band``.
            level: level of the interval.

        Returns:
            A dataset as from ``band``, for each output with noisy observations, and two
            more variables that say where the width comes from: ``sd_solution`` for the
            uncertainty of the solution (epistemic) and ``sd_noise`` for the error of the
            new measurement (aleatoric). Their squares add up to that of ``sd``.
        """
        from .bands import prediction_interval

        check_level(level)
        return prediction_interval(self, self._points(x), level)

    def grid(self, n: int | None = None) -> Points:
        """Return a regular grid over the domain: by default 101 points on a line, 41 along
        each of two coordinates, 11 along each of more.
        """
        domain = self.problem.domain
        default = {1: 101, 2: 41}.get(len(domain.names), 11)
        return Points(domain.names, grid(n or default)(domain))

    def parameter_vectors(self, node: str) -> np.ndarray:
        """Return the vectors ``theta`` of the node ``estimate`` or ``draws``, (draw, p)."""
        theta = np.asarray(self.tree[node]["theta"])
        return theta.reshape(-1, theta.shape[-1])

    def evaluate(self, theta: np.ndarray, points: Points) -> np.ndarray:
        """Return all outputs for each row of theta, (draw, point, output)."""
        with jax.enable_x64(True):
            return np.asarray(self._evaluator(jnp.asarray(theta), points))

    @cached_property
    def _evaluator(self) -> Callable[[Any, Points], Any]:
        model = self.model  # bound outside the trace

        def evaluate(theta: Any, points: Points) -> Any:
            size = max(1, _BATCH // max(1, len(points)))
            return jax.lax.map(lambda t: model.evaluate(t, points), theta, batch_size=size)

        return jit(evaluate)

    def _points(self, x: Any) -> Points:
        return self.grid() if x is None else self.problem.domain.points(x)

    def diagnose(self, against: "Sequence[Result]" = ()) -> "Diagnosis":
        """Return checks with numbers, and a verdict: trust, caution, or do not trust.

        Arguments:
            against: results of other methods for the same problem, to compare with. The
                comparison is in the diagnosis that comes back, and nowhere else: the
                result stays as it was, and so does its ``summary()``.
        """
        from .diagnosis import diagnose

        return diagnose(self, against) if against else self._diagnosis

    @cached_property
    def _diagnosis(self) -> "Diagnosis":
        from .diagnosis import diagnose

        return diagnose(self)

    def summary(self, level: float = 0.95, diagnosis: "Diagnosis | None" = None) -> dict[str, Any]:
        """Return the answer in one dictionary that JSON can hold, as in ``summary.json``.

        Arguments:
            level: level of the intervals.
            diagnosis: the diagnosis to report, such as one against other results; by
                default ``diagnose()``.
        """
        from .summary import summarise

        return summarise(self, level, diagnosis)

    def plot(self, level: float = 0.95, slices: Mapping[str, Sequence[float]] | None = None) -> Any:
        """Return a Matplotlib figure of the solution, its band, the data and the interval
        of new measurements.

        Arguments:
            level: level of the intervals.
            slices: with two or more coordinates, where to cut through the solution, such
                as ``{"t": [0.0, 0.5]}``. By default at times with data, at both ends and in
                the middle.
        """
        from .figures import plot

        return plot(self, level, slices)

    def plot_constants(self) -> Any:
        """Return a Matplotlib figure of the draws of the unknown constants, in pairs."""
        from .figures import plot_constants

        return plot_constants(self)

    def to_arviz(self) -> Any:
        """Return the draws in ArviZ's form, for its diagnostics and plots."""
        from .arviz_bridge import to_arviz

        return to_arviz(self)

    def __repr__(self) -> str:
        from .summary import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        import html

        table, verdict = self.parameters(), html.escape(str(self.diagnose()))
        heading = (
            f"<b>{html.escape(self.problem.name)}</b>: {html.escape(self.method)}, seed"
            f" {self.seed}, {html.escape(self.status.message)}"
        )
        return f"<div>{heading}{table.to_html() if len(table) else ''}<pre>{verdict}</pre></div>"

    def save(self, path: str | Path) -> Path:
        """Write the result to one netCDF file, which appears only when it is complete.

        Draws are stored by the directions in which they lie, so that the loaded result
        has the same intervals to a millionth of their widths. A checksum shows later
        damage to the file; other programs can read it as netCDF-4.

        Raises:
            FileExistsError: if the file exists; nothing is overwritten.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists already; give another name, or remove it first")
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = compact(self.tree)
        how: Any = {"engine": "h5netcdf", "encoding": encoding(stored)}
        write_sealed(path, lambda temporary: stored.to_netcdf(temporary, **how), FORMAT)
        return path
