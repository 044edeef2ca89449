"""Growth of a tumour: real data of the paper's section on the Montroll model."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..coordinates import Box
from ..data import Table, v79_tumour
from ..networks import MLP, softplus
from ..noise.gaussian import Gaussian
from ..observed import Observed
from ..operators import derivative
from ..problem import Output, Problem
from ..unknowns import AbstractUnknown, Positive
from ._curve import ExactCurve
from ._paper import PAPER_EFI_REAL_DATA

_FIRST = 3.0
"""Day from which on the growth is followed."""


def _exact(table: Table, theta: float, noise: str) -> ExactCurve:
    """The solution is a known curve in k, C and the logarithm of the first volume."""

    def curve(t: Any, p: Any) -> Any:
        rate, most, first = p
        return most * (1 + ((np.exp(first) / most) ** -theta - 1) * np.exp(-rate * theta * (t - _FIRST))) ** (-1 / theta)

    times = table["time_days"]
    return ExactCurve(curve, times, (1.3, 7.5, -4.0), ("k", "C"), "p", h=np.sqrt(times) if noise == "sqrt" else 1.0)


def montroll(*, theta: float | None = 0.1, noise: str = "sqrt") -> Problem:
    """p' = k p (1 - (p / C)^theta) for 45 volumes of V79 tumour spheroids over 60 days; k, C and the noise size unknown.

    Arguments:
        theta: the exponent; None to leave it unknown, too (as ``exponent``), which the data can hardly tell from k.
        noise: how errors grow: ``"sqrt"``, as the square root of time, as in the paper, or ``"constant"``.

    Example:
        >>> list(montroll(theta=None).unknowns)
        ['k', 'C', 'exponent']
    """
    if theta is not None and not (isinstance(theta, int | float) and theta > 0):
        raise ValueError(f"montroll(theta={theta!r}): give a positive number, or None (none on the command line) to leave it unknown")
    if noise not in ("sqrt", "constant"):
        raise ValueError(f"montroll(noise={noise!r}): give 'sqrt' or 'constant'")
    unknowns: dict[str, AbstractUnknown] = {"k": Positive(1.0), "C": Positive(7.0)}
    if theta is None:
        unknowns["exponent"] = Positive(0.1)
    table = v79_tumour()
    return Problem(
        name="montroll",
        equation=lambda p, t, c: derivative(p, t) - c["k"] * p(t) * (1 - (p(t) / c["C"]) ** (c["exponent"] if theta is None else theta)),
        domain=Box(t=(_FIRST, 60)),
        unknowns=unknowns,
        outputs={"p": Output(positive=True)},
        network=MLP((50, 50), softplus(beta=10.0)),
        observations=[Observed("p", x=table["time_days"], y=table["volume"], noise=Gaussian(h=jnp.sqrt if noise == "sqrt" else None))],
        units={"t": "days", "p": "10^9 um^3", "k": "1/day", "C": "10^9 um^3"},
        exact=None if theta is None else _exact(table, theta, noise),
        paper={"efi": {**PAPER_EFI_REAL_DATA, "sgld_learning_rate": "poly_1e-4_10_0.95", "encoder": (32, 32, 16)}},
        options={"theta": theta, "noise": noise},
    )
