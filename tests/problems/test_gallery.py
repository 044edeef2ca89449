"""Every ready problem goes all the way in a reduced form; `make gallery` runs them
in full.
"""

import json

import jax
import numpy as np
import pytest
from scipy.special import ndtr

import fiducial as fd
from fiducial import catalogue
from fiducial.model.binding import bind
from fiducial.problems._option import respond
from helpers import SMALL, TINY, decay

# these are fitted in full by other tests
ELSEWHERE = {"heat", "linear-regression", "logistic", "montroll"}
ELSEWHERE |= {
    "poisson",
    "poisson-inverse",
    "poisson-noisy-f",
    "poisson-nonlinear",
    "poisson-unknown-sd",
}
HEAVY = {"taylor-green", "black-scholes", "porous-fkpp", "fkpp"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.extra if name in HEAVY else pytest.mark.slow)
        for name in sorted(set(catalogue.problems()) - ELSEWHERE)
    ],
)
def test_problem_runs_through(name, tmp_path):
    problem = fd.problem(name)
    problem = problem.replace(network=fd.MLP((8,), problem.recipe.activation))
    result = fd.fit(problem, fd.PINN(adam_steps=0, lm_steps=4), seed=1, multistart=False)
    assert result.status.usable
    assert np.isfinite(result.band(result.grid(5))["mean"]).all()
    assert set(json.loads(json.dumps(result.summary(), allow_nan=False))["unknowns"]) >= {
        n for n, u in problem.unknowns.items() if u.guess.ndim == 0
    }
    result.plot().savefig(tmp_path / "solution.png")
    again = fd.load(result.save(tmp_path / "result.nc"), problem=problem)
    assert again.tree.identical(result.tree)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("black-scholes", {"kind": "straddle"}),
        ("black-scholes", {"unknown": "T"}),
        ("black-scholes", {"edge": 3}),
        ("black-scholes", {"expiry": "late"}),
        ("black-scholes", {"edge": "curve", "terms": 0}),
        ("fkpp", {"cells": 11_000}),
        ("porous-fkpp", {"noise": "white"}),
        ("lotka-volterra", {"observe": "predator"}),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options):
    with pytest.raises(ValueError, match=name):
        fd.problem(name, **options)


def check_limits(found, exact, *, off, width):
    """Each limit, and the width by itself, relative to the exact width; errors of
    both ends the same way are told from a narrow interval.
    """
    (lower, upper), (low, high) = (tuple(np.asarray(v) for v in pair) for pair in (found, exact))
    assert np.all(np.abs(lower - low) < off * (high - low))
    assert np.all(np.abs(upper - high) < off * (high - low))
    assert np.all(np.abs((upper - lower) / (high - low) - 1) < width)


@pytest.mark.slow
def test_logistic_growth_has_its_exact_intervals():
    """By importance sampling of the algebraic curve. A width of 2,500 draws has a
    Monte-Carlo error of 1.9 %, a limit half of that or so.
    """
    problem, at = (
        fd.problem("logistic", told=False).replace(network=SMALL),
        np.array([1.0, 3.0, 5.0]),
    )
    result = fd.fit(problem, fd.EFIDirect(draws=2500), seed=0, multistart=False)
    table, band = result.parameters(), result.band(at).sel(output="u")
    found = {
        **{name: tuple(table.loc[name, ["lower", "upper"]]) for name in ("r", "K", "sd_u")},
        "u": (band.lower.values, band.upper.values),
    }
    for name, exact in problem.exact({"u": problem.groups[0].y}, at, 0.95).items():
        check_limits(found[name], exact, off=0.05, width=0.06)


@pytest.mark.slow
def test_the_heat_equation_has_its_exact_interval():
    """In a plane, with points that move while the network is fitted; the width of
    2,000 draws has a Monte-Carlo error of 2.2 %.
    """
    problem = fd.problem("heat").replace(network=SMALL)
    result = fd.fit(problem, fd.EFIDirect(draws=2000), seed=0, multistart=False)
    exact = problem.exact({"u": problem.groups[0].y}, result.grid(3).coordinates(), 0.95)["D"]
    check_limits(
        tuple(result.parameters().loc["D", ["lower", "upper"]]), exact, off=0.06, width=0.07
    )
    assert result.diagnose().verdict == "trust"


def test_responses_of_an_option_price_are_those_of_a_known_one():
    """A call whose strike is above the edge is worth nothing at expiry and at S = 0,
    so its price is the response to its price at the edge.
    """

    def price(S, left, strike=2.5, volatility=0.5, rate=0.05):
        S, spread = np.maximum(S, 1e-12), volatility * np.sqrt(np.maximum(left, 1e-12))
        up = (np.log(S / strike) + rate * left) / spread + spread / 2
        return S * ndtr(up) - strike * np.exp(-rate * left) * ndtr(up - spread)

    S, left = np.linspace(0, 2, 401), np.linspace(0, 1, 401)
    found = respond(S, left, price(2.0, left)[:, None], 0.5, 0.05)[..., 0]
    assert np.max(np.abs(found - price(S[:, None], left))) < 1e-5


@pytest.mark.extra
def test_black_scholes_with_an_unknown_edge_has_its_exact_band():
    """The price is linear in the edge's coefficient; the width of 1,000 draws has a
    Monte-Carlo error of 3 %.
    """
    problem = fd.problem("black-scholes", unknown=None, edge="curve")
    at = {"S": np.array([0.8, 1.0, 1.4, 2.0]), "t": np.array([0.0, 0.0, 0.5, 0.0])}
    result = fd.fit(
        problem.replace(network=SMALL), fd.EFIDirect(draws=1000), seed=0, multistart=False
    )
    exact, band = (
        problem.exact({"V": problem.groups[0].y.reshape(5, -1)}, at, 0.95),
        result.band(at).sel(output="V"),
    )
    check_limits((band.lower.values, band.upper.values), exact["V"], off=0.07, width=0.07)
    assert result.diagnose().verdict == "trust"


@pytest.mark.slow
def test_points_of_an_equation_move_in_a_plane_but_not_on_a_line_nor_with_values_of_their_own():
    with jax.enable_x64(True):
        for name, moves in (("heat", True), ("logistic", False), ("poisson", False)):
            model = bind(fd.problem(name))
            other = model.with_moved_points(jax.random.key(3))
            for here, there in zip(model.groups, other.groups, strict=True):
                a, b = np.asarray(here.sites.array), np.asarray(there.sites.array)
                assert np.array_equal(a, b) == (not (moves and here.physics)), (name, here.name)
                box = model.problem.domain
                assert np.all((b >= box.lower) & (b <= box.upper))


@pytest.mark.slow
def test_nothing_left_to_decide_is_said():
    """Data whose mean is already fixed by the equation and a start say nothing; a
    band without width must not look like knowledge.
    """
    fixed = decay(
        equation=lambda u, t, p: fd.derivative(u, t) + 1.3 * u(t),
        unknowns={},
        truth=None,
        network=TINY,
    )
    diagnosis = fd.fit(fixed, fd.EFIDirect(draws=50), seed=0, multistart=False).diagnose()
    assert diagnosis.verdict == "do not trust"
    assert any("nothing for the data to decide" in reason for reason in diagnosis.reasons)
