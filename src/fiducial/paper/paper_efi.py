"""Algorithm 1 as the paper runs it."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..checks import Check
from ..kernels.sgld import SGLD
from ..methods._chain_answer import chain_answer, judge_chain
from ..methods._requirements import require_choice, require_positive
from ..methods.base import AbstractMethod, Answer, Outcome
from ..methods.efi import EFI
from ..model.model import Data, Model
from ..numerics.energy import EnergyWeights
from ..numerics.hyper_network import HyperNetworkShape
from ..numerics.linearisation import Linearisation
from ..numerics.weight_update import GradientDescent
from ..phases.base import AbstractPhase
from ..phases.fiducial_chain import Dynamics, FiducialChain, Sampling
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.problem import Problem
from ..schedules import early, parse

_DRAWS = 1000
"""Draws that are kept of each chain, however many iterations it has."""


class PaperEFI(AbstractMethod):
    """Extended fiducial inference with stochastic gradient descent with momentum,
    Langevin dynamics and a fixed number of iterations, from a fresh network.

    A pilot fit precedes the chain, for the diagnosis and for layers that are held.

    Arguments:
        chains: number of chains.
        steps: iterations of a chain.
        burn_in: share of the iterations whose draws are left out.
        annealing: share of the iterations over which ``strength`` and ``momentum``
            change.
        learning_rate: schedule of the step size of the weights.
        momentum: schedule of the share of the last step that is kept.
        sgld_learning_rate: schedule of the step size of the errors, in units of the
            data.
        strength: schedule of the weight of the energy (the paper's lambda).
        eta_theta: weight of the scatter of the parameters relative to the data.
        eta_f: weight of exact observations relative to the data.
        encoder: widths of the encoder's layers, the neck last.
        neck_sd: standard deviation of noise added to the neck.
        last_layers: number of last layers of the model's network that the
            hyper-network gives, with the constants; None for all.
        batch: number of observations that a step of the weights uses; None for all.
        lm_steps: largest number of Levenberg-Marquardt steps of the pilot fit.
        precision: ``"float64"`` or ``"float32"``, for the chain.

    Reference:
        Shih, Jiang, Liang (2025), Uncertainty Quantification for Physics-Informed
        Neural Networks with Extended Fiducial Inference, NeurIPS.

    Example:
        ``fiducial.paper.efi("poisson", precision="float32")``
    """

    chains: int
    steps: int
    burn_in: float
    annealing: float
    learning_rate: float | str
    momentum: float | str
    sgld_learning_rate: float | str
    strength: float | str
    eta_theta: float
    eta_f: float
    encoder: tuple[int, ...]
    neck_sd: float = 0.0
    last_layers: int | None = None
    batch: int | None = None
    lm_steps: int = 1200
    precision: str = "float64"
    name: ClassVar[str] = "paper-efi"
    summary: ClassVar[str] = "Algorithm 1 with the paper's step sizes and number of iterations"

    def __check_init__(self) -> None:
        require_positive(self, "steps", "lm_steps", "chains")
        require_choice(self, precision=("float64", "float32"))
        if self.batch is not None and self.batch < 1:
            raise ValueError(f"PaperEFI(batch={self.batch}): give at least 1, or None for all")

    def check(self, problem: Problem) -> None:
        EFI(last_layers=self.last_layers).check(problem)
        count = sum(g.y.size for g in problem.groups if not g.exact)
        if self.batch is not None and self.batch > count:
            raise ValueError(
                f"PaperEFI(batch={self.batch}): there are {count} noisy observations; give at most"
                f" {count}, or None for all"
            )

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), self._chain()

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        recorded = outcome.trace["draw"]
        size = np.mean(np.asarray(recorded["step size"][:, 0, -1]))
        return chain_answer(
            model,
            outcome,
            warm_up=self._chain().sampling.warm_up,
            stiffness=np.asarray(recorded["stiffness"][:, 0, -1]),
            variance=lambda curvature: SGLD().variance(curvature, size),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), *judge_chain(facts)]

    def lane_bytes(self, model: Model) -> int:
        rows = sum(len(g.sites) for g in model.groups)
        errors = sum(g.y.size for g in model.groups if not g.exact)
        weights = model.size * (rows + 6 * self.encoder[-1])
        return super().lane_bytes(model) + 8 * (weights + 2 * self._thin * errors)

    @property
    def _thin(self) -> int:
        return max(1, self.steps // _DRAWS)

    def _chain(self) -> FiducialChain:
        *hidden, neck = self.encoder
        draws = self.steps // self._thin
        error_rate = parse(self.sgld_learning_rate)

        def size(model: Model, fit: Linearisation, progress: Array) -> Array:
            variances = _variances(model, fit)
            return error_rate(progress) / jnp.concatenate(list(variances.values()))

        return FiducialChain(
            steps=draws,
            sampling=Sampling(self._thin, warm_up=round(self.burn_in * draws)),
            shape=HyperNetworkShape(tuple(hidden), neck, self.neck_sd, self.last_layers),
            dynamics=Dynamics(
                kernel=SGLD(),
                step_size=size,
                energy_weights=self._energy_weights,
                update=GradientDescent(
                    parse(self.learning_rate),
                    early(parse(self.momentum), self.annealing),
                    self.batch,
                ),
            ),
            plain=True,
            dtype=jnp.dtype(self.precision),
        )

    def _energy_weights(self, model: Model, fit: Linearisation, progress: Array) -> EnergyWeights:
        """Return the weights of the energy, which the paper writes in units of the data,
        not of their errors.
        """
        now = early(parse(self.strength), self.annealing)(progress)
        noisy = {name: 2 * now * v for name, v in _variances(model, fit).items()}
        exact = {
            g.name: 2 * now * self.eta_f * model.scales[g.name] ** 2
            for g in model.groups
            if g.exact
        }
        return EnergyWeights(
            noisy=noisy,
            exact=exact,
            scatter=self.eta_theta * now,
            stiffness=jnp.mean(jnp.concatenate(list(noisy.values()))),
        )


def _variances(model: Model, fit: Linearisation) -> dict[str, Array]:
    """Return the variances of the errors of each noisy group."""
    noise = model.noise(fit.theta)
    return {
        g.name: g.noise.push(jnp.zeros(g.size), jnp.ones(g.size), g.points, noise[g.name]) ** 2
        for g in model.groups
        if g.noise is not None
    }
