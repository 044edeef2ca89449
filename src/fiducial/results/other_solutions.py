"""Other solutions: where fits come to that start from other guesses of the unknown
constants.

Draws are taken around one fit. Where equations allow for several (two rates that can
change places, a frequency and its multiples) the intervals know nothing of the others,
and none of the checks that look at the draws can see it."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..device import run_once
from ..model.exact_residuals import MET, MET_BETWEEN, residuals
from ..model.model import Model
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..running.driver import Runner
from ..running.progress import ProgressLine
from ..status import Status

if TYPE_CHECKING:
    import xarray as xr

EXCESS, OTHER = "-2 log likelihood above the answer's", "another solution"
STARTS, STARTS_IN_A_PLANE = 4, 2
"""Fits from other guesses; in two and more coordinates a fit is dear."""
_SPREAD = 2.0
"""How far guesses are scattered, in unconstrained units: a positive constant by
factors of about seven.
"""
_SAME = 0.01
"""Constants that differ by less, relative to themselves and to their guess, are the
same.
"""
_AS_GOOD = 10.0
"""A solution whose -2 log likelihood is larger by less than this has some share of
what the data allow for.
"""


def look_elsewhere(
    runner: Runner, estimate: np.ndarray, draws: np.ndarray | None, *, seed: int, line: ProgressLine
) -> "xr.Dataset | None":
    """Fit again from other guesses, and compare.

    Arguments:
        runner: what fitted the problem.
        estimate: parameters of its answer.
        draws: parameters drawn, (draw, p), or None.
        seed: seed of the guesses and networks.
        line: told how far it has come.

    Returns:
        For each fit that solves the equation its constants in the user's units;
        ``EXCESS``, how much larger its -2 log likelihood is than that of the answer;
        and ``OTHER``, whether it is another solution that fits as well or better. None
        where there is nothing to look for: no unknown constant, no noisy data, a
        function that is wholly free, or a method that is not built on a fit.
    """
    import xarray as xr

    model = runner.model
    if (
        not model.constant_count
        or model.loose
        or all(g.exact for g in model.groups)
        or not runner.has(LevenbergMarquardt)
    ):
        return None
    line.begin("fitting from other guesses")
    count = STARTS if len(model.problem.domain.names) == 1 else STARTS_IN_A_PLANE
    begin = run_once(
        lambda key: _scattered(model, count, key), jax.random.fold_in(jax.random.key(seed), count)
    )
    ended, status = runner.fit_again(
        LevenbergMarquardt, model.data, np.asarray(begin), seed=seed, report=line.report
    )
    every = np.concatenate([estimate[None], ended])
    seen = jax.tree.map(
        np.asarray, run_once(jax.vmap(lambda theta: _seen(model, theta)), jnp.asarray(every))
    )
    excess = seen["deviance"][1:] - seen["deviance"][0]
    solved = (status == Status.CONVERGED) & (seen["unmet"][1:] <= 1) & np.isfinite(excess)
    sd = 0.0 if draws is None else draws[:, model.size - model.constant_count :].std(axis=0)
    raw, values = every[:, model.size - model.constant_count :], seen["constants"]
    # a fit that has stopped short is as many standard deviations away as its likelihood
    # says
    apart = (
        np.abs(raw[1:] - raw[0])
        > sd * np.maximum(1.0, 2 * np.sqrt(np.clip(excess, 0, None)))[:, None]
    )
    guess = np.concatenate(
        [np.abs(u.guess).ravel() for _, u in sorted(model.problem.unknowns.items())]
    )
    size = np.maximum(np.maximum(np.abs(values[1:]), np.abs(values[0])), guess)
    apart &= np.abs(values[1:] - values[0]) > _SAME * size
    other = apart.any(axis=1) & (excess < _AS_GOOD) & solved
    constants = {
        name: (("start", *(f"{name}_{i}" for i in range(v.ndim - 1))), v[1:])
        for name, v in seen["unknowns"].items()
    }
    found = xr.Dataset(
        {**constants, EXCESS: ("start", excess), OTHER: ("start", other.astype(int))}
    )
    return found.isel(start=np.flatnonzero(solved))


def _scattered(model: Model, count: int, key: Any) -> Float[Array, "k p"]:
    """Fresh networks with the constants around their guesses, in pairs on opposite
    sides; of zero where a constant may be negative.
    """
    networks = jax.vmap(model.init)(jax.random.split(jax.random.fold_in(key, 0), count))
    guess = model.constants(networks[0])
    # a tree is flattened by name
    signed = np.concatenate(
        [np.full(u.guess.size, u.kind == "real") for _, u in sorted(model.problem.unknowns.items())]
    )
    off = _SPREAD * jax.random.normal(
        jax.random.fold_in(key, 1), ((count + 1) // 2, guess.size), jnp.float64
    )
    pairs = jnp.stack([guess + off, jnp.where(signed, -guess - off, guess - off)], axis=1).reshape(
        -1, guess.size
    )
    return networks.at[:, model.size - guess.size :].set(pairs[:count])


def _seen(model: Model, theta: Float[Array, " p"]) -> dict[str, Any]:
    """The constants, -2 log likelihood, and the largest residual of exact values and
    equations in units of what is allowed.
    """
    data = model.data
    noise = model.noise(model.estimate_noise(theta, data))
    likelihood = [
        g.noise.log_prob(model.mean(theta, g)[g.index], data[g.name], g.points, noise[g.name])
        for g in model.groups
        if g.noise is not None
    ]
    own, between = residuals(model, theta)
    unmet = [*(v / MET for v in own.values()), *(v / MET_BETWEEN for v in between.values())]
    unknowns = model.unknowns(theta)
    return {
        "unknowns": unknowns,
        "constants": jnp.concatenate([unknowns[name].ravel() for name in sorted(unknowns)]),
        "deviance": -2 * sum(likelihood, jnp.zeros(())),
        "unmet": jnp.max(jnp.stack(unmet)) if unmet else jnp.zeros(()),
    }
