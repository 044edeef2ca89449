"""Growth of tumour spheroids by the Montroll model: real data."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..datasets import Table, v79_tumour
from ..noise.gaussian import Gaussian
from ..posing.coordinates import Box
from ..posing.networks import MLP, softplus
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.unknowns import AbstractUnknown, Positive
from ._curve import ExactCurve

_FIRST = 3.0
"""First day of the data."""
_MIDDLE = 20.0
"""A day of fast growth, whose volume the data determine well."""


def montroll(*, theta: float | None = 0.1, noise: str = "sqrt") -> Problem:
    """Growth of tumour spheroids, p' = k p (1 - (p / C)^theta): real data.

    - Domain: days 3 to 60.
    - Unknown: k, C, p(3), the size of the errors, and on request theta.
    - Observed: 45 volumes of V79 tumour spheroids, with independent normal errors.
    - Exact limits: the fiducial density of the algebraic solution, by importance
      sampling.

    Arguments:
        theta: the exponent; None to infer it as ``exponent``, although the data can
            hardly tell it from k.
        noise: ``"sqrt"`` for errors that grow as the square root of time, as in the
            paper, or ``"constant"``.

    Example:
        >>> list(montroll(theta=None).unknowns)
        ['k', 'C', 'exponent']
    """
    if theta is not None and not (isinstance(theta, int | float) and theta > 0):
        raise ValueError(
            f"montroll(theta={theta!r}): give a positive number, or None (none on the command line)"
            " to leave it unknown"
        )
    if noise not in ("sqrt", "constant"):
        raise ValueError(f"montroll(noise={noise!r}): give 'sqrt' or 'constant'")
    unknowns: dict[str, AbstractUnknown] = {"k": Positive(1.0), "C": Positive(7.0)}
    if theta is None:
        unknowns["exponent"] = Positive(0.1)
    table = v79_tumour()
    return Problem(
        name="montroll",
        equation=lambda p, t, c: (
            derivative(p, t)
            - c["k"] * p(t) * (1 - (p(t) / c["C"]) ** (c["exponent"] if theta is None else theta))
        ),
        domain=Box(t=(_FIRST, 60)),
        unknowns=unknowns,
        outputs={"p": Output(positive=True)},
        network=MLP((50, 50), softplus(beta=10.0)),
        observations=[
            Observed(
                "p",
                x=table["time_days"],
                y=table["volume"],
                noise=Gaussian(h=jnp.sqrt if noise == "sqrt" else None),
            )
        ],
        units={"t": "days", "p": "10^9 um^3", "k": "1/day", "C": "10^9 um^3"},
        exact=_exact(table, theta, noise),
    )


def _volume(t: Any, pace: Any, C: Any, log_volume: Any, exponent: Any, day: float) -> Any:
    """Return the solution with ``pace = k theta`` whose volume has the given logarithm on
    a day.
    """
    start = (np.exp(log_volume) / C) ** -exponent
    return C * (1 + (start - 1) * np.exp(-pace * (t - day))) ** (-1 / exponent)


def _exact(table: Table, theta: float | None, noise: str) -> ExactCurve:
    """Return the exact limits: the solution is a known curve in k, C, the logarithm of
    a volume, and the exponent where that is unknown.
    """
    times = table["time_days"]
    h = np.sqrt(times) if noise == "sqrt" else 1.0
    if theta is not None:
        return ExactCurve(
            lambda t, p: _volume(t, p[0] * theta, p[1], p[2], theta, _FIRST),
            times,
            (1.3, 7.5, -4.0),
            ("k", "C"),
            "p",
            h=h,
        )

    # the data determine k theta and a volume in the middle well, so that importance
    # samples around the fit cover the whole density
    def curve(t: Any, p: Any) -> Any:
        return np.where(np.asarray(p[3]) > 0, _volume(t, p[0], p[1], p[2], p[3], _MIDDLE), np.nan)

    derived = {"k": lambda p: p[0] / p[3], "C": lambda p: p[1], "exponent": lambda p: p[3]}
    return ExactCurve(curve, times, (0.13, 7.5, 1.0, 0.1), (), "p", derived=derived, h=h)
