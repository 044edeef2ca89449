"""The Bayesian physics-informed network as the paper runs it."""

from typing import Any, ClassVar

import jax.numpy as jnp

from ..checks import Check
from ..methods._requirements import require_choice, require_positive
from ..methods.base import AbstractMethod, Answer, Outcome
from ..methods.bayes import Bayes
from ..model.model import Data, Model
from ..numerics.hamiltonian import HMC, Mover
from ..numerics.posterior import Posterior, Priors
from ..phases.adam import Adam
from ..phases.base import AbstractPhase
from ..phases.hamiltonian_draws import HamiltonianDraws
from ..phases.hamiltonian_warm_up import WarmUp
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ..schedules import constant, early, parse

_DRAWS = 1000
"""Draws that are kept of each chain, however many moves it has."""
_PRETRAINING_RATE = 1e-3
"""Adam's step size before the chain, as in the paper."""


class PaperBayes(AbstractMethod):
    """Hamiltonian Monte Carlo in single precision with scheduled step sizes, and
    standard normal priors on weights that act on inputs in the user's units.

    As in the paper's published code, chains start from the prior, where no training
    comes first. Chains are judged as those of ``bayes``.

    Arguments:
        chains: number of chains.
        steps: number of moves.
        burn_in: share of the moves whose draws are left out.
        annealing: share of the moves over which ``sigma_f`` and ``learning_rate``
            change, at most the burn-in.
        leapfrog: leapfrog steps of a move.
        sigma_f: schedule of the size of the errors that the equation is given.
        pretrain: number of Adam steps before a chain that starts from the prior.
        learning_rate: schedule of the leapfrog step size.
        start: ``"prior"``, ``"lm"`` for chains that start from fits, or ``"random"``
            for fresh networks.
        priors: normal priors by name; see ``fiducial.Bayes``.
        lm_steps: largest number of Levenberg-Marquardt steps of the fits.

    Reference:
        Yang, Meng, Karniadakis (2021), B-PINNs, J. Comput. Phys. 425; the paper cited
        in the README, its tables of settings.

    Example:
        ``fiducial.paper.bayes("poisson", sigma_f="exp_0.05_0.005", chains=1)``
    """

    chains: int
    steps: int
    burn_in: float
    annealing: float
    leapfrog: int
    sigma_f: float | str
    pretrain: int
    learning_rate: float | str
    start: str = "prior"
    priors: Priors | None = None
    lm_steps: int = 1200
    name: ClassVar[str] = "paper-bayes"
    summary: ClassVar[str] = (
        "the paper's Bayesian network: Hamiltonian Monte Carlo with scheduled step sizes"
    )

    def __check_init__(self) -> None:
        require_positive(self, "steps", "leapfrog", "lm_steps", "chains")
        require_choice(self, start=("prior", "lm", "random"))
        if not self._last_sigma_f > 0:
            raise ValueError(f"PaperBayes(sigma_f={self.sigma_f!r}): give a positive size")

    def check(self, problem: Problem) -> None:
        Bayes().check(problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        posterior = Posterior(model, self._last_sigma_f, plain=True, priors=self.priors)
        mover = Mover(posterior, HMC(self.leapfrog), jnp.dtype("float32"))
        warm = round(self.burn_in * self.steps)
        # schedules run over the annealing period, a part of the burn-in
        part = max(self.annealing * self.steps / warm, 1e-6)
        warm_up = WarmUp(
            warm,
            mover,
            early(parse(self.learning_rate), part),
            early(parse(self.sigma_f), part),
            from_prior=self.start == "prior",
        )
        thin = max(1, (self.steps - warm) // _DRAWS)
        moves = (self.steps - warm) // thin * thin
        return *self._before(), warm_up, HamiltonianDraws(moves, thin, mover)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        return Bayes().collect(model, data, outcome)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return Bayes().judge(facts, model)

    @property
    def _last_sigma_f(self) -> float:
        return float(parse(self.sigma_f)(jnp.asarray(1.0)))

    def _before(self) -> tuple[AbstractPhase, ...]:
        """Return what comes before the chain."""
        if self.start == "lm":
            return (LevenbergMarquardt(self.lm_steps),)
        if self.start == "prior" and self.pretrain:
            return (Adam(self.pretrain, constant(_PRETRAINING_RATE), dtype=jnp.float32),)
        return ()
