"""The decaying Taylor-Green vortex: the Navier-Stokes equations with unknown viscosity
and a pressure that is not measured.
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
from ._points import edges, later, mesh

_SIDE = np.pi
_DOMAIN = Box(x=(0, _SIDE), y=(0, _SIDE), t=(0, 1.0))


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
    """The Navier-Stokes equations for a decaying vortex, with unknown viscosity nu.

    - Equations: u_t + u u_x + v u_y = -p_x + nu (u_xx + u_yy), likewise for v, and
      u_x + v_y = 0.
    - Domain: x and y in [0, pi], t in [0, 1].
    - Known exactly: the velocity at t = 0, walls with slip, and p = 0 in a corner.
    - Observed: u and v, with independent normal errors of known standard deviation.
    - Truth: u = sin x cos y exp(-2 nu t), v = -cos x sin y exp(-2 nu t) and
      p = (cos 2x + cos 2y - 2) exp(-4 nu t) / 4.
    - Exact limits: none.

    Arguments:
        sd: standard deviation of the measurements.
        nu: the true viscosity.
        sensors: number of sensors along each side of their square grid.
        times: number of times at which the velocity is measured, the last one t = 1.
        n_f: number of points where the equations must hold.
        n_edge: number of points along each direction of a wall.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(taylor_green().outputs)
        ['u', 'v', 'p']
    """
    return Problem(
        name="taylor-green",
        equation=_navier_stokes,
        domain=_DOMAIN,
        unknowns={"nu": Positive(0.5)},
        outputs={"u": Output(scale=1.0), "v": Output(scale=1.0), "p": Output(scale=1.0)},
        collocation=sobol(n_f),
        network=MLP((30, 30)),
        constraint=_start_and_walls,
        observations=[
            *_measured(sd, nu, sensors, times, data_seed),
            Observed(slip_x, x=edges(_DOMAIN, n_edge, x="both")),
            Observed(slip_y, x=edges(_DOMAIN, n_edge, y="both")),
            Observed(corner, x={"x": 0.0, "y": 0.0, "t": np.linspace(0, 1, 10)}),
        ],
        truth=_truth(nu),
    )


def _navier_stokes(f: Any, at: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return the residuals of both components of momentum, and of mass."""
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
    """Return a velocity that is known at t = 0, with no flow through the walls."""
    start = _velocity(at.x, at.y, jnp)
    return {
        "u": start[0] + at.t * at.x * (_SIDE - at.x) * raw["u"],
        "v": start[1] + at.t * at.y * (_SIDE - at.y) * raw["v"],
        "p": raw["p"],
    }


def slip_x(f: Any, at: Any, p: Any) -> Any:
    """Return the shear at the walls x = 0 and x = pi, which is zero."""
    return derivative(f.v, at, "x")


def slip_y(f: Any, at: Any, p: Any) -> Any:
    """Return the shear at the walls y = 0 and y = pi, which is zero."""
    return derivative(f.u, at, "y")


def corner(f: Any, at: Any, p: Any) -> Any:
    """Return the pressure, which is zero in the corner (0, 0) by convention."""
    return f.p(at)


def _velocity(x: Any, y: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return both components at t = 0."""
    return xp.sin(x) * xp.cos(y), -xp.cos(x) * xp.sin(y)


def _measured(sd: float, nu: float, sensors: int, times: int, data_seed: int) -> list[Observed]:
    """Return simulated measurements of both components, in the middle of equal cells."""
    middles = np.linspace(0, _SIDE, sensors + 1)[:-1] + _SIDE / sensors / 2
    points = mesh(x=middles, y=middles, t=later(1, times))
    decay = np.exp(-2 * nu * points["t"])
    random = np.random.default_rng(data_seed)
    observed = []
    for name, start in zip("uv", _velocity(points["x"], points["y"]), strict=True):
        values = start * decay + sd * random.standard_normal(decay.size)
        observed.append(Observed(name, x=points, y=values, noise=Gaussian(sd=sd)))
    return observed


def _truth(nu: float) -> Truth:
    def pressure(at: Any) -> Any:
        return (jnp.cos(2 * at.x) + jnp.cos(2 * at.y) - 2) / 4 * jnp.exp(-4 * nu * at.t)

    return Truth(
        outputs={
            "u": lambda at: _velocity(at.x, at.y, jnp)[0] * jnp.exp(-2 * nu * at.t),
            "v": lambda at: _velocity(at.x, at.y, jnp)[1] * jnp.exp(-2 * nu * at.t),
            "p": pressure,
        },
        unknowns={"nu": nu},
    )
