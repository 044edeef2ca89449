"""The Laplace approximation of a Bayesian physics-informed network."""

from typing import Any, ClassVar

import jax
import numpy as np

from ..checks import Check
from ..model.model import Data, Model
from ..numerics.posterior import Posterior, Priors, tightness
from ..phases.base import AbstractPhase
from ..phases.laplace_draws import BLOCK, LaplaceDraws
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..phases.posterior_mode import PosteriorMode
from ..posing.problem import Problem
from . import _checks
from ._requirements import require_linear_gaussian, require_noise, require_positive
from .base import AbstractMethod, Answer, Facts, Outcome

_TIGHTNESS = 10.0
"""Errors of the most precise data over those given to exact values. Small errors cost
nothing here, unlike in ``bayes``, whose steps they shorten.
"""


class LaplaceFacts(Facts):
    """Facts about a Laplace approximation.

    Attributes:
        tightness: errors of the most precise data over those given to exact values;
            None without exact values.
    """

    tightness: Any = None


class Laplace(AbstractMethod):
    """Approximate the posterior of ``bayes`` by a normal distribution at its mode.

    Fields are taken as linear in the parameters around the mode, as the approximation
    implies. Like those of the posterior itself, widths depend on the errors ``sigma_f``
    that an exact equation is given.

    Arguments:
        draws: number of draws of each chain.
        sigma_f: size of the errors given to exact values, in their own unit; None for a
            tenth of that of the most precise data, relative to the values.
        priors: mean and standard deviation of normal priors by name, ``{"k": (0.0,
            1.0)}``, for unknown constants and unknown noise sizes (``sd_GROUP``); for a
            positive one, of its logarithm. By default a real constant has its guess as
            mean and the size of the guess as standard deviation; logarithms have a
            standard deviation of 1 around the guess of a positive constant, and of 2
            around a guess of a noise size from the data.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.
        mode_steps: largest number of steps from the fit to the mode.
        chains: number of fits, each with its own mode and draws.

    Reference:
        MacKay (1992), A practical Bayesian framework for backpropagation networks;
        Immer, Korzepa, Bauer (2021), Improving predictions of Bayesian neural nets via
        local linearization, AISTATS.

    Example:
        ``fiducial.fit(problem, fiducial.Laplace(), seed=0).band()``
    """

    draws: int = 1000
    sigma_f: float | None = None
    priors: Priors | None = None
    lm_steps: int = 1200
    mode_steps: int = 300
    chains: int = 1
    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = (
        "the posterior of bayes, approximated by a normal distribution at its mode: cheap, with"
        " the same choices to make"
    )
    linear: ClassVar[bool] = True

    def __check_init__(self) -> None:
        require_positive(self, "draws", "lm_steps", "mode_steps", "chains")
        if self.sigma_f is not None and not self.sigma_f > 0:
            raise ValueError(f"Laplace(sigma_f={self.sigma_f!r}): give a positive size of errors")

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_linear_gaussian(self, problem)

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        posterior = Posterior(model, self.sigma_f, tightness=_TIGHTNESS, priors=self.priors)
        return (
            LevenbergMarquardt(self.lm_steps),
            PosteriorMode(self.mode_steps, posterior),
            LaplaceDraws(-(-self.draws // BLOCK), posterior),
        )

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        draws = jax.tree.map(lambda v: v[:, :, : self.draws], outcome.draws["draw"])
        theta = np.asarray(outcome.state.theta[:, 0])
        facts = LaplaceFacts(tightness=tightness(model, theta, outcome.state.weights))
        return Answer(estimate=theta, draws=draws, facts=facts)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        own = [] if facts.tightness is None else [_checks.tightness(facts.tightness)]
        return [*super().judge(facts, model), *own]
