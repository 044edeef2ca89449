"""Extended fiducial inference: Algorithm 1 of the paper."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ..checks import Check
from ..kernels import known
from ..kernels.base import AbstractKernel
from ..model.model import Data, Model
from ..numerics.energy import Terms
from ..numerics.linearisation import Linearisation, most_directions
from ..numerics.weight_update import Track
from ..phases.base import AbstractPhase
from ..phases.fiducial_chain import FiducialChain
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.networks import MLP
from ..posing.problem import Problem
from ._chain_answer import chain_answer, judge_chain
from ._requirements import require_choice, require_noise, require_positive
from .base import AbstractMethod, Answer, Outcome

_STIFFNESS, _STIFFNESS_OF_SIZES = 20.0, 200.0
"""How much more firmly an error is held by the data than by its own distribution; a
size that is unknown needs more.
"""
_TIGHTNESS = 10.0
"""How much more firmly exact observations are held than the most precise data."""
_RARE = -3.09
"""Sizes of errors are unknown up to a quantile of the normal distribution as rare as
this, one in a thousand;
"""
_SPARE = 4.0
"""the kernels stay stable where errors are held so many times more firmly than they
are set for;
"""
_MOST_GROWTH = 16.0
"""and with next to nothing known of a size there is no end to it."""
_APART = 2.0
"""Time between two draws, where 1 is that in which an error of unit variance moves."""
_WARM_UP = 12
"""Draws that are left out at the start, where the errors are still those of the
pilot fit.
"""


class EFI(AbstractMethod):
    """Extended fiducial inference by Algorithm 1: a chain over the errors, and a
    network that turns them into parameters.

    The errors of the data are unknowns. A kernel lets them wander over all that could
    have made the data, and a hyper-network with a narrow neck learns which parameters
    belong to them; its answers along the way are the draws. After a pilot fit, the
    weights of the hyper-network are moved by Gauss-Newton steps, so that its answers
    never lag behind the errors. All settings follow from the problem.

    Arguments:
        effective: stop when all chains together are worth so many independent draws.
        draws: largest number of draws of a chain.
        kernel: what moves the errors: ``"sghmc"`` (with momentum) or ``"sgld"``.
        learning_rate: how far the network goes towards the fit in a step; 1 is all the
            way. Less makes bands too narrow, which the diagnosis must find.
        hidden: widths of the encoder's hidden layers.
        neck: width of the neck.
        neck_sd: standard deviation of noise added to the neck.
        last_layers: let the hyper-network give only so many of the last layers of the
            model's network, with the constants, and keep the others as the pilot fit
            has them; None for all layers.
        lm_steps: largest number of Levenberg-Marquardt steps of the pilot fit.
        precision: ``"float64"`` or ``"float32"``, for the chain; the pilot fit is
            always in float64.
        chains: number of chains, each with a pilot fit of its own.

    Reference:
        Shih, Jiang, Liang (2025), Uncertainty Quantification for Physics-Informed
        Neural Networks with Extended Fiducial Inference, NeurIPS.

    Example:
        ``fiducial.fit(problem, fiducial.EFI(), seed=0).band()``
    """

    effective: int = 1000
    draws: int = 1000
    kernel: str = "sghmc"
    learning_rate: float = 1.0
    hidden: tuple[int, ...] = (16, 16)
    neck: int = 16
    neck_sd: float = 0.0
    last_layers: int | None = None
    lm_steps: int = 1200
    precision: str = "float64"
    chains: int = 4
    name: ClassVar[str] = "efi"
    summary: ClassVar[str] = (
        "Algorithm 1: a chain over the errors, and a network that learns which parameters belong to"
        " them"
    )

    def __check_init__(self) -> None:
        require_positive(self, "effective", "draws", "neck", "lm_steps", "chains")
        require_choice(
            self,
            kernel=tuple(sorted(known())),
            precision=("float64", "float32"),
        )
        if not 0 < self.learning_rate <= 1:
            raise ValueError(
                f"EFI(learning_rate={self.learning_rate}): give a share of the way to the fit,"
                " above 0 and at most 1"
            )
        if not 0 <= self.neck_sd < float("inf"):
            raise ValueError(
                f"EFI(neck_sd={self.neck_sd}): a standard deviation is a number that is not"
                " negative"
            )
        if not all(isinstance(width, int) and width > 0 for width in self.hidden):
            raise ValueError(
                f"EFI(hidden={self.hidden}): give the widths of layers, such as (16, 16)"
            )

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        layers = len(problem.recipe.hidden) + 1 if isinstance(problem.recipe, MLP) else 0
        if self.last_layers is not None and not 1 <= self.last_layers <= layers:
            raise ValueError(
                f"EFI(last_layers={self.last_layers}): the network has {layers or 'no'} layers to"
                " choose from; it must be an MLP"
            )
        for g in problem.groups:
            unknown = g.noise_unknowns()
            held = [
                name
                for name in unknown
                if g.noise is not None and name not in g.noise.sizes(unknown)
            ]
            if held:
                raise ValueError(
                    f"efi: the {held[0]} of '{g.name}' is unknown, which efi cannot infer; use"
                    " efi-direct, or give the value it finds"
                )

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), self._chain(model)

    def _chain(self, model: Model) -> FiducialChain:
        kernel, stiffness = self._kernel, self._stiffness(model)
        size = kernel.size(1 + stiffness * _growth(model))
        return FiducialChain(
            steps=_WARM_UP + self.draws,
            thin=max(1, round(_APART * kernel.rest(size) / 2)),
            warm_up=_WARM_UP,
            effective=self.effective,
            kernel=kernel,
            update=Track(self.learning_rate),
            terms=lambda model, fit, progress: _automatic(model, fit, stiffness),
            size=lambda model, fit, progress: jnp.asarray(size),
            hidden=tuple(self.hidden),
            neck=self.neck,
            neck_sd=self.neck_sd,
            last_layers=self.last_layers,
            dtype=jnp.dtype(self.precision),
        )

    @property
    def _kernel(self) -> AbstractKernel:
        return known()[self.kernel]()

    def _stiffness(self, model: Model) -> float:
        return (
            _STIFFNESS_OF_SIZES if any(model.size_unknown(g) for g in model.groups) else _STIFFNESS
        )

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        chain = self._chain(model)
        stiffness = np.asarray(outcome.trace["draw"]["stiffness"][:, 0, -1])
        size = np.mean(np.asarray(outcome.trace["draw"]["step size"][:, 0, -1]))
        return chain_answer(
            model,
            outcome,
            warm_up=chain.warm_up,
            stiffness=stiffness,
            variance=lambda c: self._kernel.variance(c, size),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), *judge_chain(facts)]

    def lane_bytes(self, model: Model) -> int:
        rows, errors = (
            sum(len(g.sites) for g in model.groups),
            sum(g.y.size for g in model.groups if not g.exact),
        )
        return super().lane_bytes(model) + 8 * (
            model.size * (rows + 6 * self.neck) + 2 * self._chain(model).thin * errors
        )


def _automatic(model: Model, fit: Linearisation, stiffness: float) -> Terms:
    """Every noisy observation as firm as the next, exact ones much firmer."""
    firm = stiffness * (_TIGHTNESS * model.precision(fit.theta)) ** 2
    noisy, exact = ([g.name for g in model.groups if g.exact is kind] for kind in (False, True))
    half = jnp.asarray(stiffness / 2)
    return Terms(
        dict.fromkeys(noisy, jnp.asarray(stiffness)),
        dict.fromkeys(exact, firm),
        half,
        jnp.asarray(stiffness),
    )


def _growth(model: Model) -> float:
    """How much more firmly errors may be held along the way than at the pilot fit, over
    what kernels stand.

    The data hold an error by its squared size. Of few data that is hardly known: the
    chi-square distribution of its inverse, by Wilson and Hilferty's cube, says how
    large it may become."""
    growth = 1.0
    for g in model.groups:
        if model.size_unknown(g):
            free = max(1, g.y.size - most_directions(model))
            least = max(0.0, 1 - 2 / (9 * free) + _RARE * (2 / (9 * free)) ** 0.5) ** 3
            growth = max(growth, g.y.size / _SPARE / max(free * least, 1e-9))
    return min(growth, _MOST_GROWTH)
