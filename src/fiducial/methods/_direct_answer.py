"""What the methods that draw around a fit make of their draws."""

from typing import Any

import jax
import numpy as np

from .. import limits
from ..checks import Check
from ..model.model import Model
from ..numerics.linearisation import most_directions
from ..numerics.nearby_solutions import LARGEST_MISS
from ..numerics.resampling import Resampled, resample
from . import _checks
from .base import Answer, Facts, Outcome

LINEAR_DIFFERENCE = "difference from the linearisation, in sd"
"""Name of the check that compares draws with the linear model."""


class DirectFacts(Facts):
    """Facts about draws around a fit.

    Attributes:
        inexact_draws: share of draws that stop short of their equations.
        weighted: whether the draws are weighted for curvature.
        width_change: largest relative change of a width with less damping.
        linear_difference: largest difference of a mean or standard deviation from that
            of the linear model, in its standard deviations.
    """

    inexact_draws: Any = None
    weighted: Any = None
    width_change: Any = None
    linear_difference: Any = None


def judge_draws(facts: DirectFacts) -> list[Check]:
    """Return checks of how the draws reached their equations."""
    return [
        limits.INEXACT_DRAWS.check(
            "share of draws off their equations",
            facts.inexact_draws,
            "draws in the tails stay a little off their equations: the model is strongly curved",
            "compare with efi-gn",
        ),
        _checks.width_change(facts.width_change),
    ]


def direct_bytes(model: Model, block: int) -> int:
    """Memory of a block of draws of one lane, roughly: tangents of the network, or
    Jacobians where a function is free.
    """
    rows, directions = sum(len(g.sites) for g in model.groups), most_directions(model)
    each = (
        1.5 * rows * model.size
        if model.has_free_function
        else directions * (150 * rows + 3 * model.size)
    )
    return int(8 * block * each)


def direct_answer(model: Model, outcome: Outcome, draws: int) -> Answer:
    """Draws that failed left out, the others resampled by their weights, and facts
    for the diagnosis.
    """
    extra = {name: values[:, :, :draws] for name, values in outcome.extra["draw"].items()}
    kept = jax.tree.map(lambda v: v[:, :, :draws], outcome.draws["draw"])
    sets, chains = extra["miss"].shape[:2]
    failed = extra["failed"]
    weight = np.where(failed, -np.inf, extra["log_weight"])
    chosen = [[resample(chain) for chain in one] for one in weight]

    def pick(values: np.ndarray) -> np.ndarray:
        if all(c.as_they_are for one in chosen for c in one):
            return values
        return np.stack(
            [
                np.stack([values[i, c, chosen[i][c].kept] for c in range(chains)])
                for i in range(sets)
            ]
        )

    trace = outcome.trace["draw"]
    parameters = trace["parameters"][:, 0, -1]
    return Answer(
        estimate=np.asarray(outcome.state.theta[:, 0]),
        draws=jax.tree.map(pick, kept),
        facts=DirectFacts(
            effective_parameters=parameters,
            effective_draws=np.array([sum(c.effective for c in one) for one in chosen]),
            failed_draws=failed.mean(axis=(1, 2)),
            inexact_draws=((extra["miss"] > LARGEST_MISS) & ~failed).mean(axis=(1, 2)),
            weighted=parameters <= most_directions(model) + 0.5,
            width_change=trace["sensitivity"][:, 0, -1],
            linear_difference=np.array(
                [
                    _difference(model, extra["probe"][i], extra["linear_probe"][i], chosen[i])
                    for i in range(sets)
                ]
            ),
        ),
    )


def _difference(
    model: Model, probe: np.ndarray, linear: np.ndarray, chosen: list[Resampled]
) -> float:
    """Largest difference of mean or standard deviation between draws and those of
    the linear model, in its standard deviations.
    """
    own = np.concatenate([values[c.kept] for values, c in zip(probe, chosen, strict=True)])
    other = linear.reshape(-1, linear.shape[-1])
    sd = other.std(axis=0)
    moving = sd > 1e-9 * (1 + np.abs(other).max(axis=0))
    outputs, end = len(model.problem.outputs), len(sd) - model.constant_count
    # near an exact value there is no spread to speak of
    largest = sd[:end].reshape(-1, outputs).max(axis=0)
    moving[:end] &= (sd[:end].reshape(-1, outputs) > 0.01 * largest).ravel()
    if not moving.any():
        return 0.0
    shift, stretch = (
        (own.mean(axis=0) - other.mean(axis=0)) / np.where(moving, sd, 1.0),
        own.std(axis=0) / np.where(moving, sd, 1.0) - 1,
    )
    return float(np.max(np.maximum(np.abs(shift), np.abs(stretch))[moving]))
