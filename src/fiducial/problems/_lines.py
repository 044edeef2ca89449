"""Diffusion and growth of a density in one dimension by the method of lines, as a
reference for networks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import jit

_STABLE = 2.5
"""Largest product of a time step and the fastest rate of decay; the classical
Runge-Kutta method is stable up to 2.78.
"""
_LEAST_STEPS = 20
"""Smallest number of steps between two times."""
_MOST_STEPS = 400
"""Largest number of steps between two times. A diffusivity that needs more is far
above any that data on these nodes can determine, and is treated as one without a
solution.
"""
_BLOCK = 100
"""Number of solutions computed together; those with diffusivities of similar size share
the number of steps that the largest needs.
"""


class Lines:
    """Solutions of u_t = (d(u) u_x)_x + g(u) with no flux at both ends: finite volumes
    in x, Runge-Kutta steps in t.

    The error of the volumes is of second order in their width.

    Arguments:
        diffusivity: ``(u, parameters) -> d``.
        growth: ``(u, parameters) -> g``.
        start: ``(nodes, parameters) -> u`` at t = 0.
        nodes: evenly spaced positions, both ends included.
        largest: upper bound of the densities, from which the time step follows.

    Example:
        >>> def diffusivity(u, p):
        ...     return p[0]
        >>> def growth(u, p):
        ...     return p[1] * u
        >>> def start(x, p):
        ...     return jnp.ones_like(x)
        >>> solve = Lines(diffusivity, growth, start, np.linspace(0, 1, 5), 1.0)
        >>> points = np.array([[0.5, 0.0], [0.2, 1.0]])
        >>> [round(float(v), 4) for v in solve(points, np.array([[0.1, 1.0]]))[0]]
        [1.0, 2.7183]
    """

    def __init__(
        self,
        diffusivity: Callable[[Any, Any], Any],
        growth: Callable[[Any, Any], Any],
        start: Callable[[Any, Any], Any],
        nodes: np.ndarray,
        largest: float,
    ):
        self.diffusivity = diffusivity
        self.growth = growth
        self.start = start
        self.nodes = nodes
        self.largest = largest
        self.width = nodes[1] - nodes[0]
        self._solve = jit(jax.vmap(self._one, (0, None, None)))

    def __call__(self, points: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return densities at points (x, t), one row for each row of parameters; not
        finite where there is no solution.
        """
        from scipy.interpolate import CubicSpline

        times, which = np.unique(points[:, 1], return_inverse=True)
        found = np.empty((len(parameters), len(points)))
        with jax.enable_x64(True):
            steps = self._steps(parameters, np.diff(times, prepend=0.0).max())
            order = np.argsort(steps)
            for first in range(0, len(order), _BLOCK):
                block = order[first : first + _BLOCK]
                # one shape, so that one program serves every block
                full = np.resize(block, _BLOCK if len(parameters) > 1 else 1)
                u = np.array(self._solve(parameters[full], times, steps[block].max()))[: len(block)]
                lost = ~np.isfinite(u).all(axis=(1, 2))
                u[lost] = 0.0
                for i in range(len(times)):
                    at = which == i
                    found[np.ix_(block, at)] = CubicSpline(
                        self.nodes, u[:, i], axis=1, bc_type="clamped"
                    )(points[at, 0])
                found[block[lost]] = np.nan
        return found

    def _steps(self, parameters: np.ndarray, span: float) -> np.ndarray:
        """Return the number of steps between two times for each row of parameters."""
        u = jnp.linspace(0, self.largest, 50)
        fastest = jax.vmap(
            lambda p: 4 * jnp.max(self.diffusivity(u, p) * jnp.ones_like(u)) / self.width**2
        )(parameters)
        needed = np.ceil(span * np.asarray(fastest) / _STABLE)
        return np.clip(np.nan_to_num(needed), _LEAST_STEPS, _MOST_STEPS).astype(int)

    def _slope(self, u: Any, p: Any) -> Any:
        """Return the time derivative at the nodes, by finite volumes."""
        between = (u[1:] + u[:-1]) / 2
        flux = jnp.pad(self.diffusivity(between, p) * (u[1:] - u[:-1]) / self.width, 1)
        volume = np.full(len(self.nodes), self.width)
        volume[[0, -1]] /= 2
        return (flux[1:] - flux[:-1]) / volume + self.growth(u, p)

    def _one(self, p: Any, times: Any, steps: Any) -> Any:
        """Return the densities at the nodes, (time, node)."""
        slope = partial(self._slope, p=p)

        def onward(u: Any, span: Any) -> tuple[Any, Any]:
            h = span / steps

            def step(_: Any, u: Any) -> Any:
                a = slope(u)
                b = slope(u + h / 2 * a)
                c = slope(u + h / 2 * b)
                return u + h / 6 * (a + 2 * b + 2 * c + slope(u + h * c))

            u = jax.lax.fori_loop(0, jnp.where(span > 0, steps, 0), step, u)
            return u, u

        return jax.lax.scan(
            onward, self.start(jnp.asarray(self.nodes), p), jnp.diff(times, prepend=0.0)
        )[1]
