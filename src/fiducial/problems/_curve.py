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


class Weighted(NamedTuple):
    """Draws of the parameters, one row each, their weights, and the size of the
    errors where it is unknown.
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
        x: where it was measured.
        start: parameters from which the least-squares fit starts, none of them zero.
        names: what the leading parameters are called in results.
        derived: further quantities that results know, as functions of the parameters.
        output: what the curve is called.
        positive: names of those that cannot be negative; they are handled through their
            logarithms.
        sd: standard deviation of the errors; None when unknown.
        h: their size relative to it at each point.
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
        self.curve, self.x, self.names, self.output = (
            curve,
            np.asarray(x, float),
            tuple(names),
            output,
        )
        self.start, self.sd, self.h, self.samples = np.asarray(start, float), sd, h, samples
        self.derived = dict(derived or {})
        self.positive = np.array(
            [name in positive for name in names] + [False] * (len(self.start) - len(names))
        )
        self._draw = lru_cache(maxsize=4)(self._draws)

    def __call__(
        self, data: Mapping[str, np.ndarray], x: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        draws = self._draw(np.asarray(data[self.output], float).tobytes())
        tails = (1 - level) / 2, (1 + level) / 2
        limits = {
            name: _quantiles(draws.parameters[:, i], draws.weight, tails)
            for i, name in enumerate(self.names)
        }
        with np.errstate(all="ignore"):
            limits |= {
                name: _quantiles(of(draws.parameters.T), draws.weight, tails)
                for name, of in self.derived.items()
            }
        if draws.sd is not None:
            limits[f"sd_{self.output}"] = _quantiles(draws.sd, draws.weight, tails)
        at = (
            np.stack([np.asarray(v, float).ravel() for v in x.values()], axis=1)
            if isinstance(x, Mapping)
            else np.asarray(x, float)
        )
        with np.errstate(all="ignore"):
            curves = (
                self.curve(at, [column[:, None] for column in draws.parameters.T]).T
                if len(at)
                else ()
            )
        each = [_quantiles(one, draws.weight, tails) for one in curves]
        return {
            **limits,
            self.output: (np.array([v[0] for v in each]), np.array([v[1] for v in each])),
        }

    def estimate(self, data: Mapping[str, np.ndarray]) -> tuple[dict[str, float], float]:
        """The least-squares estimates of the named parameters, and the root mean
        squared error.
        """
        fit = self._least_squares(np.asarray(data[self.output], float) / self.h)
        return dict(zip(self.names, map(float, self._unscaled(fit.x)), strict=False)), float(
            np.sqrt(2 * fit.cost / len(fit.fun))
        )

    def _least_squares(self, y: np.ndarray) -> Any:
        from scipy.optimize import least_squares

        def off(b: np.ndarray) -> np.ndarray:
            return self.curve(self.x, self._unscaled(b)) / self.h - y

        return least_squares(off, np.sign(self.start), xtol=1e-14, ftol=1e-14, gtol=1e-14)

    def _draws(self, values: bytes) -> Weighted:
        y = np.frombuffer(values) / self.h
        fit = self._least_squares(y)
        n, p = fit.jac.shape
        free = max(3, n - p - 1) if self.sd is None else 8
        size = 2 * fit.cost / (n - p) if self.sd is None else self.sd**2
        random = np.random.default_rng(0)
        root = 1.3 * np.linalg.cholesky(np.linalg.inv(fit.jac.T @ fit.jac) * size)
        t = (
            random.standard_normal((self.samples, p))
            / np.sqrt(random.chisquare(free, self.samples) / free)[:, None]
        )
        b = fit.x + t @ root.T

        def means(b: np.ndarray) -> np.ndarray:
            return self.curve(self.x, [column[:, None] for column in self._unscaled(b).T]) / self.h

        with np.errstate(all="ignore"):  # far out there may be no curve, and no weight
            residual = y - means(b)
            slopes = [(means(b + step) - means(b - step)) / 2e-5 for step in 1e-5 * np.eye(p)]
            table = np.stack(slopes if self.sd is not None else [*slopes, residual], axis=-1)
            rss = np.sum(residual**2, axis=1)
            likelihood = -n / 2 * np.log(rss) if self.sd is None else -0.5 * rss / self.sd**2
            gram = np.linalg.slogdet(np.einsum("nij,nik->njk", table, table))[1]
        weight = likelihood + 0.5 * gram + (free + p) / 2 * np.log1p(np.sum(t**2, axis=1) / free)
        weight = np.exp(np.where(np.isfinite(weight), weight - np.nanmax(weight), -np.inf))
        # given the parameters the density of the size is s^-(n+1) exp(-RSS / 2 s^2)
        drawn = np.sqrt(rss / random.chisquare(n, self.samples)) if self.sd is None else None
        return Weighted(self._unscaled(b), weight / weight.sum(), drawn)

    def _unscaled(self, b: np.ndarray) -> np.ndarray:
        """Parameters in their own units from numbers that are 1 or -1 at the start."""
        return np.abs(self.start) * np.where(
            self.positive, np.exp(np.where(self.positive, b - 1, 0.0)), b
        )


def _quantiles(
    values: np.ndarray, weight: np.ndarray, at: tuple[float, float]
) -> tuple[float, float]:
    order = np.argsort(values)
    lower, upper = values[order][np.searchsorted(np.cumsum(weight[order]), at)]
    return float(lower), float(upper)
