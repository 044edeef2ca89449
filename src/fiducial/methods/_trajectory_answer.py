"""The answer of methods whose draws are taken along a training trajectory."""

import jax
import numpy as np

from ..phases.dropout_training import DropoutTraining
from .base import Answer, Outcome


def trajectory_answer(outcome: Outcome, burn_in: float) -> Answer:
    """Return the draws along the training, without a first share of them.

    Arguments:
        outcome: the outcome of the phases.
        burn_in: share of the draws that is left out.
    """
    draws = outcome.draws[DropoutTraining.name]
    burnt = round(burn_in * jax.tree.leaves(draws)[0].shape[2])
    return Answer(
        estimate=np.asarray(outcome.state.theta[:, 0], float),
        draws=jax.tree.map(lambda v: v[:, :, burnt:], draws),
    )
