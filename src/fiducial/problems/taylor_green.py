"""The decaying Taylor-Green vortex: Navier-Stokes with unknown viscosity and unseen
pressure.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.collocation import sobol
from ..posing.coordinates import Box
from ..posing.networks import MLP
from ..posing.observations import Observed
from ..posing.operators import derivative, laplacian
from ..posing.problem import Output, Problem
from ..posing.truth import Truth
from ..posing.unknowns import Positive
from ._edges import edges

_SIDE, _END = np.pi, 1.0


def _navier_stokes(f: Any, at: Any, p: Any) -> tuple[Any, Any, Any]:
    """Both components of momentum, and mass."""
    u, v = f.u(at), f.v(at)

    def carried(component: Any) -> Any:
        return (
            derivative(component, at, "t")
            + u * derivative(component, at, "x")
            + v * derivative(component, at, "y")
        )

    return (
        carried(f.u) + derivative(f.p, at, "x") - p["nu"] * laplacian(f.u, at),
        carried(f.v) + derivative(f.p, at, "y") - p["nu"] * laplacian(f.v, at),
        derivative(f.u, at, "x") + derivative(f.v, at, "y"),
    )


def _start_and_walls(raw: dict[str, Any], at: Any, p: Any) -> dict[str, Any]:
    """The velocity at t = 0 is known, and nothing flows through the walls."""
    start = _velocity(at.x, at.y, jnp)
    return {
        "u": start[0] + at.t * at.x * (_SIDE - at.x) * raw["u"],
        "v": start[1] + at.t * at.y * (_SIDE - at.y) * raw["v"],
        "p": raw["p"],
    }


def _velocity(x: Any, y: Any, xp: Any = np) -> tuple[Any, Any]:
    return xp.sin(x) * xp.cos(y), -xp.cos(x) * xp.sin(y)


def taylor_green(
    *,
    sd: float = 0.02,
    nu: float = 0.1,
    sensors: int = 4,
    times: int = 3,
    n_f: int = 250,
    n_edge: int = 5,
    data_seed: int = 0,
) -> Problem:
    """Navier-Stokes on [0, pi]^2 for t in [0, 1]; both components of the velocity are
    measured with noise, the viscosity nu is unknown.

    The velocity at t = 0 is known, and the walls are smooth. The pressure is never
    seen; it is given relative to the corner (0, 0).

    Arguments:
        sd: standard deviation of the measurements.
        nu: the true viscosity.
        sensors: they lie on a grid of so many by so many points.
        times: number of times at which the velocity is measured.
        n_f: number of points where the equations must hold.
        n_edge: points along each direction of a wall.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(taylor_green().outputs)
        ['u', 'v', 'p']
    """
    box = Box(x=(0, _SIDE), y=(0, _SIDE), t=(0, _END))
    inner = np.linspace(0, _SIDE, sensors + 1)[:-1] + _SIDE / sensors / 2
    x, y, t = (
        v.ravel()
        for v in np.meshgrid(inner, inner, np.linspace(0, _END, times + 1)[1:], indexing="ij")
    )
    decay, random = np.exp(-2 * nu * t), np.random.default_rng(data_seed)
    seen = [speed * decay + sd * random.standard_normal(x.size) for speed in _velocity(x, y)]

    def slip_x(f: Any, at: Any, p: Any) -> Any:
        return derivative(f.v, at, "x")

    def slip_y(f: Any, at: Any, p: Any) -> Any:
        return derivative(f.u, at, "y")

    def corner(f: Any, at: Any, p: Any) -> Any:
        return f.p(at)

    return Problem(
        name="taylor-green",
        equation=_navier_stokes,
        domain=box,
        unknowns={"nu": Positive(0.5)},
        outputs={"u": Output(scale=1.0), "v": Output(scale=1.0), "p": Output(scale=1.0)},
        collocation=sobol(n_f),
        network=MLP((30, 30)),
        constraint=_start_and_walls,
        observations=[
            *(
                Observed(name, x={"x": x, "y": y, "t": t}, y=values, noise=Gaussian(sd=sd))
                for name, values in zip("uv", seen, strict=True)
            ),
            Observed(slip_x, x=edges(box, n_edge, x="both")),
            Observed(slip_y, x=edges(box, n_edge, y="both")),
            Observed(corner, x={"x": 0.0, "y": 0.0, "t": np.linspace(0, _END, 10)}),
        ],
        truth=Truth(
            outputs={
                "u": lambda at: _velocity(at.x, at.y, jnp)[0] * jnp.exp(-2 * nu * at.t),
                "v": lambda at: _velocity(at.x, at.y, jnp)[1] * jnp.exp(-2 * nu * at.t),
                "p": lambda at: (
                    (jnp.cos(2 * at.x) + jnp.cos(2 * at.y) - 2) / 4 * jnp.exp(-4 * nu * at.t)
                ),
            },
            unknowns={"nu": nu},
        ),
        options={
            "sd": sd,
            "nu": nu,
            "sensors": sensors,
            "times": times,
            "n_f": n_f,
            "n_edge": n_edge,
            "data_seed": data_seed,
        },
    )
