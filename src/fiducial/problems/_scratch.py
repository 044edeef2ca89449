"""Scratch assays: their data, the problem of a growing and diffusing density with an
unknown profile at t = 0, and a reference without networks.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..datasets import scratch_assay
from ..noise.base import AbstractNoise
from ..noise.correlated import Correlated
from ..noise.gaussian import Gaussian
from ..posing.collocation import grid
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.unknowns import AbstractUnknown, Positive, Real
from ._curve import ExactCurve
from ._lines import Lines
from ._profile import Profile
from ._waves import MLPWithWaves

CAPACITY = 1700.0
"""Carrying capacity, in cells per square millimetre, as in the paper."""
DENSITIES = (10_000, 12_000, 14_000, 16_000, 18_000, 20_000)
"""Numbers of cells put into a well for which there are data."""
_COLUMN = 0.05 * 1.43
"""Area in which cells were counted, in square millimetres."""
_LAST = 2.0
"""Time of the last count, in days."""
_GROWTH = 0.5
"""Growth rate from which fits start, per day."""
_VOLUMES = 2
"""Finite volumes of the reference between two positions of the data; twice as many
move its estimates by a thousandth or less.
"""
_SAMPLES = 4000
"""Size of the reference's importance sample."""

Diffusivity = Callable[[Any, Any], Any]


class Assay(NamedTuple):
    """Densities measured at positions and times.

    Attributes:
        x: positions in mm.
        t: times in days.
        densities: by output of the problem, cells per square millimetre; a column per
            well where wells are replicates.
        starts: by output, the name of the unknown values of its profile at t = 0.
    """

    x: np.ndarray
    t: np.ndarray
    densities: dict[str, np.ndarray]
    starts: dict[str, str]

    def guess(self, output: str, knots: np.ndarray) -> Any:
        """Return the densities counted at t = 0, interpolated at knots."""
        first = self.t == 0
        y = self.densities[output][first]
        return np.interp(knots, self.x[first], y if y.ndim == 1 else y.mean(axis=1))


def measured(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions in mm, times in days, and densities in the three wells, one
    column each; the first position is left out, as in the paper.
    """
    table = scratch_assay()
    kept = (table["initial_cells"] == cells) & (table["position_um"] > table["position_um"].min())
    wells = np.stack([table[f"count{i}"][kept] for i in (1, 2, 3)], axis=1) / _COLUMN
    return table["position_um"][kept] / 1000, table["time_h"][kept] / 24, wells


def scratch_problem(
    name: str,
    diffusivity: Diffusivity,
    transport: dict[str, AbstractUnknown],
    *,
    cells: int,
    noise: str,
    wells: str,
    knots: int,
    n_x: int,
    n_t: int,
) -> Problem:
    """Return the problem u_t = (d(u) u_x)_x + r u (1 - u / K) with no flux at both
    ends, and unknown values of the profile at t = 0.

    Arguments:
        name: name of the problem.
        diffusivity: ``(u, p) -> d``.
        transport: the unknowns of the diffusivity, the positive ones first.
        cells: number of cells put into each well.
        noise: ``"independent"`` or ``"correlated"``.
        wells: ``"mean"``, ``"replicates"`` or ``"experiments"``.
        knots: number of values of the profile at t = 0.
        n_x: number of positions where the equation must hold.
        n_t: number of times at which the equation must hold.
    """
    _check_options(name, cells, noise, wells, knots)
    assay = _assay(cells, wells)
    domain = Box(x=(float(assay.x.min()), float(assay.x.max())), t=(0, _LAST))
    profile = Profile(domain.lower[0], domain.upper[0], knots)
    guesses = {u: assay.guess(u, profile.knots) for u in assay.densities}
    single = len(assay.densities) == 1
    has_reference = noise == "independent" and single
    return Problem(
        name=name,
        equation=lambda f, at, p: tuple(_residual(f[u], at, p, diffusivity) for u in guesses),
        domain=domain,
        unknowns={
            **transport,
            "r": Positive(_GROWTH),
            **{assay.starts[u]: Real(guess, scale=100.0) for u, guess in guesses.items()},
        },
        outputs={u: Output(scale=CAPACITY / 4) for u in guesses},
        network=MLPWithWaves((20, 20) if single else (30, 30), waves=3),
        collocation=grid(x=n_x, t=n_t),
        constraint=_from_profile(profile, assay.starts),
        observations=[*_counted(assay, noise), *_closed_ends(domain, list(guesses), n_t)],
        units=_units(assay),
        exact=_reference(diffusivity, transport, profile, assay) if has_reference else None,
    )


def _check_options(name: str, cells: int, noise: str, wells: str, knots: int) -> None:
    if cells not in DENSITIES:
        raise ValueError(
            f"{name}(cells={cells!r}): there are data for {', '.join(map(str, DENSITIES))} cells"
        )
    if noise not in ("independent", "correlated"):
        raise ValueError(f"{name}(noise={noise!r}): give 'independent' or 'correlated'")
    if wells not in ("mean", "replicates", "experiments"):
        raise ValueError(f"{name}(wells={wells!r}): give 'mean', 'replicates' or 'experiments'")
    if knots < 2:
        raise ValueError(
            f"{name}(knots={knots!r}): the profile at t = 0 needs at least 2 values; 8 is the"
            " default"
        )


def _assay(cells: int, wells: str) -> Assay:
    x, t, density = measured(cells)
    if wells == "experiments":
        return Assay(
            x,
            t,
            densities={f"u{i}": density[:, i - 1] for i in (1, 2, 3)},
            starts={f"u{i}": f"start{i}" for i in (1, 2, 3)},
        )
    seen = density.mean(axis=1) if wells == "mean" else density
    return Assay(x, t, densities={"u": seen}, starts={"u": "start"})


def _residual(u: Any, at: Any, p: Any, diffusivity: Diffusivity) -> Any:
    def flux(at: Any) -> Any:
        return diffusivity(u(at), p) * derivative(u, at, "x")

    return derivative(u, at, "t") - derivative(flux, at, "x") - _growth(u(at), p["r"])


def _growth(u: Any, r: Any) -> Any:
    return r * u * (1 - u / CAPACITY)


def _from_profile(profile: Profile, starts: dict[str, str]) -> Callable[[Any, Any, Any], Any]:
    """Return a form of the solution that has its profile at t = 0."""

    def constraint(raw: Any, at: Any, p: Any) -> Any:
        single = len(starts) == 1
        built = {
            u: profile(at.x, p[start]) + at.t / _LAST * (raw if single else raw[u])
            for u, start in starts.items()
        }
        return built["u"] if single else built

    return constraint


def _counted(assay: Assay, noise: str) -> list[Observed]:
    """Return the densities as observations."""
    model: AbstractNoise = Gaussian() if noise == "independent" else Correlated(over=("x", "t"))
    points = {"x": assay.x, "t": assay.t}
    return [Observed(u, x=points, y=y, noise=model) for u, y in assay.densities.items()]


def _closed_ends(domain: Box, outputs: list[str], n_t: int) -> list[Observed]:
    """Return zero slopes at both ends, through which no cells move."""

    def slope(u: str) -> Callable[[Any, Any, Any], Any]:
        return lambda f, at, p: derivative(f[u], at, "x")

    times = np.linspace(0, _LAST, n_t)
    ends = {"left_end": domain.lower[0], "right_end": domain.upper[0]}
    return [
        Observed(
            slope(u),
            x={"x": np.repeat(x, n_t), "t": times},
            name=end if len(outputs) == 1 else f"{end}_{u}",
        )
        for u in outputs
        for end, x in ends.items()
    ]


def _units(assay: Assay) -> dict[str, str]:
    densities = [*assay.densities, *assay.starts.values()]
    own = {"x": "mm", "t": "days", "D": "mm^2/day", "r": "1/day"}
    return own | dict.fromkeys(densities, "cells/mm^2")


def _reference(
    diffusivity: Diffusivity,
    transport: dict[str, AbstractUnknown],
    profile: Profile,
    assay: Assay,
) -> ExactCurve:
    """Return least squares and the fiducial density of the problem with one output,
    its equation solved by finite volumes.
    """
    names = (*transport, "r")
    y = assay.densities["u"]
    points = np.stack([assay.x, assay.t], axis=1)
    count = len(np.unique(assay.x))
    lines = Lines(
        lambda u, p: diffusivity(u, dict(zip(names, p, strict=False))),
        lambda u, p: _growth(u, p[len(transport)]),
        lambda x, p: profile(x, p[len(names) :]),
        np.linspace(profile.knots[0], profile.knots[-1], _VOLUMES * (count - 1) + 1),
        CAPACITY,
    )

    def curve(points: Any, p: Any) -> Any:
        table = np.concatenate(p, axis=1) if np.ndim(p[0]) else np.asarray(p)[None]
        found = lines(points, table)
        return found if np.ndim(p[0]) else found[0]

    start = [
        *(float(u.guess) for u in transport.values()),
        _GROWTH,
        *np.maximum(assay.guess("u", profile.knots), 0.05 * CAPACITY),
    ]
    positive = [name for name, u in transport.items() if u.kind == "positive"]
    every = np.repeat(points, y.size // len(y), axis=0)
    return ExactCurve(curve, every, start, names, "u", positive=(*positive, "r"), samples=_SAMPLES)
