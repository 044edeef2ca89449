"""The Poisson equation on a square, with a source of unknown strength."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.collocation import sobol
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import laplacian
from ..posing.problem import Output, Problem
from ..posing.truth import Truth
from ..posing.unknowns import Real
from ._points import edges, inner, mesh


def poisson_2d(
    *,
    sd: float = 0.05,
    sensors: int = 3,
    strength: float = 1.0,
    n_f: int = 300,
    n_edge: int = 20,
    data_seed: int = 0,
) -> Problem:
    """Poisson's equation on the unit square, with a source of unknown strength.

    - Equation: u_xx + u_yy = -strength 2 pi^2 sin(pi x) sin(pi y).
    - Domain: x in [0, 1], y in [0, 1].
    - Known exactly: u = 0 on all four sides.
    - Observed: u, with independent normal errors of known standard deviation.
    - Truth: u = strength sin(pi x) sin(pi y).
    - Exact limits: u is linear in the strength, so they are those of a regression.

    Arguments:
        sd: standard deviation of the measurements of u.
        sensors: number of sensors along each side of their square grid inside the
            domain.
        strength: the true strength.
        n_f: number of points where the equation must hold.
        n_edge: number of points on each side of the square.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_2d().domain.names
        ('x', 'y')
    """
    domain = Box(x=(0, 1), y=(0, 1))
    points = mesh(x=inner(0, 1, sensors), y=inner(0, 1, sensors))
    shape = _shape(points["x"], points["y"])
    errors = sd * np.random.default_rng(data_seed).standard_normal(shape.size)
    return Problem(
        name="poisson-2d",
        equation=_equation,
        domain=domain,
        unknowns={"strength": Real(0.5)},
        outputs={"u": Output(scale=1.0)},
        collocation=sobol(n_f),
        observations=[
            Observed("u", x=points, y=strength * shape + errors, noise=Gaussian(sd=sd)),
            Observed("u", x=edges(domain, n_edge, x="both", y="both"), y=0.0, name="edge"),
        ],
        truth=Truth(
            outputs={"u": lambda at: strength * jnp.sin(jnp.pi * at.x) * jnp.sin(jnp.pi * at.y)},
            unknowns={"strength": strength},
        ),
        exact=_ExactLimits(shape, sd),
    )


def _equation(u: Any, at: Any, p: Any) -> Any:
    source = p["strength"] * 2 * jnp.pi**2 * jnp.sin(jnp.pi * at.x) * jnp.sin(jnp.pi * at.y)
    return laplacian(u, at) + source


def _shape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the solution for a source of unit strength."""
    return np.sin(np.pi * x) * np.sin(np.pi * y)


@dataclass(frozen=True)
class _ExactLimits:
    """Limits by regression of the measurements on the solution of unit strength.

    Arguments:
        shape: the solution of unit strength at the sensors.
        sd: standard deviation of the measurements.
    """

    shape: np.ndarray
    sd: float

    def __call__(
        self, data: Mapping[str, np.ndarray], at: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        estimate = self.shape @ np.ravel(data["u"]) / (self.shape @ self.shape)
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        half = quantile * self.sd / np.linalg.norm(self.shape)
        lower, upper = estimate - half, estimate + half
        scale = _shape(np.asarray(at["x"]), np.asarray(at["y"]))
        return {"strength": (lower, upper), "u": (lower * scale, upper * scale)}
