"""Exact limits for the price of an option whose values at the upper edge are a
polynomial with unknown coefficients, everything else known.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

_STEPS = 400
"""Steps of the grid in each coordinate; twice as many move the responses by a
hundred-thousandth.
"""


class ExactOption:
    """Limits of the exact fiducial distribution, by linear regression on the responses
    of the price to the coefficients.

    Arguments:
        price: ``(S, t) ->`` the true price.
        edge: ``(time left) ->`` the true price at the upper edge, less the part that
            is known.
        sensors: prices of the share at which the option is measured at t = 0.
        sd: standard deviation of the measurements.
        terms: number of coefficients: of the square of the time left, its cube, and so
            on.
        volatility: volatility of the share.
        rate: rate of interest.
        highest: price of the share at the upper edge.
        expiry: time at which the option ends.
    """

    def __init__(
        self,
        price: Any,
        edge: Any,
        sensors: np.ndarray,
        *,
        sd: float,
        terms: int,
        volatility: float,
        rate: float,
        highest: float,
        expiry: float,
    ):
        self.price = price
        self.sensors = sensors
        self.sd = sd
        left = np.linspace(0, expiry, _STEPS + 1)
        self._axes = np.linspace(0, highest, _STEPS + 1), left
        drives = np.stack([*(left**k for k in range(2, terms + 2)), edge(left)], axis=1)
        self._responses = respond(self._axes[0], left, drives, volatility, rate)

    def __call__(
        self, data: Mapping[str, np.ndarray], at: Any, level: float
    ) -> dict[str, tuple[Any, Any]]:
        y = data["V"]
        columns, missing = self._at(self.sensors, np.zeros(self.sensors.size))
        size = self.sd / np.sqrt(y.shape[1])
        off = y.mean(axis=1) - self.price(self.sensors, np.zeros(self.sensors.size)) + missing
        found, *_ = np.linalg.lstsq(columns / size, off / size, rcond=None)
        root = np.linalg.inv(np.linalg.qr(columns / size, mode="r"))
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        S, t = np.broadcast_arrays(np.asarray(at["S"], float), np.asarray(at["t"], float))
        columns, missing = self._at(S.ravel(), t.ravel())
        middle = self.price(S.ravel(), t.ravel()) - missing + columns @ found
        half, half_edge = (quantile * np.linalg.norm(v, axis=1) for v in (columns @ root, root))
        lower, upper = (v.reshape(S.shape) for v in (middle - half, middle + half))
        return {"V": (lower, upper), "time_value": (found - half_edge, found + half_edge)}

    def _at(self, S: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the responses to the coefficients, and to the part of the true edge that
        is not known.
        """
        from scipy.interpolate import RegularGridInterpolator

        left = self._axes[1][-1] - t
        found = RegularGridInterpolator(self._axes, self._responses)(np.stack([S, left], axis=1))
        return found[:, :-1], found[:, -1]


def respond(
    S: np.ndarray, left: np.ndarray, drives: np.ndarray, volatility: float, rate: float
) -> np.ndarray:
    """Return prices that are zero at expiry and at S = 0, and ``drives`` at the upper
    edge, by Crank-Nicolson steps; axes (S, time left, drive).
    """
    from scipy.linalg import solve_banded

    width, step = S[1] - S[0], left[1] - left[0]
    inner = S[1:-1]
    bend, slope = volatility**2 / 2 * inner**2 / width**2, rate * inner / (2 * width)
    below = bend - slope
    middle = -2 * bend - rate
    above = bend + slope
    bands = np.zeros((3, inner.size))
    bands[0, 1:] = -step / 2 * above[:-1]
    bands[1] = 1 - step / 2 * middle
    bands[2, :-1] = -step / 2 * below[1:]
    prices = np.zeros((S.size, *drives.shape))
    prices[-1] = drives
    for i in range(left.size - 1):
        now = prices[:, i]
        right = now[1:-1] + step / 2 * (
            below[:, None] * now[:-2] + middle[:, None] * now[1:-1] + above[:, None] * now[2:]
        )
        right[-1] += step / 2 * above[-1] * drives[i + 1]
        prices[1:-1, i + 1] = solve_banded((1, 1), bands, right)
    return prices
