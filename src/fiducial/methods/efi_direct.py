"""Direct fiducial sampling."""

from typing import ClassVar

import jax
import numpy as np

from ..method import AbstractMethod, AbstractPhase, Answer, Outcome
from ..model import Data, Model
from ..phases.direct_draws import DirectDraws, Draws, most_directions
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..problem import Problem
from ..resampling import resample

_BLOCK = 50
_LARGEST_MISS = 0.05
"""How far from its equations a draw may be, in standard errors, before it counts as failed."""


class EFIDirect(AbstractMethod):
    """Fit once, then solve the data-generating equations for fresh errors, a thousand times.

    The draws are independent and follow the extended fiducial distribution: no priors, no tuning.
    Widths come from the errors alone.

    Arguments:
        draws: number of draws.
        lm_steps: largest number of Levenberg-Marquardt steps of the fit.

    Reference:
        Extended fiducial inference for PINNs (the paper cited in the README), with the sampler of
        Bardsley et al. (2014).

    Example:
        ``fiducial.fit(problem, fiducial.EFIDirect(), seed=0).band()``
    """

    draws: int = 1000
    lm_steps: int = 600
    chains: int = 1
    name: ClassVar[str] = "efi-direct"
    summary: ClassVar[str] = "one fit, then the equations solved for fresh errors: independent fiducial draws in seconds"

    def __check_init__(self) -> None:
        for setting in ("draws", "lm_steps", "chains"):
            if getattr(self, setting) < 1:
                raise ValueError(f"EFIDirect({setting}={getattr(self, setting)}): at least 1")

    def check(self, problem: Problem) -> None:
        noisy = [g for g in problem.groups if not g.exact]
        if not noisy:
            raise ValueError("efi-direct: all observations are exact, so there is no uncertainty to draw; use pinn, or name the noise")
        if any(g.noise_unknowns() for g in noisy) and len(noisy) > 1:
            raise ValueError(
                "efi-direct: an unknown noise size beside other noisy groups has no exact pivot; give the sizes, or use pinn for an estimate"
            )

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), DirectDraws(-(-self.draws // _BLOCK), _BLOCK)

    def lane_bytes(self, model: Model) -> int:
        return super().lane_bytes(model) + 8 * 4 * self.draws * model.size

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        drawn: Draws = outcome.draws["draw"]
        sets, chains = drawn.theta.shape[:2]
        flat = jax.tree.map(lambda v: v.reshape(sets, chains, -1, *v.shape[4:])[:, :, : self.draws], drawn)
        failed = ~(np.isfinite(flat.theta).all(axis=-1) & (flat.miss < _LARGEST_MISS))
        weight = np.where(failed, -np.inf, flat.log_weight)
        kept = [[resample(chain) for chain in one] for one in weight]

        def pick(values: np.ndarray) -> np.ndarray:
            return np.stack([np.stack([values[i, c, kept[i][c].kept] for c in range(chains)]) for i in range(sets)])

        return Answer(
            estimate=outcome.state.theta[:, 0],
            draws=pick(flat.theta),
            errors={group: pick(z) for group, z in flat.errors.items()},
            facts={
                "effective parameters": outcome.trace["draw"]["parameters"][:, 0, -1],
                "effective draws": np.array([sum(k.effective for k in one) for one in kept]),
                "failed draws": failed.mean(axis=(1, 2)),
                "weighted": outcome.trace["draw"]["parameters"][:, 0, -1] <= most_directions(model),
            },
        )
