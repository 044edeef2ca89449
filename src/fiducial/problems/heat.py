"""The heat equation with unknown diffusivity."""

from collections.abc import Mapping
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
from ._edges import edges


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
    """u_t = D u_xx for x and t in [0, 1]; u(x, 0) = sin(pi x) and u = 0 at both ends
    are known, u is measured with noise; D is unknown.

    Arguments:
        sd: standard deviation of the measurements.
        D: the true diffusivity.
        sensors: number of places where u is measured.
        times: number of times at which it is.
        n_f: number of points where the equation must hold.
        n_edge: points on each side of the edge where u is known.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(heat().unknowns)
        ['D']
    """
    box = Box(x=(0, 1), t=(0, 1))
    x, t = (
        v.ravel()
        for v in np.meshgrid(
            np.linspace(0, 1, sensors + 2)[1:-1], np.linspace(0, 1, times + 1)[1:], indexing="ij"
        )
    )
    y = np.sin(np.pi * x) * np.exp(-(np.pi**2) * D * t) + sd * np.random.default_rng(
        data_seed
    ).standard_normal(x.size)
    edge = edges(box, n_edge, x="both", t="lower")

    def exact(data: Mapping[str, np.ndarray], at: Any, level: float) -> dict[str, tuple[Any, Any]]:
        """By quadrature: the density of D is the likelihood times the length of the
        mean's derivative.
        """
        grid = np.linspace(-8, 8, 20_001) * sd
        grid = np.maximum(D * (1 + 10 * grid), 1e-6)
        mean = np.sin(np.pi * x) * np.exp(-(np.pi**2) * grid[:, None] * t)
        log_density = -0.5 * np.sum(
            (np.ravel(data["u"]) - mean) ** 2, axis=1
        ) / sd**2 + 0.5 * np.log(np.sum((t * mean) ** 2, axis=1))
        below = np.cumsum(np.exp(log_density - log_density.max()) * np.gradient(grid))
        lower, upper = np.interp(np.array([1 - level, 1 + level]) / 2 * below[-1], below, grid)
        place, time = np.asarray(at["x"]), np.asarray(at["t"])
        warm, cold = (
            np.sin(np.pi * place) * np.exp(-(np.pi**2) * limit * time) for limit in (lower, upper)
        )
        return {"D": (lower, upper), "u": (cold, warm)}

    return Problem(
        name="heat",
        equation=lambda u, at, p: derivative(u, at, "t") - p["D"] * derivative(u, at, "x", order=2),
        domain=box,
        unknowns={"D": Positive(1.0)},
        collocation=sobol(n_f),
        observations=[
            Observed("u", x={"x": x, "t": t}, y=y, noise=Gaussian(sd=sd)),
            Observed(
                "u",
                x=edge,
                y=np.where(edge[:, 1] == 0, np.sin(np.pi * edge[:, 0]), 0.0),
                name="edge",
            ),
        ],
        truth=Truth(
            outputs={"u": lambda at: jnp.sin(jnp.pi * at.x) * jnp.exp(-(jnp.pi**2) * D * at.t)},
            unknowns={"D": D},
        ),
        exact=exact,
        options={
            "sd": sd,
            "D": D,
            "sensors": sensors,
            "times": times,
            "n_f": n_f,
            "n_edge": n_edge,
            "data_seed": data_seed,
        },
    )
