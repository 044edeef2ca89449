"""The Poisson equation on a square, with a source of unknown strength."""

from collections.abc import Mapping
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
from ._edges import edges


def poisson_2d(
    *,
    sd: float = 0.05,
    sensors: int = 3,
    strength: float = 1.0,
    n_f: int = 300,
    n_edge: int = 20,
    data_seed: int = 0,
) -> Problem:
    """-(u_xx + u_yy) = strength 2 pi^2 sin(pi x) sin(pi y) on the unit square, u = 0 at
    its edge; the strength is unknown.

    Arguments:
        sd: standard deviation of the measurements of u.
        sensors: they lie on a grid of so many by so many inner points.
        strength: the true strength.
        n_f: number of points where the equation must hold.
        n_edge: points on each side of the edge.
        data_seed: seed of the simulated measurements.

    Example:
        >>> poisson_2d().domain.names
        ('x', 'y')
    """
    box = Box(x=(0, 1), y=(0, 1))
    inner = np.linspace(0, 1, sensors + 2)[1:-1]
    x, y = (v.ravel() for v in np.meshgrid(inner, inner, indexing="ij"))
    shape = np.sin(np.pi * x) * np.sin(np.pi * y)
    data = strength * shape + sd * np.random.default_rng(data_seed).standard_normal(shape.size)

    def equation(u: Any, at: Any, p: Any) -> Any:
        return laplacian(u, at) + p["strength"] * 2 * jnp.pi**2 * jnp.sin(jnp.pi * at.x) * jnp.sin(
            jnp.pi * at.y
        )

    def exact(data: Mapping[str, np.ndarray], at: Any, level: float) -> dict[str, tuple[Any, Any]]:
        found = shape @ np.ravel(data["u"]) / (shape @ shape)
        half = NormalDist().inv_cdf((1 + level) / 2) * sd / np.linalg.norm(shape)
        scale = np.sin(np.pi * np.asarray(at["x"])) * np.sin(np.pi * np.asarray(at["y"]))
        return {
            "strength": (found - half, found + half),
            "u": ((found - half) * scale, (found + half) * scale),
        }

    return Problem(
        name="poisson-2d",
        equation=equation,
        domain=box,
        unknowns={"strength": Real(0.5)},
        outputs={"u": Output(scale=1.0)},
        collocation=sobol(n_f),
        observations=[
            Observed("u", x={"x": x, "y": y}, y=data, noise=Gaussian(sd=sd)),
            Observed("u", x=edges(box, n_edge, x="both", y="both"), y=0.0, name="edge"),
        ],
        truth=Truth(
            outputs={"u": lambda at: strength * jnp.sin(jnp.pi * at.x) * jnp.sin(jnp.pi * at.y)},
            unknowns={"strength": strength},
        ),
        exact=exact,
        options={
            "sd": sd,
            "sensors": sensors,
            "strength": strength,
            "n_f": n_f,
            "n_edge": n_edge,
            "data_seed": data_seed,
        },
    )
