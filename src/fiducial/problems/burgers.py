"""Burgers' equation with unknown viscosity."""

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
from ._points import inner, later, mesh

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(60)


def burgers(
    *,
    sd: float = 0.05,
    nu: float = 0.05,
    sensors: int = 7,
    times: int = 4,
    n_f: int = 400,
    data_seed: int = 0,
) -> Problem:
    """Burgers' equation, u_t + u u_x = nu u_xx, with unknown viscosity nu.

    - Domain: x in [-1, 1], t in [0, 1].
    - Known exactly, and built into the solution: u(x, 0) = -sin(pi x), and u = 0 at
      both ends.
    - Observed: u, with independent normal errors of known standard deviation.
    - Truth: the Cole-Hopf transform, by Gauss-Hermite quadrature.
    - Exact limits: none.

    Arguments:
        sd: standard deviation of the measurements.
        nu: the true viscosity.
        sensors: number of positions at which u is measured, evenly spaced.
        times: number of times at which u is measured, the last one t = 1.
        n_f: number of points where the equation must hold.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(burgers().unknowns)
        ['nu']
    """
    points = mesh(x=inner(-1, 1, sensors), t=later(1, times))
    mean = np.array([_velocity(x, t, nu) for x, t in zip(*points.values(), strict=True)])
    errors = sd * np.random.default_rng(data_seed).standard_normal(mean.size)
    return Problem(
        name="burgers",
        equation=_momentum,
        domain=Box(x=(-1, 1), t=(0, 1)),
        unknowns={"nu": Positive(0.2)},
        collocation=sobol(n_f),
        constraint=lambda u, at, p: -jnp.sin(jnp.pi * at.x) + at.t * (1 - at.x**2) * u,
        observations=[Observed("u", x=points, y=mean + errors, noise=Gaussian(sd=sd))],
        truth=Truth(outputs={"u": lambda at: _velocity(at.x, at.t, nu, jnp)}, unknowns={"nu": nu}),
    )


def _momentum(u: Any, at: Any, p: Any) -> Any:
    return (
        derivative(u, at, "t")
        + u(at) * derivative(u, at, "x")
        - p["nu"] * derivative(u, at, "x", order=2)
    )


def _velocity(x: Any, t: Any, nu: float, xp: Any = np) -> Any:
    """Return the solution that starts as -sin(pi x), by the Cole-Hopf transform."""
    place = x - xp.sqrt(4 * nu * t) * _NODES
    weight = _WEIGHTS * xp.exp((1 + xp.cos(xp.pi * place)) / (-2 * xp.pi * nu))
    return -xp.sum(weight * xp.sin(xp.pi * place)) / xp.sum(weight)
