"""Ensembles of networks: the parametric bootstrap and the deep ensemble."""

from typing import ClassVar

import numpy as np

from ..model.model import Data, Model
from ..phases.base import AbstractPhase
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..phases.member import Member
from ..phases.refits import simulated_data
from ..posing.problem import Problem
from ..status import Status
from ._refitting import refits
from ._requirements import require_linear_gaussian, require_noise, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome, last_losses


class Ensemble(AbstractMethod):
    """Fit networks from different random starts, and refit each to simulated data.

    With ``perturb`` the members are refits to data simulated from the fits (a
    parametric bootstrap): they differ as much as other errors would have moved them.
    Without it the members are the fits themselves, all to the same data (a deep
    ensemble); where the equation determines the solution they agree, however large the
    errors are.

    Arguments:
        chains: number of random starts.
        draws: number of refits from each start, with ``perturb``.
        perturb: whether to refit to simulated data.
        lm_steps: largest number of Levenberg-Marquardt steps of each fit.

    Reference:
        Lakshminarayanan, Pritzel, Blundell (2017), Simple and scalable predictive
        uncertainty estimation using deep ensembles, NeurIPS; Efron (1979), Bootstrap
        methods, Ann. Statist. 7.

    Example:
        ``fiducial.fit(problem, fiducial.Ensemble(), seed=0).band()``
    """

    chains: int = 5
    draws: int = 80
    perturb: bool = True
    lm_steps: int = 1200
    name: ClassVar[str] = "ensemble"
    summary: ClassVar[str] = (
        "networks from several starts, refitted to data simulated from their fits; or a plain deep"
        " ensemble"
    )

    def __check_init__(self) -> None:
        require_positive(self, "chains", "draws", "lm_steps")
        if not self.perturb and self.chains < 2:
            raise ValueError(
                f"Ensemble(chains={self.chains}, perturb=False): a deep ensemble needs at least two"
                " members; give chains=5"
            )

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_linear_gaussian(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), (
            refits(self.draws, simulated_data) if self.perturb else Member()
        )

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        """Return the best fit and the members.

        The members of a start that diverged are copies of another start's, and count as
        failed.
        """
        diverged = outcome.status == Status.DIVERGED.value
        best = np.argmin(last_losses(outcome.trace["lm"]), axis=1)
        fits = np.asarray(outcome.state.fit if self.perturb else outcome.state.theta)
        members = diverged.shape[1] * (self.draws if self.perturb else 1)
        failed = diverged.mean(axis=1)
        if self.perturb:
            settled = outcome.extra["draw"]["settled"]
            failed = 1 - (settled & ~diverged[..., None]).mean(axis=(1, 2))
        return Answer(
            estimate=fits[np.arange(len(best)), best],
            draws=outcome.draws["draw"],
            facts=Facts(effective_draws=members * (1 - failed), failed_draws=failed),
        )
