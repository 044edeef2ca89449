"""The Poisson family: its equations, its true solution, and its exact answer.

All are ``0.01 u'' + k tanh(u) = f`` on [-0.7, 0.7] with ``u = sin(6x)^3``. A few numbers
determine the solution: its values at both ends, ``k`` where it is unknown, and the
values of f at its sensors where those are noisy (f is linear between them). The data
are linear in these numbers, exactly for ``k = 0`` and to first order around the truth
otherwise, so the exact answer is that of a linear regression."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..noise.gaussian import Gaussian
from ..posing.coordinates import Box
from ..posing.observations import Observed
from ..posing.operators import derivative

BETA = 0.01
"""Coefficient of u''."""
END = 0.7
DOMAIN = Box(x=(-END, END))
_GRID = 5601
"""Points of the finite differences; the error is about 1e-6 of the responses."""


def solution(x: Array) -> Array:
    """Return the true solution, ``sin(6x)^3``, traced by JAX."""
    return jnp.sin(6.0 * x) ** 3


def values(x: np.ndarray) -> np.ndarray:
    """Return the true solution as NumPy's numbers."""
    return np.sin(6.0 * x) ** 3


def source(x: np.ndarray, k: float = 0.0) -> np.ndarray:
    """Return the right-hand side f of the true solution."""
    s, c = np.sin(6.0 * x), np.cos(6.0 * x)
    return BETA * 108.0 * s * (2.0 * c**2 - s**2) + k * np.tanh(s**3)


def linear(u: Any, x: Any, p: Any) -> Any:
    """Return the left-hand side for ``k = 0``."""
    return BETA * derivative(u, x, order=2)


def nonlinear(k: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the left-hand side with a coefficient ``k(p)``."""
    return lambda u, x, p: linear(u, x, p) + k(p) * jnp.tanh(u(x))


def measured_u(
    sensors: np.ndarray,
    sd: float,
    replicates: int,
    random: np.random.Generator,
    *,
    told: bool = True,
) -> Observed:
    """Return simulated measurements of u; ``told`` says whether the noise model names
    their standard deviation.
    """
    y = values(sensors)[:, None] + sd * random.standard_normal((len(sensors), replicates))
    return Observed("u", x=sensors, y=y, noise=Gaussian(sd=sd if told else None))


def known_f(n: int, k: float = 0.0) -> Observed:
    """Return f at evenly spaced points, exact."""
    x = np.linspace(-END, END, n)
    return Observed("equation", x=x, y=source(x, k))


def measured_f(
    n: int, sd: float, replicates: int, random: np.random.Generator, k: float = 0.0
) -> Observed:
    """Return simulated measurements of f at evenly spaced points."""
    x = np.linspace(-END, END, n)
    y = source(x, k)[:, None] + sd * random.standard_normal((n, replicates))
    return Observed("equation", x=x, y=y, noise=Gaussian(sd=sd))


class ExactAnswer:
    """Limits of the exact fiducial distribution, by linear regression on the responses.

    Arguments:
        sensors: where u is measured.
        sd: standard deviation of the errors of u; None when it is unknown.
        k: the coefficient of tanh(u).
        unknown_k: whether k is inferred.
        sd_f: standard deviation of the errors of f; None where f is exact.
        n_f: number of sensors of f.
    """

    def __init__(
        self,
        sensors: np.ndarray,
        sd: float | None,
        *,
        k: float = 0.0,
        unknown_k: bool = False,
        sd_f: float | None = None,
        n_f: int = 0,
    ):
        self.sensors = sensors
        self.sd = sd
        self.k = k
        self.unknown_k = unknown_k
        self.sd_f = sd_f
        self.n_f = n_f

    def __call__(
        self, data: Mapping[str, np.ndarray], x: np.ndarray, level: float
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        design, target = self._regression(data)
        found, *_ = np.linalg.lstsq(design, target, rcond=None)
        root = np.linalg.inv(np.linalg.qr(design, mode="r"))
        limits: dict[str, tuple[Any, Any]] = {}
        if self.sd is None:
            quantile, limits["sd_u"] = self._of_size(data["u"], design, target, found, level)
        else:
            quantile = NormalDist().inv_cdf((1 + level) / 2)
        columns = self._columns(x)
        middle = values(x) + columns @ found
        half = quantile * np.linalg.norm(columns @ root, axis=1)
        limits["u"] = middle - half, middle + half
        if self.unknown_k:
            half_k = quantile * np.linalg.norm(root[2])
            limits["k"] = self.k + found[2] - half_k, self.k + found[2] + half_k
        return limits

    def _regression(self, data: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the design matrix and the target, in standard deviations of the means
        over replicates.
        """
        y = data["u"]
        repeats = np.sqrt(y.shape[1])
        size = self.sd or 1.0
        rows = [self._columns(self.sensors) * repeats / size]
        targets = [(y.mean(axis=1) - values(self.sensors)) * repeats / size]
        if self.sd_f is not None:
            f = data["equation"]
            x_f = np.linspace(-END, END, self.n_f)
            repeats_f = np.sqrt(f.shape[1])
            count = rows[0].shape[1]
            own = np.eye(self.n_f, count, k=count - self.n_f)  # f at its sensors comes last
            rows.append(own * repeats_f / self.sd_f)
            targets.append((f.mean(axis=1) - source(x_f, self.k)) * repeats_f / self.sd_f)
        return np.concatenate(rows), np.concatenate(targets)

    def _of_size(
        self, y: np.ndarray, design: np.ndarray, target: np.ndarray, found: np.ndarray, level: float
    ) -> tuple[float, tuple[Any, Any]]:
        """Return Student's quantile times the estimated standard deviation of the
        errors of u, and the limits of that standard deviation.
        """
        from scipy.stats import chi2, t

        free = y.size - design.shape[1]
        within = np.sum((y - y.mean(axis=1, keepdims=True)) ** 2)
        rss = within + np.sum((target - design @ found) ** 2)
        lower, upper = np.sqrt(rss / chi2.ppf([(1 + level) / 2, (1 - level) / 2], free))
        return t.ppf((1 + level) / 2, free) * np.sqrt(rss / free), (lower, upper)

    def _columns(self, x: np.ndarray) -> np.ndarray:
        responses = _responses(self.k, self.unknown_k, self.n_f if self.sd_f is not None else 0)
        grid = np.linspace(-END, END, _GRID)
        return np.stack([np.interp(x, grid, column) for column in responses.T], axis=1)


@lru_cache
def _responses(k: float, unknown_k: bool, nodes: int) -> np.ndarray:
    """Return the derivatives of the solution on the grid with respect to the numbers
    that determine it, one column each, by finite differences.
    """
    from scipy.linalg import solve_banded

    x = np.linspace(-END, END, _GRID)
    step = x[1] - x[0]
    u = values(x)
    bands = np.zeros((3, _GRID))
    bands[1, [0, -1]] = 1.0
    bands[0, 2:] = bands[2, :-2] = BETA / step**2
    bands[1, 1:-1] = -2 * BETA / step**2 + k / np.cosh(u[1:-1]) ** 2
    left, right = np.zeros((2, _GRID))
    left[0] = 1.0
    right[-1] = 1.0
    drives = [left, right]
    if unknown_k:
        drives.append(np.r_[0.0, -np.tanh(u[1:-1]), 0.0])
    places = np.linspace(-END, END, nodes) if nodes else np.zeros(0)
    for hat in np.eye(nodes):
        drives.append(np.r_[0.0, np.interp(x[1:-1], places, hat), 0.0])
    return solve_banded((1, 1), bands, np.stack(drives, axis=1))
