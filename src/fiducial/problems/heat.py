"""The heat equation with unknown diffusivity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.collocation import sobol
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Problem
from ..posing.truth import Truth
from ..posing.unknowns import Positive
from ._points import edges, inner, later, mesh


def heat(
    *,
    sd: float = 0.05,
    D: float = 0.1,
    sensors: int = 5,
    times: int = 4,
    n_f: int = 300,
    n_edge: int = 20,
    data_seed: int = 0,
) -> Problem:
    """The heat equation, u_t = D u_xx, with unknown diffusivity D.

    - Domain: x in [0, 1], t in [0, 1].
    - Known exactly: u(x, 0) = sin(pi x), and u = 0 at both ends.
    - Observed: u, with independent normal errors of known standard deviation.
    - Truth: u = sin(pi x) exp(-pi^2 D t).
    - Exact limits: the fiducial density of D, integrated on a fine grid of D.

    Arguments:
        sd: standard deviation of the measurements.
        D: the true diffusivity.
        sensors: number of positions at which u is measured, evenly spaced.
        times: number of times at which u is measured, the last one t = 1.
        n_f: number of points where the equation must hold.
        n_edge: number of points at t = 0, and at each end, where u is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(heat().unknowns)
        ['D']
    """
    domain = Box(x=(0, 1), t=(0, 1))
    points = mesh(x=inner(0, 1, sensors), t=later(1, times))
    mean = _temperature(points["x"], points["t"], D)
    errors = sd * np.random.default_rng(data_seed).standard_normal(mean.size)
    edge = edges(domain, n_edge, x="both", t="lower")
    at_edge = np.where(edge[:, 1] == 0, np.sin(np.pi * edge[:, 0]), 0.0)
    return Problem(
        name="heat",
        equation=lambda u, at, p: derivative(u, at, "t") - p["D"] * derivative(u, at, "x", order=2),
        domain=domain,
        unknowns={"D": Positive(1.0)},
        collocation=sobol(n_f),
        observations=[
            Observed("u", x=points, y=mean + errors, noise=Gaussian(sd=sd)),
            Observed("u", x=edge, y=at_edge, name="edge"),
        ],
        truth=Truth(outputs={"u": lambda at: _temperature(at.x, at.t, D, jnp)}, unknowns={"D": D}),
        exact=_ExactLimits(points["x"], points["t"], sd, D),
    )


def _temperature(x: Any, t: Any, D: Any, xp: Any = np) -> Any:
    """Return the solution for a diffusivity."""
    return xp.sin(xp.pi * x) * xp.exp(-(xp.pi**2) * D * t)


@dataclass(frozen=True)
class _ExactLimits:
    """Limits from the fiducial density of D: the likelihood times the length of the
    derivative of the means with respect to D.

    Arguments:
        x: positions of the measurements.
        t: times of the measurements.
        sd: standard deviation of the measurements.
        D: the true diffusivity, around which the grid of the integration lies.
    """

    x: np.ndarray
    t: np.ndarray
    sd: float
    D: float

    def __call__(
        self, data: Mapping[str, np.ndarray], at: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        offsets = np.linspace(-8, 8, 20_001) * self.sd
        grid = np.maximum(self.D * (1 + 10 * offsets), 1e-6)
        mean = _temperature(self.x, self.t, grid[:, None])
        misfit = np.sum((np.ravel(data["u"]) - mean) ** 2, axis=1)
        length = np.sum((self.t * mean) ** 2, axis=1)
        log_density = -0.5 * misfit / self.sd**2 + 0.5 * np.log(length)
        below = np.cumsum(np.exp(log_density - log_density.max()) * np.gradient(grid))
        tails = np.array([1 - level, 1 + level]) / 2
        lower, upper = np.interp(tails * below[-1], below, grid)
        x, t = np.asarray(at["x"]), np.asarray(at["t"])
        # the larger D, the cooler
        cool, warm = _temperature(x, t, upper), _temperature(x, t, lower)
        return {"D": (lower, upper), "u": (cool, warm)}
