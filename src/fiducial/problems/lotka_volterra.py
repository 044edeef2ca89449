"""The Lotka-Volterra equations, with predators that are not observed."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..noise.gaussian import Gaussian
from ..posing.collocation import grid
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.truth import Truth
from ..posing.unknowns import Positive

_RATES = {"growth": 1.0, "harvest": 0.8, "death": 0.7}
"""True values of the unknown rates."""
_HUNT = 0.8
"""Rate at which predators catch prey; known, because it sets the unit of the predators,
which data on prey alone do not contain.
"""
_START = (1.0, 0.6)
"""True values of prey and predators at t = 0."""
_END = 10.0
_GRID = 4001
"""Number of times at which the true solution is tabulated."""


def lotka_volterra(
    *, sd: float = 0.05, n: int = 40, observe: str = "prey", n_f: int = 100, data_seed: int = 0
) -> Problem:
    """The Lotka-Volterra equations with three unknown rates and hidden predators.

    - Equations: prey' = growth prey - 0.8 prey predator and
      predator' = harvest prey predator - death predator.
    - Domain: t in [0, 10].
    - Observed: prey, and on request predators, with independent normal errors of known
      standard deviation.
    - Truth: a numerical solution with relative tolerance 1e-10.
    - Exact limits: none.

    Arguments:
        sd: standard deviation of the measurements.
        n: number of measurements, evenly spaced.
        observe: ``"prey"``, or ``"both"`` for prey and predators.
        n_f: number of points where the equations must hold.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(lotka_volterra().outputs)
        ['prey', 'predator']
    """
    if observe not in ("prey", "both"):
        raise ValueError(f"lotka-volterra(observe={observe!r}): give 'prey' or 'both'")
    t = np.linspace(0, _END, n)
    random = np.random.default_rng(data_seed)
    times, solved, slopes = _solution()
    measured = ["prey"] if observe == "prey" else ["prey", "predator"]
    data = {
        name: np.interp(t, times, solved[name]) + sd * random.standard_normal(n)
        for name in measured
    }
    return Problem(
        name="lotka-volterra",
        equation=_equation,
        domain=Box(t=(0, _END)),
        unknowns={name: Positive(0.5) for name in _RATES},
        collocation=grid(n_f),
        outputs={"prey": Output(positive=True), "predator": Output(positive=True)},
        observations=[Observed(name, x=t, y=y, noise=Gaussian(sd=sd)) for name, y in data.items()],
        truth=Truth(
            outputs={name: _table(times, solved[name], slopes[name]) for name in solved},
            unknowns=dict(_RATES),
        ),
    )


def _equation(f: Any, t: Any, p: Any) -> tuple[Any, Any]:
    prey, predator = f.prey(t), f.predator(t)
    return (
        derivative(f.prey, t) - p["growth"] * prey + _HUNT * prey * predator,
        derivative(f.predator, t) - p["harvest"] * prey * predator + p["death"] * predator,
    )


def _table(times: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> Any:
    """Return the cubic Hermite interpolant of values and slopes."""
    step = times[1] - times[0]

    def curve(t: Any) -> Any:
        i = jnp.clip(jnp.asarray(t / step).astype(int), 0, len(times) - 2)
        s = t / step - i
        (a, b), (c, d) = (
            (jnp.asarray(v)[i], jnp.asarray(v)[i + 1]) for v in (values, step * slopes)
        )
        return a + s * (c + s * (3 * (b - a) - 2 * c - d + s * (2 * (a - b) + c + d)))

    return curve


def _solution() -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return times, the true solution at them, and its slopes."""
    from scipy.integrate import solve_ivp

    def slope(_: float, state: np.ndarray) -> tuple[float, float]:
        prey, predator = state
        return (
            _RATES["growth"] * prey - _HUNT * prey * predator,
            _RATES["harvest"] * prey * predator - _RATES["death"] * predator,
        )

    times = np.linspace(0, _END, _GRID)
    found = solve_ivp(slope, (0, _END), _START, t_eval=times, rtol=1e-10, atol=1e-12)
    names = ("prey", "predator")
    return (
        times,
        dict(zip(names, found.y, strict=True)),
        dict(zip(names, np.array(slope(0.0, found.y)), strict=True)),
    )
