"""Multi-start: fits from other guesses of the unknown constants, to find other
solutions.

Draws are taken around one fit. Where an equation allows several solutions (two rates
that can be swapped, a frequency and its multiples), the intervals cover one of them
only, and no check of the draws can detect that.
"""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..device import run_once
from ..model.exact_residuals import MET, MET_BETWEEN, relative_residuals
from ..model.model import Model
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..running.driver import Runner
from ..running.progress import ProgressLine
from ..status import Status

if TYPE_CHECKING:
    import xarray as xr

EXCESS = "-2 log likelihood above the answer's"
"""Variable: by how much -2 log likelihood of a fit exceeds that of the answer."""
OTHER = "another solution"
"""Variable: whether a fit is another solution that fits the data about as well."""
_STARTS = 4
"""Number of fits from other guesses for a problem over one coordinate."""
_STARTS_IN_A_PLANE = 2
"""Number of fits from other guesses with two or more coordinates, where a fit costs
more.
"""
_GUESS_SD = 2.0
"""Standard deviation of the guesses in unconstrained units: for a positive constant, a
factor of about seven."""
_SAME = 0.01
"""Relative difference of a constant, by its size or guess, below which two solutions
agree.
"""
_AS_GOOD = 10.0
"""Largest excess of -2 log likelihood at which a solution is a rival of the answer: its
share of the likelihood is then exp(-5), under one per cent."""


def fit_from_other_guesses(
    runner: Runner,
    estimate: np.ndarray,
    draws: np.ndarray | None,
    *,
    seed: int,
    line: ProgressLine,
) -> "xr.Dataset | None":
    """Fit again from other guesses, and compare with the answer.

    Arguments:
        runner: what fitted the problem.
        estimate: parameters of its answer.
        draws: parameters drawn, (draw, p), or None.
        seed: seed of the guesses and networks.
        line: the line of progress.

    Returns:
        For each fit that solves the equation its constants in the user's units, the
        variable ``EXCESS`` and the variable ``OTHER``. None where a second solution
        cannot be recognised: without unknown constants or noisy data, with a free
        function, or for a method that does not begin with a fit.
    """
    import xarray as xr

    model = runner.model
    no_data = all(g.exact for g in model.groups)
    fitted = runner.has(LevenbergMarquardt)
    if not model.constant_count or model.has_free_function or no_data or not fitted:
        return None
    line.begin("fitting from other guesses")
    count = _STARTS if len(model.problem.domain.names) == 1 else _STARTS_IN_A_PLANE
    key = jax.random.fold_in(jax.random.key(seed), count)
    begin = run_once(lambda key: _guesses(model, count, key), key)
    ended, status = runner.fit_again(
        LevenbergMarquardt, model.data, np.asarray(begin), seed=seed, report=line.report
    )
    every = np.concatenate([estimate[None], ended])
    found = run_once(jax.vmap(lambda theta: _describe(model, theta)), jnp.asarray(every))
    found = jax.tree.map(np.asarray, found)
    excess = found["deviance"][1:] - found["deviance"][0]
    solved = (status == Status.CONVERGED) & (found["unmet"][1:] <= 1) & np.isfinite(excess)
    apart = _differs(model, every, found["constants"], excess, draws)
    other = apart.any(axis=1) & (excess < _AS_GOOD) & solved
    constants = {
        name: (("start", *(f"{name}_{i}" for i in range(v.ndim - 1))), v[1:])
        for name, v in found["unknowns"].items()
    }
    judged = {EXCESS: ("start", excess), OTHER: ("start", other.astype(int))}
    return xr.Dataset({**constants, **judged}).isel(start=np.flatnonzero(solved))


def _differs(
    model: Model,
    every: np.ndarray,
    values: np.ndarray,
    excess: np.ndarray,
    draws: np.ndarray | None,
) -> np.ndarray:
    """Return which constants of each fit are not those of the answer, (fit, constant).

    A difference must exceed a standard deviation of the draws, and the distance that
    the excess of -2 log likelihood accounts for.

    Arguments:
        model: the problem in computable form.
        every: parameters of the answer and of each fit, (1 + fit, p).
        values: the constants in the user's units, (1 + fit, constant).
        excess: -2 log likelihood of each fit above the answer's.
        draws: parameters drawn, (draw, p), or None.
    """
    raw = every[:, model.constant_slice]
    sd = 0.0 if draws is None else draws[:, model.constant_slice].std(axis=0)
    reach = sd * np.maximum(1.0, 2 * np.sqrt(np.clip(excess, 0, None)))[:, None]
    apart = np.abs(raw[1:] - raw[0]) > reach
    unknowns = sorted(model.problem.unknowns.items())
    guess = np.concatenate([np.abs(u.guess).ravel() for _, u in unknowns])
    size = np.maximum(np.maximum(np.abs(values[1:]), np.abs(values[0])), guess)
    return apart & (np.abs(values[1:] - values[0]) > _SAME * size)


def _guesses(model: Model, count: int, key: Any) -> Float[Array, "k p"]:
    """Return random networks with constants scattered around their guesses, in pairs on
    opposite sides of the guess, or of zero where a constant may be negative.
    """
    networks = jax.vmap(model.init)(jax.random.split(jax.random.fold_in(key, 0), count))
    guess = networks[0, model.constant_slice]
    unknowns = sorted(model.problem.unknowns.items())
    signed = np.concatenate([np.full(u.guess.size, u.kind == "real") for _, u in unknowns])
    shape = ((count + 1) // 2, guess.size)
    off = _GUESS_SD * jax.random.normal(jax.random.fold_in(key, 1), shape, jnp.float64)
    pairs = jnp.stack([guess + off, jnp.where(signed, -guess - off, guess - off)], axis=1)
    scattered = pairs.reshape(-1, guess.size)[:count]
    return networks.at[:, model.constant_slice].set(scattered)


def _describe(model: Model, theta: Float[Array, " p"]) -> dict[str, Any]:
    """Return the constants, -2 log likelihood, and the largest residual of exact values
    and equations relative to what is allowed.
    """
    data = model.data
    noise = model.noise(model.estimate_noise(theta, data))
    means = model.observed_means(theta)
    likelihood = [
        g.noise.log_prob(means[g.name], data[g.name], g.points, noise[g.name])
        for g in model.groups
        if g.noise is not None
    ]
    own, between = relative_residuals(model, theta)
    unmet = [*(v / MET for v in own.values()), *(v / MET_BETWEEN for v in between.values())]
    unknowns = model.unknowns(theta)
    return {
        "unknowns": unknowns,
        "constants": jnp.concatenate([unknowns[name].ravel() for name in sorted(unknowns)]),
        "deviance": -2 * sum(likelihood, jnp.zeros(())),
        "unmet": jnp.max(jnp.stack(unmet)) if unmet else jnp.zeros(()),
    }
