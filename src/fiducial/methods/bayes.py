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
from ..phases.adam import Adam
from ..phases.base import AbstractPhase
from ..phases.hamiltonian_draws import HamiltonianDraws
from ..phases.hamiltonian_warm_up import WarmUp
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ..schedules import constant, early, parse
from . import _checks
from ._requirements import require_choice, require_noise, require_paper, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome


class BayesFacts(Facts):
    """Facts about Hamiltonian chains.

    Attributes:
        r_hat: split R-hat, the worst of the quantities.
        acceptance: share of moves that were accepted.
        divergent: share of trajectories that diverged.
        tightness: how much smaller the errors of exact values are than those of the best
            data; None without exact values.
    """

    r_hat: Any = None
    acceptance: Any = None
    divergent: Any = None
    tightness: Any = None


class Bayes(AbstractMethod):
    """Standard normal priors on all weights, and Hamiltonian Monte Carlo.

    An equation that holds exactly must be given errors of some size ``sigma_f``, on
    which the widths depend. By default they are as small, relative to the values, as
    those of the best data.

    Arguments:
        sampler: ``"nuts"``, ``"hmc"`` with a fixed number of leapfrog steps, or an
            object of your own derived from ``fiducial.extend.AbstractSampler``.
        draws: draws of each chain.
        warm_steps: moves before them, in which step size and mass are adapted.
        thin: moves from one draw to the next.
        leapfrog: leapfrog steps of a move of ``hmc``.
        doublings: largest number of doublings of a trajectory of ``nuts``.
        sigma_f: size of the errors that exact values are given, in their own unit; a
            number, or a schedule such as ``"exp_0.05_0.005"`` over the first half of
            the warm-up. A schedule holds for a measured right-hand side, too, and
            should end at its size.
        priors: mean and standard deviation of normal priors by name, ``{"k": (0.0,
            1.0)}``, for unknown constants and unknown sizes of errors (``sd_GROUP``);
            those of positive ones are for the logarithm. By default constants are
            around their guess, as far off as it is large, and sizes within factors of e
            squared around a guess from the data.
        start: ``"lm"`` for chains that start from fits, ``"random"`` from fresh
            networks, ``"prior"`` from draws of the prior; by default from fits, with
            the preset from the prior.
        lm_steps: largest number of Levenberg-Marquardt steps of the fits.
        chains: number of chains.
        precision: ``"float64"`` or ``"float32"``, for the chains.
        preset: ``"paper"`` for the paper's settings for a ready problem: ``hmc`` in
            float32 with its step sizes and priors on weights that act on unit_factors
            inputs. As in the paper's published code, chains start from the prior, where
            no training comes first.

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
    start: str | None = None
    lm_steps: int = 1200
    chains: int = 4
    precision: str = "float64"
    preset: str | None = None
    name: ClassVar[str] = "bayes"
    summary: ClassVar[str] = (
        "normal priors on all weights, and Hamiltonian Monte Carlo; exact equations need errors of"
        " a size that you choose"
    )

    def __check_init__(self) -> None:
        require_positive(
            self, "draws", "warm_steps", "thin", "leapfrog", "doublings", "lm_steps", "chains"
        )
        if not isinstance(self.sampler, AbstractSampler):
            require_choice(self, sampler=("nuts", "hmc"))
        require_choice(
            self,
            start=(None, "lm", "random", "prior"),
            precision=("float64", "float32"),
            preset=(None, "paper"),
        )
        if self.sampler == "nuts" and self.precision == "float32" and self.preset is None:
            raise ValueError(
                "Bayes(precision='float32'): BlackJAX's nuts is for float64 here; give"
                " sampler='hmc', or leave the precision out"
            )
        if self.sigma_f is not None and not float(parse(self.sigma_f)(jnp.asarray(1.0))) > 0:
            raise ValueError(f"Bayes(sigma_f={self.sigma_f!r}): a size must be positive")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_paper(self, problem)
        try:
            import blackjax  # noqa: F401
        except ImportError as error:
            raise ValueError(
                "bayes: the samplers are those of BlackJAX; install it with: pip install"
                " fiducial[bayes]"
            ) from error

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        if self.preset == "paper":
            return self._paper(model)
        annealed = isinstance(self.sigma_f, str)
        last = None if self.sigma_f is None else float(parse(self.sigma_f)(jnp.asarray(1.0)))
        posterior = Posterior(model, last, priors=self.priors)
        mover = Mover(posterior, self._sampler, jnp.dtype(self.precision))
        falling = early(parse(self.sigma_f), 0.5) if annealed and self.sigma_f is not None else None
        first = self._first(self.start or "lm")
        warm_up = WarmUp(self.warm_steps, mover, sigma_f=falling, from_prior=self.start == "prior")
        return *first, warm_up, HamiltonianDraws(self.draws * self.thin, self.thin, mover)

    @property
    def _sampler(self) -> AbstractSampler:
        if isinstance(self.sampler, AbstractSampler):
            return self.sampler
        return NUTS(self.doublings) if self.sampler == "nuts" else HMC(self.leapfrog)

    def _first(self, start: str) -> tuple[AbstractPhase, ...]:
        return (LevenbergMarquardt(self.lm_steps),) if start == "lm" else ()

    def _paper(self, model: Model) -> tuple[AbstractPhase, ...]:
        table = model.problem.paper[self.name]
        chosen = table["sigma_f"] if self.sigma_f is None else self.sigma_f
        last = float(parse(chosen)(jnp.asarray(1.0)))
        mover = Mover(
            Posterior(model, last, plain=True, priors=self.priors),
            HMC(table["leapfrog"]),
            jnp.dtype("float32"),
        )
        steps, warm = table["steps"], round(table["burn_in"] * table["steps"])
        # schedules run over the annealing period, a part of the burn-in
        part = max(table["annealing"] * steps / warm, 1e-6)
        rate = parse(table["learning_rate"].get(str(chosen), table["learning_rate"]["default"]))
        start = self.start or "prior"
        first = self._first(start)
        if table["pretrain"] and self.start is None:
            first = (Adam(table["pretrain"], constant(1e-3), dtype=jnp.float32),)
        thin = max(1, (steps - warm) // 1000)
        warm_up = WarmUp(
            warm, mover, early(rate, part), early(parse(chosen), part), from_prior=start == "prior"
        )
        return *first, warm_up, HamiltonianDraws((steps - warm) // thin * thin, thin, mover)

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
                "share of divergent moves",
                facts.divergent,
                "the chain meets places that its steps are too long for, so it does not go"
                " everywhere",
                "give a larger sigma_f, or more warm-up",
            ),
            limits.ACCEPTANCE.check(
                "acceptance rate",
                facts.acceptance,
                "hardly any move is accepted, so the chain stands still",
                "give shorter steps, or more warm-up",
            ),
            *own,
        ]
