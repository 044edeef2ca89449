"""The price of a European option: the paper's Black-Scholes experiment."""

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
from ._paper import PAPER_EFI, paper_baselines

_STRIKE, _EXPIRY, _HIGHEST = 1.0, 1.0, 2.0
_RATE, _VOLATILITY = 0.05, 0.5


def _price(S: Any, t: Any, kind: str) -> Any:
    """The analytic price; its limits at S = 0 and at expiry are met to rounding."""
    left, price = jnp.maximum(_EXPIRY - t, 1e-12), jnp.maximum(S, 1e-12)
    up = (jnp.log(price / _STRIKE) + (_RATE + _VOLATILITY**2 / 2) * left) / (
        _VOLATILITY * jnp.sqrt(left)
    )
    down, discounted = up - _VOLATILITY * jnp.sqrt(left), _STRIKE * jnp.exp(-_RATE * left)
    if kind == "call":
        return price * ndtr(up) - discounted * ndtr(down)
    return discounted * ndtr(-down) - price * ndtr(-up)


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
    """V_t + sigma^2 S^2 V_SS / 2 + r S V_S = r V; prices at expiry and at S = 0 are
    known, five at t = 0 are measured with noise.

    Prices at S = 2 are quoted, too; or they are what a payment now would be worth plus
    a polynomial with unknown coefficients in the time that is left, from its square on,
    which is smooth at the corner; or, as in the paper, they are left to the network,
    and then its smoothness decides how wide the band is.

    Arguments:
        kind: ``"call"`` or ``"put"``.
        unknown: ``"sigma"`` or ``"r"`` to infer the volatility or the rate as well;
            None when both are known.
        sd: standard deviation of the measured prices.
        replicates: measurements at each of S = 0.2, 0.4, 0.6, 0.8 and 1.
        edge: ``"quoted"`` for known prices at S = 2, ``"curve"`` for a polynomial,
            ``"free"`` to leave them to the network, as the paper does.
        terms: number of the polynomial's coefficients ``time_value``.
        expiry: ``"built in"`` for prices at expiry that hold by themselves,
            ``"observed"`` for a plain network that is told them, as the paper's is.
        n_edge: points on each of the edges: S = 0, S = 2, and expiry where it is
            observed.
        n_f: number of points where the equation must hold.
        data_seed: seed of the simulated measurements.

    Example:
        >>> list(black_scholes(unknown="sigma").unknowns)
        ['sigma']
    """
    if (
        kind not in ("call", "put")
        or unknown not in (None, "sigma", "r")
        or edge not in ("quoted", "curve", "free")
    ):
        raise ValueError(
            f"black-scholes(kind={kind!r}, unknown={unknown!r}, edge={edge!r}): "
            "give 'call' or 'put'; 'sigma', 'r' or None; 'quoted', 'curve' or 'free'"
        )
    if expiry not in ("built in", "observed"):
        raise ValueError(f"black-scholes(expiry={expiry!r}): give 'built in' or 'observed'")
    built_in = expiry == "built in"
    if terms < 1:
        raise ValueError(f"black-scholes(terms={terms!r}): give 1 or more")
    guesses: dict[str, AbstractUnknown] = {"sigma": Positive(0.3), "r": Real(0.0, scale=0.1)}
    true = {"sigma": _VOLATILITY, "r": _RATE}

    def equation(V: Any, at: Any, p: Any) -> Any:
        sigma, rate = p.get("sigma", _VOLATILITY), p.get("r", _RATE)
        slope, bend = derivative(V, at, "S"), derivative(V, at, "S", order=2)
        residual = (
            derivative(V, at, "t")
            + sigma**2 / 2 * at.S**2 * bend
            + rate * at.S * slope
            - rate * V(at)
        )
        # no smooth function meets it at the kink, where no time is left
        return (_EXPIRY - at.t) * residual if built_in else residual

    def near_expiry(V: Any, at: Any, p: Any) -> Any:
        """The kink at expiry spreads as in Bachelier's model, where prices follow
        Brownian motion; the network adds the rest.
        """
        left = jnp.maximum(_EXPIRY - at.t, 1e-12)
        size = _STRIKE * p.get("sigma", _VOLATILITY) * jnp.sqrt(left)
        gain = at.S - _STRIKE if kind == "call" else _STRIKE - at.S
        scaled = gain / size
        return (
            gain * ndtr(scaled)
            + size * jnp.exp(-(scaled**2) / 2) / jnp.sqrt(2 * jnp.pi)
            + (_EXPIRY - at.t) * V
        )

    def worthless(V: Any, at: Any, p: Any) -> Any:
        """At S = 0 a call is worth nothing, and a put the strike, discounted."""
        return V(at) - (
            0.0 if kind == "call" else _STRIKE * jnp.exp(-p.get("r", _RATE) * (_EXPIRY - at.t))
        )

    def certain(left: Any, rate: Any) -> Any:
        """The price at S = 2 if the option is sure to be used, or sure not to be."""
        return _HIGHEST - _STRIKE * jnp.exp(-rate * left) if kind == "call" else 0.0 * left

    def curve(V: Any, at: Any, p: Any) -> Any:
        left = _EXPIRY - at.t
        return (
            V(at)
            - certain(left, p.get("r", _RATE))
            - sum(p["time_value"][k] * left ** (k + 2) for k in range(terms))
        )

    def true_price(S: Any, t: Any) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(_price(S, t, kind))

    sensors, side = np.array([0.2, 0.4, 0.6, 0.8, 1.0]), np.linspace(0, 1, n_edge)
    quoted = true_price(_HIGHEST, _EXPIRY * side)
    y = true_price(sensors, 0.0)[:, None] + sd * np.random.default_rng(data_seed).standard_normal(
        (5, replicates)
    )
    upper = {"S": _HIGHEST, "t": _EXPIRY * side}
    payoff = Observed(
        "V",
        x={"S": _HIGHEST * side, "t": _EXPIRY},
        y=true_price(_HIGHEST * side, _EXPIRY),
        name="expiry",
    )
    high = {
        "quoted": [Observed("V", x=upper, y=quoted, name="high_edge")],
        "curve": [Observed(curve, x=upper, name="high_edge")],
        "free": [],
    }

    def time_value(left: Any) -> np.ndarray:
        with jax.enable_x64(True):
            return true_price(_HIGHEST, _EXPIRY - left) - np.asarray(certain(left, _RATE))

    exact = None
    if edge == "curve" and unknown is None:
        known = {"volatility": _VOLATILITY, "rate": _RATE, "highest": _HIGHEST, "expiry": _EXPIRY}
        exact = ExactOption(true_price, time_value, sensors, sd=sd, terms=terms, **known)
    return Problem(
        name="black-scholes",
        equation=equation,
        domain=Box(S=(0, _HIGHEST), t=(0, _EXPIRY)),
        unknowns={n: guess for n, guess in guesses.items() if n == unknown}
        | ({"time_value": Real([0.0] * terms)} if edge == "curve" else {}),
        outputs={"V": Output(scale=0.5)},
        network=MLP((50, 50)),
        constraint=near_expiry if built_in else None,
        collocation=latin_hypercube(n_f),
        observations=[
            Observed("V", x={"S": sensors, "t": 0.0}, y=y, noise=Gaussian(sd=sd)),
            Observed(worthless, x={"S": 0.0, "t": _EXPIRY * side}, name="low_edge"),
            *high[edge],
            *([] if built_in else [payoff]),
        ],
        truth=Truth(
            outputs={"V": lambda at: _price(at.S, at.t, kind)},
            unknowns={name: value for name, value in true.items() if name == unknown},
        ),
        exact=exact,
        paper={
            **paper_baselines(
                steps=200_000,
                bayes_steps=100_000,
                sigma_f=0.05,
                pretrain=5000,
                learning_rates={"exp_0.05_0.005": "linear_1e-4_1e-5"},
            ),
            "efi": {**PAPER_EFI, "steps": 300_000},
        },
        options={
            "kind": kind,
            "unknown": unknown,
            "sd": sd,
            "replicates": replicates,
            "edge": edge,
            "terms": terms,
            "expiry": expiry,
            "n_edge": n_edge,
            "n_f": n_f,
            "data_seed": data_seed,
        },
    )
