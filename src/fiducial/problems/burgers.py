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

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(60)


def _solution(x: Any, t: Any, nu: float, xp: Any = np) -> Any:
    """The solution that starts as -sin(pi x), by the transform of Cole and Hopf."""
    place = x - xp.sqrt(4 * nu * t) * _NODES
    weight = _WEIGHTS * xp.exp((1 + xp.cos(xp.pi * place)) / (-2 * xp.pi * nu))
    return -xp.sum(weight * xp.sin(xp.pi * place)) / xp.sum(weight)


def burgers(
    *,
    sd: float = 0.05,
    nu: float = 0.05,
    sensors: int = 7,
    times: int = 4,
    n_f: int = 400,
    data_seed: int = 0,
) -> Problem:
    """u_t + u u_x = nu u_xx for x in [-1, 1] and t in [0, 1], from -sin(pi x), both
    ends at rest; u is measured with noise, nu is unknown.

    Arguments:
        sd: standard deviation of the measurements.
        nu: the true viscosity.
        sensors: number of places where u is measured.
        times: number of times at which it is.
        n_f: number of points where the equation must hold.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(burgers().unknowns)
        ['nu']
    """
    box = Box(x=(-1, 1), t=(0, 1))
    x, t = (
        v.ravel()
        for v in np.meshgrid(
            np.linspace(-1, 1, sensors + 2)[1:-1], np.linspace(0, 1, times + 1)[1:], indexing="ij"
        )
    )
    mean = np.array([_solution(*at, nu) for at in zip(x, t, strict=True)])
    return Problem(
        name="burgers",
        equation=lambda u, at, p: (
            derivative(u, at, "t")
            + u(at) * derivative(u, at, "x")
            - p["nu"] * derivative(u, at, "x", order=2)
        ),
        domain=box,
        unknowns={"nu": Positive(0.2)},
        collocation=sobol(n_f),
        constraint=lambda u, at, p: -jnp.sin(jnp.pi * at.x) + at.t * (1 - at.x**2) * u,
        observations=[
            Observed(
                "u",
                x={"x": x, "t": t},
                y=mean + sd * np.random.default_rng(data_seed).standard_normal(x.size),
                noise=Gaussian(sd=sd),
            ),
        ],
        truth=Truth(outputs={"u": lambda at: _solution(at.x, at.t, nu, jnp)}, unknowns={"nu": nu}),
        options={
            "sd": sd,
            "nu": nu,
            "sensors": sensors,
            "times": times,
            "n_f": n_f,
            "data_seed": data_seed,
        },
    )
