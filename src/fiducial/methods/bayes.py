"""The Bayesian physics-informed network."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from .. import limits
from ..checks import Check
from ..model.model import Data, Model
from ..numerics.hamiltonian import HMC, NUTS, AbstractSampler, Mover
from ..numerics.mixing import convergence
from ..numerics.posterior import Posterior, Priors, tightness
from ..phases.base import AbstractPhase
from ..phases.hamiltonian_draws import HamiltonianDraws
from ..phases.hamiltonian_warm_up import WarmUp
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ..schedules import early, parse
from . import _checks
from ._requirements import require_choice, require_linear_gaussian, require_noise, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome


class BayesFacts(Facts):
    """Facts about Hamiltonian chains.

    Attributes:
        r_hat: split R-hat, the worst of the quantities.
        acceptance: share of moves that were accepted.
        divergent: share of trajectories that diverged.
        tightness: errors of the most precise data over those given to exact values;
            None without exact values.
    """

    r_hat: Any = None
    acceptance: Any = None
    divergent: Any = None
    tightness: Any = None


class Bayes(AbstractMethod):
    """Standard normal priors on all weights, and Hamiltonian Monte Carlo.

    An equation that holds exactly must be given errors of some size ``sigma_f``, and
    the widths depend on it. By default they are as small, relative to the values, as
    those of the most precise data.

    Arguments:
        sampler: ``"nuts"``, ``"hmc"`` with a fixed number of leapfrog steps, or an
            object of your own derived from ``fiducial.extend.AbstractSampler``.
        draws: draws of each chain.
        warm_steps: warm-up moves before the draws, which adapt step size and mass.
        thin: moves from one draw to the next.
        leapfrog: number of leapfrog steps of a move of ``hmc``.
        doublings: largest number of doublings of a trajectory of ``nuts``.
        sigma_f: size of the errors given to exact values, in their own unit; a number,
            or a schedule such as ``"exp_0.05_0.005"`` over the first half of the
            warm-up. A schedule is used for a measured right-hand side as well, and
            should end at the size of its errors.
        priors: mean and standard deviation of normal priors by name, ``{"k": (0.0,
            1.0)}``, for unknown constants and unknown noise sizes (``sd_GROUP``); for a
            positive one, of its logarithm. By default a real constant has its guess as
            mean and the size of the guess as standard deviation; logarithms have a
            standard deviation of 1 around the guess of a positive constant, and of 2
            around a guess of a noise size from the data.
        start: where chains start: ``"lm"`` from fits, ``"random"`` from networks with
            random weights, ``"prior"`` from draws of the prior.
        lm_steps: largest number of Levenberg-Marquardt steps of the fits.
        chains: number of chains.
        precision: ``"float64"`` or ``"float32"``, for the chains.

    Reference:
        Yang, Meng, Karniadakis (2021), B-PINNs, J. Comput. Phys. 425; Hoffman, Gelman
        (2014), The No-U-Turn sampler, JMLR 15; samplers of BlackJAX (Cabezas et al.
        2024).

    Example:
        ``fiducial.fit(problem, fiducial.Bayes(), seed=0).band()``
    """

    sampler: str | AbstractSampler = "nuts"
    draws: int = 500
    warm_steps: int = 500
    thin: int = 1
    leapfrog: int = 30
    doublings: int = 6
    sigma_f: float | str | None = None
    priors: Priors | None = None
    start: str = "lm"
    lm_steps: int = 1200
    chains: int = 4
    precision: str = "float64"
    name: ClassVar[str] = "bayes"
    summary: ClassVar[str] = (
        "normal priors on all weights, and Hamiltonian Monte Carlo; an exact equation needs errors"
        " of a size that you choose"
    )

    def __check_init__(self) -> None:
        require_positive(
            self, "draws", "warm_steps", "thin", "leapfrog", "doublings", "lm_steps", "chains"
        )
        if not isinstance(self.sampler, AbstractSampler):
            require_choice(self, sampler=("nuts", "hmc"))
        require_choice(
            self,
            start=("lm", "random", "prior"),
            precision=("float64", "float32"),
        )
        if self.sampler == "nuts" and self.precision == "float32":
            raise ValueError(
                "Bayes(precision='float32'): the sampler nuts runs in float64 only; give"
                " sampler='hmc', or leave precision out"
            )
        if self.sigma_f is not None and not float(parse(self.sigma_f)(jnp.asarray(1.0))) > 0:
            raise ValueError(f"Bayes(sigma_f={self.sigma_f!r}): give a positive size of errors")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_linear_gaussian(self, problem)
        try:
            import blackjax  # noqa: F401
        except ImportError as error:
            raise ValueError(
                "bayes: its samplers come from BlackJAX, which is not installed: pip install"
                " 'fiducial[bayes]'"
            ) from error

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        last = None if self.sigma_f is None else float(parse(self.sigma_f)(jnp.asarray(1.0)))
        posterior = Posterior(model, last, priors=self.priors)
        mover = Mover(posterior, self._sampler, jnp.dtype(self.precision))
        falling = early(parse(self.sigma_f), 0.5) if isinstance(self.sigma_f, str) else None
        first = (LevenbergMarquardt(self.lm_steps),) if self.start == "lm" else ()
        warm_up = WarmUp(self.warm_steps, mover, sigma_f=falling, from_prior=self.start == "prior")
        return *first, warm_up, HamiltonianDraws(self.draws * self.thin, self.thin, mover)

    @property
    def _sampler(self) -> AbstractSampler:
        if isinstance(self.sampler, AbstractSampler):
            return self.sampler
        return NUTS(self.doublings) if self.sampler == "nuts" else HMC(self.leapfrog)

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        extra = outcome.extra["draw"]
        found = [convergence(one) for one in extra["probe"]]
        best = np.argmax(np.asarray(outcome.state.density), axis=1)
        theta = np.asarray(outcome.state.best, float)[np.arange(len(best)), best]
        return Answer(
            estimate=theta,
            draws=outcome.draws["draw"],
            facts=BayesFacts(
                effective_draws=np.array([c.effective.min() for c in found]),
                r_hat=np.array([c.r_hat.max() for c in found]),
                acceptance=extra["accepted"].mean(axis=(1, 2)),
                divergent=extra["divergent"].mean(axis=(1, 2)),
                tightness=tightness(model, theta, outcome.state.chain.weights),
            ),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        own = [] if facts.tightness is None else [_checks.tightness(facts.tightness)]
        return [
            *super().judge(facts, model),
            _checks.r_hat(facts.r_hat),
            limits.DIVERGENT_MOVES.check(
                facts.divergent,
                "trajectories diverge where the posterior is narrow, so the chains leave out parts"
                " of it",
                "give a larger sigma_f, or more warm-up (--set method.warm_steps=...)",
            ),
            limits.ACCEPTANCE.check(
                facts.acceptance,
                "nearly all moves are rejected, so the chains hardly move",
                "give more warm-up, which finds shorter steps (--set method.warm_steps=...)",
            ),
            *own,
        ]
