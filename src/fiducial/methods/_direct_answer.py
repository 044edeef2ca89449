"""The answer of methods that draw around a fit."""

from typing import Any

import jax
import numpy as np

from .. import limits
from ..checks import Check
from ..model.model import Model
from ..numerics.linearisation import most_directions
from ..numerics.nearby_solutions import LARGEST_MISS
from ..numerics.resampling import Resampled, resample
from ..phases.base import AbstractPhase
from ..phases.direct_draws import BLOCK, DirectDraws
from ..phases.score_draws import ScoreDraws
from . import _checks
from .base import Answer, Facts, Outcome, WeightedDraws

_NO_SPREAD = 1e-9
"""Standard deviation, relative to the value, up to which a quantity is taken as fixed:
the rounding errors of a solution are smaller."""
_SMALL_SPREAD = 0.01
"""Standard deviation of an output, relative to its largest anywhere, below which it is
not compared: next to an exact value it is mostly numerical error."""


class DirectFacts(Facts):
    """Facts about draws around a fit.

    Attributes:
        inexact_draws: share of draws that do not quite meet their equations.
        weighted: whether the draws are weighted for curvature.
        width_change: largest relative change of a width under less damping.
        linear_difference: largest difference of a mean or standard deviation from that
            of the linear model, in standard deviations of the linear model.
    """

    inexact_draws: Any = None
    weighted: Any = None
    width_change: Any = None
    linear_difference: Any = None


def judge_draws(facts: DirectFacts) -> list[Check]:
    """Return checks of how well the draws meet their equations."""
    return [
        limits.INEXACT_DRAWS.check(
            facts.inexact_draws,
            "draws in the tails do not quite meet their equations, because the model is strongly"
            " nonlinear",
            "compare with efi-gn (--against efi-gn)",
        ),
        _checks.width_change(facts.width_change),
    ]


def direct_bytes(model: Model, block: int) -> int:
    """Return roughly how many bytes a block of draws takes: those of tangents of the
    network, or of Jacobians where a function is free.
    """
    rows, directions = sum(len(g.sites) for g in model.groups), most_directions(model)
    each = (
        1.5 * rows * model.size
        if model.has_free_function
        else directions * (150 * rows + 3 * model.size)
    )
    return int(8 * block * each)


def draws_around_a_fit(model: Model, draws: int, *, linear: bool = False) -> AbstractPhase:
    """Return the phase that draws: by solving for fresh errors where they are Gaussian
    and enter the data linearly, else by importance sampling.

    Arguments:
        model: the problem in computable form.
        draws: number of draws.
        linear: stay on the tangent of the fit.
    """
    if all(g.exact or g.linear_gaussian for g in model.groups):
        return DirectDraws(-(-draws // BLOCK), linear=linear)
    if model.has_free_function:
        other = next(g for g in model.groups if not (g.exact or g.linear_gaussian))
        raise ValueError(
            "a whole function is free, since no equation holds exactly, and the errors of"
            f" '{other.name}' are {type(other.noise).__name__}; give an exact equation, or"
            " Gaussian errors"
        )
    return ScoreDraws(-(-draws // BLOCK), linear=linear)


def direct_answer(model: Model, outcome: Outcome, draws: int) -> Answer:
    """Return the draws resampled by their weights, without those that failed, the draws
    before that, and the facts.

    Arguments:
        model: the problem in computable form.
        outcome: the outcome of the phases.
        draws: number of draws of each chain; more may have been made.
    """
    drawn = jax.tree.map(lambda v: v[:, :, :draws], outcome.draws["draw"])
    extra = {name: values[:, :, :draws] for name, values in outcome.extra["draw"].items()}
    failed = extra["failed"]
    log_weight = np.where(failed, -np.inf, extra["log_weight"])
    resampled = [[resample(chain) for chain in one] for one in log_weight]
    source = np.array([[chain.kept for chain in one] for one in resampled])
    sets, chains = failed.shape[:2]
    unchanged = all(chain.as_they_are for one in resampled for chain in one)

    def pick(values: np.ndarray) -> np.ndarray:
        if unchanged:
            return values
        return np.asarray(values)[
            np.arange(sets)[:, None, None], np.arange(chains)[:, None], source
        ]

    trace = outcome.trace["draw"]
    parameters = trace["parameters"][:, 0, -1]
    linear = _linear_probes(extra)
    differences = [
        _linear_difference(model, extra["probe"][i], linear[i], resampled[i]) for i in range(sets)
    ]
    return Answer(
        estimate=np.asarray(outcome.state.theta[:, 0]),
        draws=jax.tree.map(pick, drawn),
        facts=DirectFacts(
            effective_parameters=parameters,
            effective_draws=np.array([sum(c.effective for c in one) for one in resampled]),
            failed_draws=_failed_share(extra),
            inexact_draws=((extra["miss"] > LARGEST_MISS) & ~failed).mean(axis=(1, 2)),
            weighted=parameters <= most_directions(model) + 0.5,
            width_change=trace["sensitivity"][:, 0, -1],
            linear_difference=np.array(differences),
        ),
        weighted=WeightedDraws(
            draws=drawn, log_weight=extra["log_weight"], failed=failed, source=source
        ),
    )


def _failed_share(extra: dict[str, np.ndarray]) -> np.ndarray:
    """Return for each data set the share of draws that failed: of their weights in the
    linear model, where draws of that have weights.
    """
    failed = extra["failed"]
    if "linear_log_weight" not in extra:
        return failed.mean(axis=(1, 2))
    logs = extra["linear_log_weight"]
    weights = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
    return np.sum(failed * weights, axis=(1, 2)) / np.sum(weights, axis=(1, 2))


def _linear_probes(extra: dict[str, np.ndarray]) -> np.ndarray:
    """Return the quantities that are compared for draws of the linear model,
    (data set, chain, draw, quantity): resampled where such draws have weights.
    """
    probes = extra["linear_probe"]
    if "linear_log_weight" not in extra:
        return probes
    weights = extra["linear_log_weight"]
    kept = np.array([[resample(chain).kept for chain in one] for one in weights])
    return np.take_along_axis(probes, kept[..., None], axis=2)


def _linear_difference(
    model: Model, probe: np.ndarray, linear: np.ndarray, resampled: list[Resampled]
) -> float:
    """Return the largest difference of a mean or standard deviation between the draws
    and those of the linear model, in standard deviations of the linear model.

    Arguments:
        model: the problem in computable form.
        probe: outputs at some points, then constants, (chain, draw, quantity).
        linear: the same quantities by the linear model.
        resampled: for each chain which draws are in the answer.
    """
    own = np.concatenate([values[c.kept] for values, c in zip(probe, resampled, strict=True)])
    other = linear.reshape(-1, linear.shape[-1])
    sd = other.std(axis=0)
    moving = sd > _NO_SPREAD * (1 + np.abs(other).max(axis=0))
    outputs, end = len(model.problem.outputs), len(sd) - model.constant_count
    at_points = sd[:end].reshape(-1, outputs)
    moving[:end] &= (at_points > _SMALL_SPREAD * at_points.max(axis=0)).ravel()
    if not moving.any():
        return 0.0
    unit = np.where(moving, sd, 1.0)
    of_means = np.abs((own.mean(axis=0) - other.mean(axis=0)) / unit)
    of_sds = np.abs(own.std(axis=0) / unit - 1)
    return float(np.max(np.maximum(of_means, of_sds)[moving]))
