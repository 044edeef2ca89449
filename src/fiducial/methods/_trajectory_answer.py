"""The answer of methods whose draws are taken along a training trajectory."""

import jax
import numpy as np

from ..phases.dropout_training import DropoutTraining
from .base import Answer, Outcome


def trajectory_answer(outcome: Outcome, burn_in: float) -> Answer:
    """Return the draws along the training after a share of its steps."""
    draws, theta = outcome.draws[DropoutTraining.name], np.asarray(outcome.state.theta[:, 0], float)
    late = round(burn_in * jax.tree.leaves(draws)[0].shape[2])
    return Answer(theta, jax.tree.map(lambda v: v[:, :, late:], draws))
