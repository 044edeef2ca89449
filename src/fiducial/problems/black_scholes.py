"""The price of a European option, by the Black-Scholes equation."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from ..noise.gaussian import Gaussian
from ..posing.collocation import latin_hypercube
from ..posing.coordinates import Box
from ..posing.networks import MLP
from ..posing.observations import Observed
from ..posing.operators import derivative
from ..posing.problem import Output, Problem
from ..posing.truth import Truth
from ..posing.unknowns import AbstractUnknown, Positive, Real
from ._option import ExactOption

_STRIKE = 1.0
_EXPIRY = 1.0
_HIGHEST = 2.0
"""Largest price of the share."""
_TRUE = {"sigma": 0.5, "r": 0.05}
"""True volatility and rate of interest, per year."""
_SHARE_PRICES = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
"""Prices of the share at which the option's price at t = 0 is measured."""
_LEAST = 1e-12
"""Replaces a zero that would be divided by, or whose logarithm would be taken."""
_CHOICES: dict[str, tuple[Any, ...]] = {
    "kind": ("call", "put"),
    "unknown": ("sigma", "r", None),
    "edge": ("quoted", "curve", "free"),
    "expiry": ("built in", "observed"),
}


def black_scholes(
    *,
    kind: str = "call",
    unknown: str | None = "sigma",
    sd: float = 0.05,
    replicates: int = 10,
    edge: str = "quoted",
    terms: int = 1,
    expiry: str = "built in",
    n_edge: int = 30,
    n_f: int = 400,
    data_seed: int = 0,
) -> Problem:
    """The price of a European option, with unknown volatility sigma or rate r.

    - Equation: V_t + sigma^2 S^2 V_SS / 2 + r S V_S = r V.
    - Domain: price of the share S in [0, 2], time t in [0, 1], the expiry.
    - Known exactly: V at expiry and at S = 0; at S = 2 as ``edge`` says.
    - Observed: V at t = 0, with independent normal errors of known standard deviation.
    - Truth: the Black-Scholes formula.
    - Exact limits: with ``unknown=None, edge="curve"`` V is linear in the unknown
      coefficients, so they are those of a regression.

    Arguments:
        kind: ``"call"`` or ``"put"``.
        unknown: ``"sigma"``, ``"r"``, or None when both are known.
        sd: standard deviation of the measurements.
        replicates: measurements at each of S = 0.2, 0.4, 0.6, 0.8 and 1.
        edge: ``"quoted"`` for known prices at S = 2; ``"curve"`` for the discounted
            payoff plus a polynomial in the time left, from its square on;
            ``"free"`` for nothing: the smoothness of the network then sets the width.
        terms: number of the polynomial's unknown coefficients ``time_value``.
        expiry: ``"built in"`` for a form of the solution that has the prices at expiry,
            ``"observed"`` for exact values of the network there.
        n_edge: points on each of S = 0, S = 2 and, where it is observed, expiry.
        n_f: number of points where the equation must hold.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(black_scholes(unknown="sigma").unknowns)
        ['sigma']
    """
    _check_options(terms, kind=kind, unknown=unknown, edge=edge, expiry=expiry)
    built_in = expiry == "built in"
    return Problem(
        name="black-scholes",
        equation=_equation_times_time_left if built_in else _equation,
        domain=Box(S=(0, _HIGHEST), t=(0, _EXPIRY)),
        unknowns=_unknowns(unknown, terms if edge == "curve" else 0),
        outputs={"V": Output(scale=0.5)},
        network=MLP((50, 50)),
        constraint=_near_expiry(kind) if built_in else None,
        collocation=latin_hypercube(n_f),
        observations=[
            _measured(kind, sd, replicates, data_seed),
            *_edges(kind, edge, terms, n_edge, built_in),
        ],
        truth=_truth(kind, unknown),
        exact=_exact(kind, sd, terms) if edge == "curve" and unknown is None else None,
    )


def _check_options(terms: int, **chosen: Any) -> None:
    for option, value in chosen.items():
        if value not in _CHOICES[option]:
            raise ValueError(
                f"black-scholes({option}={value!r}): give"
                f" {' or '.join(map(repr, _CHOICES[option]))}"
            )
    if terms < 1:
        raise ValueError(f"black-scholes(terms={terms!r}): give 1 or more")


def _equation(V: Any, at: Any, p: Any) -> Any:
    volatility, rate = _constants(p)
    slope = derivative(V, at, "S")
    bend = derivative(V, at, "S", order=2)
    return (
        derivative(V, at, "t")
        + volatility**2 / 2 * at.S**2 * bend
        + rate * at.S * slope
        - rate * V(at)
    )


def _equation_times_time_left(V: Any, at: Any, p: Any) -> Any:
    """Return the residual such that it vanishes at expiry, where the price has a kink
    and no smooth function meets the equation.
    """
    return (_EXPIRY - at.t) * _equation(V, at, p)


def _constants(p: Any) -> tuple[Any, Any]:
    return p.get("sigma", _TRUE["sigma"]), p.get("r", _TRUE["r"])


def _unknowns(unknown: str | None, terms: int) -> dict[str, AbstractUnknown]:
    guesses: dict[str, AbstractUnknown] = {"sigma": Positive(0.3), "r": Real(0.0, scale=0.1)}
    chosen = {} if unknown is None else {unknown: guesses[unknown]}
    return chosen | ({"time_value": Real([0.0] * terms)} if terms else {})


def _near_expiry(kind: str) -> Callable[[Any, Any, Any], Any]:
    """Return a form of the solution that has the kink at expiry: the price in
    Bachelier's model, where the share follows a Brownian motion, plus the time left
    times the network.
    """

    def constraint(V: Any, at: Any, p: Any) -> Any:
        volatility, _ = _constants(p)
        left = jnp.maximum(_EXPIRY - at.t, _LEAST)
        size = _STRIKE * volatility * jnp.sqrt(left)
        gain = at.S - _STRIKE if kind == "call" else _STRIKE - at.S
        scaled = gain / size
        return (
            gain * ndtr(scaled)
            + size * jnp.exp(-(scaled**2) / 2) / jnp.sqrt(2 * jnp.pi)
            + (_EXPIRY - at.t) * V
        )

    return constraint


def _measured(kind: str, sd: float, replicates: int, data_seed: int) -> Observed:
    """Return simulated measurements of the price at t = 0."""
    random = np.random.default_rng(data_seed)
    errors = sd * random.standard_normal((_SHARE_PRICES.size, replicates))
    mean = _true_price(_SHARE_PRICES, 0.0, kind)
    x = {"S": _SHARE_PRICES, "t": 0.0}
    return Observed("V", x=x, y=mean[:, None] + errors, noise=Gaussian(sd=sd))


def _edges(kind: str, edge: str, terms: int, n_edge: int, built_in: bool) -> list[Observed]:
    """Return what is known exactly at S = 0, at S = 2, and at expiry."""
    share = np.linspace(0, 1, n_edge)

    def low_edge(V: Any, at: Any, p: Any) -> Any:
        """A call on a worthless share is worth nothing, a put the discounted strike."""
        if kind == "call":
            return V(at)
        return V(at) - _STRIKE * jnp.exp(-_constants(p)[1] * (_EXPIRY - at.t))

    def high_edge(V: Any, at: Any, p: Any) -> Any:
        left = _EXPIRY - at.t
        polynomial = sum(p["time_value"][k] * left ** (k + 2) for k in range(terms))
        return V(at) - _discounted_payoff(left, _constants(p)[1], kind) - polynomial

    known = [Observed(low_edge, x={"S": 0.0, "t": _EXPIRY * share})]
    high = {"S": _HIGHEST, "t": _EXPIRY * share}
    if edge == "quoted":
        prices = _true_price(_HIGHEST, _EXPIRY * share, kind)
        known.append(Observed("V", x=high, y=prices, name="high_edge"))
    elif edge == "curve":
        known.append(Observed(high_edge, x=high))
    if not built_in:
        payoff = _true_price(_HIGHEST * share, _EXPIRY, kind)
        x = {"S": _HIGHEST * share, "t": _EXPIRY}
        known.append(Observed("V", x=x, y=payoff, name="expiry"))
    return known


def _discounted_payoff(left: Any, rate: Any, kind: str) -> Any:
    """Return the price at S = 2 of a call that is sure to be exercised, or of a put
    that is sure not to be.
    """
    return _HIGHEST - _STRIKE * jnp.exp(-rate * left) if kind == "call" else 0.0 * left


def _price(S: Any, t: Any, kind: str) -> Any:
    """Return the Black-Scholes formula; limits at S = 0 and at expiry are met to
    rounding.
    """
    volatility, rate = _TRUE["sigma"], _TRUE["r"]
    left = jnp.maximum(_EXPIRY - t, _LEAST)
    share = jnp.maximum(S, _LEAST)
    d1 = (jnp.log(share / _STRIKE) + (rate + volatility**2 / 2) * left) / (
        volatility * jnp.sqrt(left)
    )
    d2 = d1 - volatility * jnp.sqrt(left)
    strike = _STRIKE * jnp.exp(-rate * left)
    if kind == "call":
        return share * ndtr(d1) - strike * ndtr(d2)
    return strike * ndtr(-d2) - share * ndtr(-d1)


def _true_price(S: Any, t: Any, kind: str) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_price(S, t, kind))


def _truth(kind: str, unknown: str | None) -> Truth:
    return Truth(
        outputs={"V": lambda at: _price(at.S, at.t, kind)},
        unknowns={} if unknown is None else {unknown: _TRUE[unknown]},
    )


def _exact(kind: str, sd: float, terms: int) -> ExactOption:
    def time_value(left: Any) -> np.ndarray:
        with jax.enable_x64(True):
            payoff = np.asarray(_discounted_payoff(left, _TRUE["r"], kind))
            return _true_price(_HIGHEST, _EXPIRY - left, kind) - payoff

    return ExactOption(
        price=lambda S, t: _true_price(S, t, kind),
        edge=time_value,
        sensors=_SHARE_PRICES,
        sd=sd,
        terms=terms,
        volatility=_TRUE["sigma"],
        rate=_TRUE["r"],
        highest=_HIGHEST,
        expiry=_EXPIRY,
    )
