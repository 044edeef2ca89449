"""Exact answers where the solution is a known curve with a few parameters.

The fiducial density of the parameters is the likelihood times ``det(J^T J)^(1/2)``;
with the size of the errors unknown and integrated out, ``RSS^(-n/2) det([J r]^T [J
r])^(1/2)``, with r the residuals. Limits come from importance sampling from a wide t
distribution around the least-squares fit, always with the same random numbers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

Curve = Callable[[Any, Any], Any]
"""``(x, parameters) -> mean``"""

_WIDENING = 1.3
"""Scale of the importance distribution relative to the normal approximation around the
least-squares fit.
"""
_FREEDOM = 8
"""Degrees of freedom of the importance distribution where the size of the errors is
known.
"""
_STEP = 1e-5
"""Step of the finite differences, of parameters that are 1 or -1 at the start."""


class Weighted(NamedTuple):
    """An importance sample.

    Attributes:
        parameters: one row per draw.
        weight: of each draw; the sum is 1.
        sd: size of the errors of each draw; None where it is known.
    """

    parameters: np.ndarray
    weight: np.ndarray
    sd: np.ndarray | None


class ExactCurve:
    """Limits of the exact fiducial distribution of a curve, its parameters and the size
    of its errors.

    Arguments:
        curve: ``(x, parameters) -> mean``, for arrays of any broadcastable shape; with
            several coordinates x has a row for each point.
        x: where the curve was measured.
        start: parameters from which the least-squares fit starts, none of them zero.
        names: names of the leading parameters in results.
        output: name of the curve in data and results.
        derived: further quantities by name, as functions of the parameters.
        positive: names of parameters that cannot be negative; the fit is in their
            logarithms.
        sd: standard deviation of the errors; None when unknown.
        h: standard deviation of each point's error relative to ``sd``.
        samples: size of the importance sample.

    Example:
        >>> def curve(x, b):
        ...     return b[0] + b[1] * x
        >>> line = ExactCurve(curve, np.arange(5.0), (1.0, 1.0), ("a", "b"), "u", sd=1.0)
        >>> lower, upper = line({"u": np.arange(5.0)}, np.array([2.0]), 0.95)["u"]
        >>> round(float(upper[0] - lower[0]), 2)  # 2 * 1.96 / sqrt(5)
        1.75
    """

    def __init__(
        self,
        curve: Curve,
        x: np.ndarray,
        start: Sequence[float],
        names: Sequence[str],
        output: str,
        *,
        derived: Mapping[str, Callable[[Any], Any]] | None = None,
        positive: Collection[str] = (),
        sd: float | None = None,
        h: np.ndarray | float = 1.0,
        samples: int = 100_000,
    ):
        self.curve = curve
        self.x = np.asarray(x, float)
        self.start = np.asarray(start, float)
        self.names = tuple(names)
        self.output = output
        self.derived = dict(derived or {})
        unnamed = len(self.start) - len(names)
        self.positive = np.array([name in positive for name in names] + [False] * unnamed)
        self.sd = sd
        self.h = h
        self.samples = samples
        self._draw = lru_cache(maxsize=4)(self._draws)

    def __call__(
        self, data: Mapping[str, np.ndarray], x: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        draws = self._draw(np.asarray(data[self.output], float).tobytes())
        tails = (1 - level) / 2, (1 + level) / 2

        def limits(values: np.ndarray) -> tuple[float, float]:
            return _quantiles(values, draws.weight, tails)

        found: dict[str, tuple[Any, Any]] = {
            name: limits(draws.parameters[:, i]) for i, name in enumerate(self.names)
        }
        with np.errstate(all="ignore"):  # there may be no curve in the far tails
            for name, function in self.derived.items():
                found[name] = limits(function(draws.parameters.T))
            curves = self._curves(draws, x)
        if draws.sd is not None:
            found[f"sd_{self.output}"] = limits(draws.sd)
        each = [limits(values) for values in curves]
        lower = np.array([pair[0] for pair in each])
        upper = np.array([pair[1] for pair in each])
        return {**found, self.output: (lower, upper)}

    def estimate(self, data: Mapping[str, np.ndarray]) -> tuple[dict[str, float], float]:
        """Return the least-squares estimates of the named parameters, and the root mean
        squared error.
        """
        fit = self._least_squares(np.asarray(data[self.output], float) / self.h)
        estimates = dict(zip(self.names, map(float, self._unscaled(fit.x)), strict=False))
        return estimates, float(np.sqrt(2 * fit.cost / len(fit.fun)))

    def _curves(self, draws: Weighted, x: Any) -> Any:
        """Return the curve of every draw, one row per point."""
        if isinstance(x, Mapping):
            x = np.stack([np.asarray(v, float).ravel() for v in x.values()], axis=1)
        points = np.asarray(x, float)
        columns = [column[:, None] for column in draws.parameters.T]
        return self.curve(points, columns).T if len(points) else ()

    def _least_squares(self, y: np.ndarray) -> Any:
        from scipy.optimize import least_squares

        def residual(b: np.ndarray) -> np.ndarray:
            return self.curve(self.x, self._unscaled(b)) / self.h - y

        return least_squares(residual, np.sign(self.start), xtol=1e-14, ftol=1e-14, gtol=1e-14)

    def _draws(self, values: bytes) -> Weighted:
        y = np.frombuffer(values) / self.h
        fit = self._least_squares(y)
        n, p = fit.jac.shape
        free = max(3, n - p - 1) if self.sd is None else _FREEDOM
        variance = 2 * fit.cost / (n - p) if self.sd is None else self.sd**2
        random = np.random.default_rng(0)
        root = _WIDENING * np.linalg.cholesky(np.linalg.inv(fit.jac.T @ fit.jac) * variance)
        normal = random.standard_normal((self.samples, p))
        t = normal / np.sqrt(random.chisquare(free, self.samples) / free)[:, None]
        b = fit.x + t @ root.T
        log_density, rss = self._log_density(b, y)
        proposal = -(free + p) / 2 * np.log1p(np.sum(t**2, axis=1) / free)
        log_weight = log_density - proposal
        finite = np.isfinite(log_weight)
        weight = np.exp(np.where(finite, log_weight - np.nanmax(log_weight), -np.inf))
        # given the parameters the density of the size is s^-(n+1) exp(-RSS / 2 s^2)
        sd = np.sqrt(rss / random.chisquare(n, self.samples)) if self.sd is None else None
        return Weighted(self._unscaled(b), weight / weight.sum(), sd)

    def _log_density(self, b: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithm of the fiducial density, and the residual sum of squares,
        of each row of parameters.
        """

        def means(b: np.ndarray) -> np.ndarray:
            return self.curve(self.x, [column[:, None] for column in self._unscaled(b).T]) / self.h

        n, p = len(y), b.shape[1]
        steps = _STEP * np.eye(p)
        with np.errstate(all="ignore"):  # there may be no curve in the far tails
            residual = y - means(b)
            slopes = [(means(b + step) - means(b - step)) / (2 * _STEP) for step in steps]
            table = np.stack(slopes if self.sd is not None else [*slopes, residual], axis=-1)
            rss = np.sum(residual**2, axis=1)
            likelihood = -n / 2 * np.log(rss) if self.sd is None else -0.5 * rss / self.sd**2
            gram = np.linalg.slogdet(np.einsum("nij,nik->njk", table, table))[1]
        return likelihood + 0.5 * gram, rss

    def _unscaled(self, b: np.ndarray) -> np.ndarray:
        """Return parameters in their own units from numbers that are 1 or -1 at the
        start.
        """
        return np.abs(self.start) * np.where(
            self.positive, np.exp(np.where(self.positive, b - 1, 0.0)), b
        )


def _quantiles(
    values: np.ndarray, weight: np.ndarray, at: tuple[float, float]
) -> tuple[float, float]:
    """Return two quantiles of a weighted sample."""
    order = np.argsort(values)
    lower, upper = values[order][np.searchsorted(np.cumsum(weight[order]), at)]
    return float(lower), float(upper)
