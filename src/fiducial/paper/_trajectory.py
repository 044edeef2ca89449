"""Draws along a training trajectory: their answer and their check."""

import jax
import numpy as np

from ..checks import Check
from ..methods.base import Answer, Outcome
from ..phases.dropout_training import DropoutTraining


def trajectory_answer(outcome: Outcome, burn_in: float) -> Answer:
    """Return the draws along the training after a share of its steps."""
    draws = outcome.draws[DropoutTraining.name]
    theta = np.asarray(outcome.state.theta[:, 0], float)
    late = round(burn_in * jax.tree.leaves(draws)[0].shape[2])
    return Answer(theta, jax.tree.map(lambda v: v[:, :, late:], draws))


def no_interval() -> Check:
    """Return the check that says that percentiles along a training are no interval."""
    return Check.without_number(
        "limits that are intervals",
        ok=False,
        severe=True,
        meaning="the limits are percentiles over a training trajectory: they show how the"
        " optimiser fluctuates, not how errors of the data would have moved the answer",
        advice="use efi-direct",
    )
