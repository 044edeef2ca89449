"""Extended fiducial inference with Gauss-Newton steps."""

from typing import Any, ClassVar

import jax
import numpy as np

from .. import limits
from ..checks import Check
from ..model.model import Data, Model
from ..numerics.linearisation import most_directions
from ..numerics.mixing import convergence
from ..phases.base import AbstractPhase
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..phases.manifold_walk import ManifoldWalk
from ..posing.problem import Problem
from . import _checks
from ._requirements import require_linear_gaussian, require_noise, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome


class WalkFacts(Facts):
    """Facts about a random walk over the errors.

    Attributes:
        r_hat: split R-hat, the worst of the quantities.
        accepted_moves: share of moves that were accepted.
        lost_moves: share of moves that found no solution.
        unfollowed: number of informed directions beyond those that the walk follows.
        width_change: largest relative change of a width with less damping.
    """

    r_hat: Any = None
    accepted_moves: Any = None
    lost_moves: Any = None
    unfollowed: Any = None
    width_change: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset({"accepted_moves"})


class EFIGN(AbstractMethod):
    """Fit, then sample the errors that could have made the data by a random walk, with
    the solution following by Gauss-Newton steps.

    A second opinion on ``efi-direct`` that needs no importance weights, and slower. The
    draws are correlated: the diagnosis states their effective sample size. The walk
    uses the factorisation of the fit; where solutions are too far from it to be
    followed, the diagnosis counts the moves that found none.

    Arguments:
        draws: number of draws of each chain.
        moves: moves between two draws.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.
        chains: number of chains, each with a fit of its own.

    Reference:
        Algorithm 1 of Shih, Jiang, Liang (2025), NeurIPS, with step (iii) replaced by
        Gauss-Newton steps, in the limit epsilon -> 0 in which the energy is zero.

    Example:
        ``fiducial.fit(problem, fiducial.EFIGN(), seed=0).band()``
    """

    draws: int = 250
    moves: int = 5
    lm_steps: int = 1200
    chains: int = 4
    name: ClassVar[str] = "efi-gn"
    summary: ClassVar[str] = (
        "a chain over the errors with the solution following by Gauss-Newton steps: a second"
        " opinion that needs no importance weights"
    )

    def __check_init__(self) -> None:
        require_positive(self, "draws", "moves", "lm_steps", "chains")

    @property
    def _warm_up(self) -> int:
        return max(1, self.draws // 5)

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_linear_gaussian(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        walk = ManifoldWalk(self._warm_up + self.draws, self._warm_up, self.moves)
        return LevenbergMarquardt(self.lm_steps), walk

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        kept, extra = (
            jax.tree.map(lambda v: v[:, :, self._warm_up :], part["draw"])
            for part in (outcome.draws, outcome.extra)
        )
        found = [convergence(one) for one in extra["probe"]]
        trace = outcome.trace["draw"]
        parameters = trace["parameters"][:, 0, -1]
        return Answer(
            estimate=np.asarray(outcome.state.fit.theta[:, 0]),
            draws=kept,
            facts=WalkFacts(
                effective_parameters=parameters,
                effective_draws=np.array([c.effective.min() for c in found]),
                r_hat=np.array([c.r_hat.max() for c in found]),
                accepted_moves=extra["accepted"].mean(axis=(1, 2)),
                lost_moves=extra["lost"].mean(axis=(1, 2)),
                unfollowed=np.maximum(0.0, parameters - most_directions(model)),
                width_change=trace["sensitivity"][:, 0, -1],
            ),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [
            *super().judge(facts, model),
            _checks.r_hat(facts.r_hat),
            limits.LOST_MOVES.check(
                facts.lost_moves,
                "many moves of the chain found no solution, so it may have missed a part of the"
                " distribution",
                "use efi-direct, give more data, or another network",
            ),
            limits.UNFOLLOWED_DIRECTIONS.check(
                facts.unfollowed,
                "the data inform more directions than the walk follows",
                "use efi-direct",
            ),
            _checks.width_change(facts.width_change),
        ]
