"""What a fit gives back: one object over an xarray tree, valid at any point of the
domain.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..atomic_files import write_with
from ..device import jit, run_once
from ..methods.base import AbstractMethod, Answer
from ..model.binding import bind
from ..model.model import Model
from ..posing.coordinates import Points
from ..posing.groups import Group
from ..posing.problem import Problem
from ..running.driver import Run
from ..status import Status
from .intervals import spread

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from .diagnosis import Diagnosis

FORMAT = "fiducial-result-1"
_BATCH = 4_000
"""Field values computed at once when a band is evaluated."""


class Result:
    """The solution and the unknowns, with intervals where the method gives them.

    Arguments:
        tree: everything the fit left, as an ``xarray.DataTree``.
        problem: the problem that was fitted.

    Example:
        ``result.band(x, level=0.95)`` is a dataset with ``mean``, ``lower`` and
        ``upper``.
    """

    def __init__(self, tree: "xr.DataTree", problem: Problem):
        self.tree = tree
        self.problem = problem

    @classmethod
    def build(
        cls,
        model: Model,
        method: AbstractMethod,
        answer: Answer,
        finished: Run,
        *,
        seed: int,
        elsewhere: "xr.Dataset | None" = None,
    ) -> "Result":
        """Lay the answer to the first data set of a run out as a tree, with what
        fits from other guesses came to.
        """
        import xarray as xr

        problem, status = model.problem, finished.outcome.status[0]
        attrs = {
            "format": FORMAT,
            "fiducial_version": metadata.version("fiducial"),
            "problem": problem.name,
            "options": json.dumps(None if problem.options is None else dict(problem.options)),
            "method": method.name,
            "settings": json.dumps(method.settings()),
            "no_interval": method.no_interval or "",
            "linear": int(method.linear),
            "seed": seed,
            "seconds": json.dumps(finished.seconds),
        }
        nodes: dict[str, xr.Dataset] = {
            "/": xr.Dataset({"status": ("chain", status)}, attrs=attrs),
            "/estimate": (
                _constants(model, answer.estimate[0][None, None]).isel(chain=0, draw=0, drop=True)
            ),
        }
        if answer.draws is not None:
            nodes["/draws"] = drawn = _constants(model, answer.draws["theta"][0])
            for name in set(drawn.data_vars) - {"theta", *problem.unknowns}:
                # a fit takes part of the errors up, or leaves their size as it was
                # guessed; this is the root of RSS / (n - p) where that is exact
                nodes["/estimate"][name].values = (drawn[name] ** -2).mean(
                    ("chain", "draw")
                ).values ** -0.5
            errors = {
                g: (("chain", "draw", f"{g}_observation"), z[0])
                for g, z in answer.draws["errors"].items()
            }
            nodes |= {"/errors": xr.Dataset(errors)} if errors else {}
        if answer.left_out is not None:
            nodes["/left_out"] = xr.Dataset(
                {
                    n: ([f"{n}_{i}" for i in range(v.ndim - 1)], v[0])
                    for n, v in answer.left_out.items()
                }
            )
        if answer.facts:
            nodes["/facts"] = xr.Dataset(
                {name: ((), values[0]) for name, values in answer.facts.items()}
            )
        if elsewhere is not None:
            nodes["/elsewhere"] = elsewhere
        for phase, info in finished.outcome.trace.items():
            nodes[f"/trace/{phase}"] = xr.Dataset(
                {name: (("chain", "record"), v[0]) for name, v in info.items()}
            )
        for g in problem.groups:
            observed = {
                "value": ("observation", g.y),
                **{c: ("observation", v) for c, v in g.points.coordinates().items()},
            }
            nodes[f"/observed/{g.name}"] = xr.Dataset(
                observed, attrs={"noise": json.dumps(g.noise.describe() if g.noise else None)}
            )
        result = cls(xr.DataTree.from_dict(nodes), problem)
        result.__dict__["model"] = result._read_by(model)  # spares binding the problem again
        return result

    # -- what the run was
    # ---------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """What became of the run: the best of its chains."""
        return min(self.statuses, key=lambda s: (not s.usable, s))

    @property
    def statuses(self) -> list[Status]:
        """What became of each chain."""
        return [Status(int(s)) for s in np.asarray(self.tree["status"])]

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.tree.attrs["method"])

    @property
    def seed(self) -> int:
        """The seed it was run with."""
        return int(self.tree.attrs["seed"])

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of compilation and of running."""
        return json.loads(self.tree.attrs["seconds"])

    @property
    def no_interval(self) -> str | None:
        """Why there are no intervals, or None."""
        return str(self.tree.attrs["no_interval"]) or None

    @property
    def draws(self) -> "xr.Dataset | None":
        """Draws of the unknowns, the noise sizes and the parameters ``theta``, or
        None for a point estimate.
        """
        return self.tree["draws"].to_dataset() if "draws" in self.tree.children else None

    @property
    def facts(self) -> dict[str, float]:
        """Further numbers that the method gave about its answer."""
        return (
            {str(k): float(v) for k, v in self.tree["facts"].data_vars.items()}
            if "facts" in self.tree.children
            else {}
        )

    @cached_property
    def model(self) -> Model:
        """The problem in computable form."""
        with jax.enable_x64(True):
            return self._read_by(bind(self.problem))

    def _read_by(self, model: Model) -> Model:
        """The model through which the draws are meant to be read."""
        return (
            model.linear_around(self._theta("estimate")[0])
            if self.tree.attrs.get("linear")
            else model
        )

    # -- answers
    # ------------------------------------------------------------------------------

    def parameters(self, level: float = 0.95) -> "pd.DataFrame":
        """A table of the unknowns and the inferred noise sizes.

        Arguments:
            level: level of the intervals.

        Returns:
            A data frame with a row for each (component of an) unknown and columns
            estimate, mean, sd, lower, upper, truth and unit; not-a-number where not
            known.
        """
        import pandas as pd

        _check_level(level)
        rows: dict[str, dict[str, Any]] = {}
        for name in self._constant_names():
            estimate = np.asarray(self.tree["estimate"][name].values)
            truth = self._truth_of(name)
            drawn = (
                None
                if self.draws is None
                else self.draws[name].values.reshape((-1, *estimate.shape))
            )
            for i in np.ndindex(estimate.shape):
                label = name + (f"[{','.join(map(str, i))}]" if i else "")
                known = None if truth is None else float(np.asarray(truth)[i])
                rows[label] = {
                    **_spread(
                        float(estimate[i]),
                        None if drawn is None else drawn[(slice(None), *i)],
                        level,
                    ),
                    "truth": known,
                }
                rows[label]["unit"] = self.problem.units.get(name, "")
        columns = ["estimate", "mean", "sd", "lower", "upper", "truth", "unit"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        return table.astype(dict.fromkeys(columns[:-1], float))

    def band(self, x: Any = None, level: float = 0.95) -> "xr.Dataset":
        """The solution with its confidence band.

        Arguments:
            x: points of the domain in any form that observations take; by default a
                grid.
            level: level of the band.

        Returns:
            A dataset with ``mean``, ``sd``, ``lower``, ``upper`` and ``estimate`` over
            (output, point) and the coordinates of the points. Without intervals sd,
            lower and upper are not-a-number and the attribute ``note`` says why.
        """
        return self._band(x, level, noisy=False)

    def predict(self, x: Any = None, level: float = 0.95) -> "xr.Dataset":
        """The interval for a new measurement, noise included; of several noisy groups
        of an output it is like those of the first.

        Arguments:
            x: as for ``band``.
            level: level of the interval.

        Returns:
            As ``band``, for each output that has noisy observations, with two more
            variables that say where the width comes from: ``sd_solution`` for not
            knowing the solution (epistemic) and ``sd_noise`` for the error of the new
            measurement (aleatoric). Their squares add up to that of ``sd``.
        """
        return self._band(x, level, noisy=True)

    def _band(self, x: Any, level: float, *, noisy: bool) -> "xr.Dataset":
        import xarray as xr

        _check_level(level)
        points = self.grid() if x is None else self.problem.domain.points(x)
        outputs = list(self.problem.outputs)
        # of several noisy groups of one output the first says what a new measurement is
        # like
        noises = {
            g.output: g for g in reversed(self.problem.groups) if g.noise is not None and g.output
        }
        if noisy:
            outputs = [o for o in outputs if o in noises]
            if not outputs:
                raise ValueError(
                    "predict: no output has noisy observations, so there is no noise to add; use"
                    " band"
                )
        which = [list(self.problem.outputs).index(o) for o in outputs]
        drawn = [] if self.draws is None else [self._theta("draws")]
        every = self._evaluate(np.concatenate([self._theta("estimate"), *drawn]), points)[
            :, :, which
        ]
        estimate, values = every[0], every[1:]
        stats = spread(estimate, values if self.draws is not None else None, level)
        if noisy:
            stats |= self._with_noise(
                stats["sd"], values, points, [noises[o] for o in outputs], level
            )
        if noisy and "left_out" in self.tree.children:
            stats |= self._conformal(points, [noises[o] for o in outputs], which, level)
        coordinates = {
            c: ("point", v, _unit(self.problem, c)) for c, v in points.coordinates().items()
        }
        note = (
            {"note": self.no_interval}
            if self.no_interval and np.isnan(stats["lower"]).all()
            else {}
        )
        return xr.Dataset(
            {name: (("output", "point"), v.T) for name, v in stats.items()},
            coords={"output": outputs, **coordinates},
            attrs={"level": level, "kind": "prediction" if noisy else "confidence", **note},
        )

    def _conformal(
        self, points: Points, groups: list[Group], which: list[int], level: float
    ) -> dict[str, np.ndarray]:
        """Limits for new measurements from fits that left some out."""
        from .conformal import conformal_limits

        left_out = self.tree["left_out"].to_dataset()
        values, sizes = (
            self._evaluate(self._theta("left_out"), points)[:, :, which],
            self._sizes("left_out", points, groups),
        )
        limits = [
            conformal_limits(
                values[..., i],
                sizes[..., i],
                left_out[f"z_{g.name}"].values,
                left_out[f"fold_{g.name}"].values,
                level,
            )
            for i, g in enumerate(groups)
        ]
        return {
            side: np.stack([found[j] for found in limits], axis=-1)
            for j, side in enumerate(("lower", "upper"))
        }

    def _with_noise(
        self,
        known: np.ndarray,
        values: np.ndarray,
        points: Points,
        groups: list[Group],
        level: float,
    ) -> dict[str, np.ndarray]:
        """Limits of new measurements, and the two parts of their standard deviation."""
        if self.draws is None:
            return {"sd_solution": known, "sd_noise": np.full_like(known, np.nan)}
        size = self._sizes("draws", points, groups)
        # the same errors at every point, so that limits do not depend on which points
        # are asked for
        error = np.random.default_rng(self.seed).standard_normal((len(size), 1, len(groups)))
        limits = spread(known, values + size * error, level)
        # given the draw the error is independent of the solution, so the variances add
        noise = np.sqrt(np.mean(size**2, axis=0))
        return {
            "lower": limits["lower"],
            "upper": limits["upper"],
            "sd": np.hypot(known, noise),
            "sd_solution": known,
            "sd_noise": noise,
        }

    def _sizes(self, node: str, points: Points, groups: list[Group]) -> np.ndarray:
        """Standard deviations of new measurements, (draw, point, group)."""
        model = self.model

        def sizes(theta: Any) -> Any:
            noise = model.noise(theta)
            return jnp.stack(
                [g.noise.sd(points, noise[g.name]) for g in groups if g.noise is not None], axis=-1
            )

        with jax.enable_x64(True):
            return np.asarray(run_once(jax.vmap(sizes), self._theta(node)))

    def grid(self, n: int | None = None) -> Points:
        """A regular grid over the domain: 101 points on a line, 41 along each
        coordinate otherwise.
        """
        from ..posing.collocation import grid

        d = len(self.problem.domain.names)
        return Points(
            self.problem.domain.names,
            grid(n or (101 if d == 1 else 41 if d == 2 else 11))(self.problem.domain),
        )

    def _theta(self, node: str) -> np.ndarray:
        theta = np.asarray(self.tree[node]["theta"])
        return theta.reshape(-1, theta.shape[-1])

    def _evaluate(self, theta: np.ndarray, points: Points) -> np.ndarray:
        """All outputs for each row of theta, (draw, point, output)."""
        with jax.enable_x64(True):
            return np.asarray(self._evaluator(jnp.asarray(theta), points))

    @cached_property
    def _evaluator(self) -> Callable[[Any, Points], Any]:
        model = self.model  # bound outside the trace
        # few draws at a time: the units of all at many points would be slow to write
        # and to read again
        return jit(
            lambda theta, x: jax.lax.map(
                lambda t: model.evaluate(t, x), theta, batch_size=max(1, _BATCH // max(1, len(x)))
            )
        )

    def _constant_names(self) -> list[str]:
        return [str(n) for n in self.tree["estimate"].data_vars if n != "theta"]

    def _truth_of(self, name: str) -> Any:
        truth = self.problem.truth
        if truth is None:
            return None
        noise = {f"{n}_{g}": v for g, own in truth.noise.items() for n, v in own.items()}
        return {**noise, **truth.unknowns}.get(name)

    # -- reading it
    # ---------------------------------------------------------------------------

    def diagnose(self, against: "Sequence[Result]" = ()) -> "Diagnosis":
        """Checks with numbers, and a verdict: trust, caution, or do not trust; other
        results to compare with stay part of it.
        """
        from .diagnosis import diagnose

        if "diagnosis" not in self.__dict__ or against:
            self.__dict__["diagnosis"] = diagnose(self, against)
        return self.__dict__["diagnosis"]

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """The answer in one dictionary that JSON can hold, as in ``summary.json``."""
        from .summary import summarise

        return summarise(self, level)

    def plot(self, level: float = 0.95, slices: Mapping[str, Sequence[float]] | None = None) -> Any:
        """A Matplotlib figure of the solution, the data, the band and the interval of
        new measurements.

        Arguments:
            level: level of the intervals.
            slices: with two or more coordinates, where to cut through the solution:
                ``{"t": [0.0, 0.5]}``. By default along time, where the data are, and at
                both ends and in the middle.
        """
        from .figures import plot

        return plot(self, level, slices)

    def plot_constants(self) -> Any:
        """A Matplotlib figure of the draws of the unknown constants against each
        other.
        """
        from .figures import plot_constants

        return plot_constants(self)

    def to_arviz(self) -> Any:
        """The draws in ArviZ's form, for its diagnostics and plots."""
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

    # -- keeping it
    # ---------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file, which appears only when it is whole.

        Raises:
            FileExistsError: if the file is there already; nothing is overwritten.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists already; give another name, or remove it first")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_with(path, lambda temporary: self.tree.to_netcdf(temporary, engine="h5netcdf"))
        return path


def _constants(model: Model, theta: np.ndarray) -> "xr.Dataset":
    """Unknowns, noise sizes and parameters for an array of theta of shape (chain,
    draw, p).
    """
    import xarray as xr

    def of(t: Any) -> dict[str, Any]:
        noise = {f"{n}_{g}": v for g, params in model.noise(t).items() for n, v in params.items()}
        return {**model.unknowns(t), **noise}

    values = run_once(jax.vmap(jax.vmap(of)), jnp.asarray(theta))
    variables = {}
    for name, v in values.items():
        dims = [f"{name}_{i}" for i in range(v.ndim - 2)]
        variables[name] = (("chain", "draw", *dims), np.asarray(v), _unit(model.problem, name))
    return xr.Dataset({**variables, "theta": (("chain", "draw", "parameter"), np.asarray(theta))})


def _unit(problem: Problem, name: str) -> dict[str, str]:
    return {"units": problem.units[name]} if name in problem.units else {}


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}: give a number between 0 and 1, such as 0.95")


def _spread(estimate: float, drawn: np.ndarray | None, level: float) -> dict[str, float]:
    stats = spread(
        np.asarray(estimate), None if drawn is None or np.ptp(drawn) == 0 else drawn, level
    )  # held constants have no interval
    return {k: float(v) for k, v in stats.items()}
