"""Extended fiducial inference, Algorithm 1."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..convergence import convergence
from ..linearisation import Linearisation
from ..kernels.sghmc import SGHMC
from ..method import AbstractMethod, AbstractPhase, Answer, Outcome, require_noise, require_positive
from ..model import Data, Model
from ..energy import Terms
from ..phases.fiducial_chain import FiducialChain
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..problem import Problem
from ..weight_update import Track


class EFI(AbstractMethod):
    """x"""

    draws: int = 250
    kappa: float = 50.0
    rate: float = 1.0
    thin: int = 20
    dtype: str = "float64"
    hidden: tuple[int, ...] = (16, 16)
    neck: int = 16
    lm_steps: int = 1200
    chains: int = 4
    name: ClassVar[str] = "efi"
    summary: ClassVar[str] = "x"

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)

    @property
    def _warm_up(self) -> int:
        return 30

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        kernel = SGHMC()
        kappa = self.kappa
        size = kernel.size(1 + kappa)

        def terms(model: Model, fit: Linearisation, progress: Any) -> Terms:
            firm = kappa * (10 * model.precision(fit.theta)) ** 2
            return Terms(
                {g.name: jnp.asarray(kappa) for g in model.groups if not g.exact},
                {g.name: firm for g in model.groups if g.exact},
                jnp.asarray(kappa / 2),
                jnp.asarray(kappa),
            )

        chain = FiducialChain(
            self._warm_up + self.draws, self.thin, kernel, Track(self.rate), terms, lambda m, f, p: size, self.hidden, self.neck, dtype=jnp.dtype(self.dtype)
        )
        return LevenbergMarquardt(self.lm_steps), chain

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        kept, extra = (jax.tree.map(lambda v: v[:, :, self._warm_up :], part["draw"]) for part in (outcome.draws, outcome.extra))
        trace = outcome.trace["draw"]
        found = [convergence(one) for one in extra["probe"]]
        share = np.asarray(outcome.state.fit.share)
        return Answer(
            estimate=np.asarray(outcome.state.fit.theta[:, 0]),
            draws=kept,
            facts={
                "effective parameters": trace["parameters"][:, 0, -1],
                "effective draws": np.array([c.effective.min() for c in found]),
                "R-hat": np.array([c.r_hat.max() for c in found]),
                "rho": (1 + self.kappa) * trace["lag"][:, :, self._warm_up:].mean(axis=(1, 2)),
                "data energy": trace["data energy"][:, :, self._warm_up:].mean(axis=(1, 2)),
                "exact energy": trace["exact energy"][:, :, self._warm_up:].mean(axis=(1, 2)),
                "informed sd": np.sqrt([np.mean(extra["informed"][i][..., share[i,0] > .5].var(axis=(0,1))) for i in range(len(share))]),
            },
        )
