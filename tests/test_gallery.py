"""Every ready problem goes all the way in a reduced form; `make gallery` runs them in full."""

import json

import numpy as np
import pytest

import fiducial as fd
from fiducial import catalogue

# these are fitted in full by other tests
ELSEWHERE = {"poisson", "poisson-inverse", "poisson-noisy-f", "poisson-nonlinear", "poisson-unknown-sd", "linear-regression", "montroll"}


@pytest.mark.parametrize("name", sorted(set(catalogue.problems()) - ELSEWHERE))
def test_problem_runs_through(name, tmp_path):
    problem = fd.problem(name)
    result = fd.fit(problem, fd.PINN(adam_steps=0, lm_steps=4), seed=1)
    assert result.status.usable
    assert np.isfinite(result.band(result.grid(5))["mean"]).all()
    assert set(json.loads(json.dumps(result.summary(), allow_nan=False))["unknowns"]) >= {n for n, u in problem.unknowns.items() if u.guess.ndim == 0}
    result.plot().savefig(tmp_path / "solution.png")
    again = fd.load(result.save(tmp_path / "result.nc"))
    assert again.tree.identical(result.tree)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("black-scholes", {"kind": "straddle"}),
        ("black-scholes", {"unknown": "T"}),
        ("black-scholes", {"edge": 3}),
        ("fkpp", {"cells": 11_000}),
        ("porous-fkpp", {"noise": "white"}),
        ("lotka-volterra", {"observe": "predator"}),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options):
    with pytest.raises(ValueError, match=name):
        fd.problem(name, **options)


def test_logistic_growth_has_its_exact_intervals():
    """The exact limits come from importance sampling of the algebraic curve; 5 % of a width is four Monte-Carlo errors of 4,000 draws."""
    problem = fd.problem("logistic", told=False)
    result = fd.fit(problem, fd.EFIDirect(draws=4000), seed=0)
    table = result.parameters()
    exact = problem.exact({"u": problem.groups[0].y}, np.array([1.0, 3.0, 5.0]), 0.95)
    band = result.band(np.array([1.0, 3.0, 5.0])).sel(output="u")
    found = {**{name: tuple(table.loc[name, ["lower", "upper"]]) for name in ("r", "K", "sd_u")}, "u": (band.lower.values, band.upper.values)}
    for name, (lower, upper) in exact.items():
        for limit, known in zip(found[name], (lower, upper), strict=True):
            assert np.all(np.abs(limit - known) < 0.05 * (np.asarray(upper) - lower)), name


def test_the_heat_equation_has_its_exact_interval():
    """In a plane, with points that move while the network is fitted."""
    problem = fd.problem("heat")
    result = fd.fit(problem, fd.EFIDirect(draws=2000), seed=0)
    (lower, upper), row = problem.exact({"u": problem.groups[0].y}, result.grid(3).coordinates(), 0.95)["D"], result.parameters().loc["D"]
    assert abs(row["lower"] - lower) < 0.07 * (upper - lower)
    assert abs(row["upper"] - upper) < 0.07 * (upper - lower)
    assert result.diagnose().verdict == "trust"
