"""Extended fiducial inference: Algorithm 1 of the paper."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from ..checks import Check
from ..kernels import kernels_by_name
from ..kernels.base import AbstractKernel
from ..model.model import Data, Model
from ..numerics.energy import EnergyWeights
from ..numerics.hyper_network import HyperNetworkShape
from ..numerics.linearisation import Linearisation, most_directions
from ..numerics.weight_update import GaussNewton
from ..phases.base import AbstractPhase
from ..phases.fiducial_chain import Dynamics, FiducialChain, Sampling
from ..phases.levenberg_marquardt import LevenbergMarquardt
from ..posing.networks import MLP
from ..posing.problem import Problem
from ._chain_answer import chain_answer, judge_chain
from ._requirements import require_choice, require_linear_gaussian, require_noise, require_positive
from .base import AbstractMethod, Answer, Outcome

_STIFFNESS = 20.0
"""``kappa``: how many times more firmly the data hold an error than its own
distribution does. Parameters are unbiased at any value, and chains mix faster at
smaller ones.
"""
_STIFFNESS_OF_SIZES = 200.0
"""``kappa`` where a noise size is unknown. The size comes out too small if the data
hold errors softly: by 5 to 7 % at 10.
"""
_TIGHTNESS = 10.0
"""Factor by which the errors that are left of exact observations are smaller than those
of the most precise data, relative to the values.
"""
_RARE_SIZE = -3.09
"""Quantile of the standard normal up to which a noise size is allowed for (one draw in
a thousand lies beyond).
"""
_KERNEL_RESERVE = 4.0
"""Factor on the stiffness that a kernel is set for up to which it must be stable; the
step sizes of ``sgld`` and ``sghmc`` are stable up to factors of 6 and 8.
"""
_MOST_GROWTH = 16.0
"""Largest factor on the stiffness that a kernel is set for. With next to nothing known
of a noise size there would be no end to it.
"""
_RELAXATIONS_PER_DRAW = 1.0
"""Relaxation times of the kernel between two draws."""
_WARM_UP = 12
"""Draws, one relaxation time apart, that are left out at the start, where the errors
are still those of the pilot fit.
"""


class EFI(AbstractMethod):
    """Extended fiducial inference by Algorithm 1 of the paper: a chain over the errors,
    and a network that turns them into parameters.

    The errors of the data are unknowns. A kernel moves them over all that could have
    made the data, and a hyper-network with a narrow neck (the paper's w-network) gives
    the parameters that belong to them; its answers along the way are the draws. After a
    pilot fit, the weights of the hyper-network are moved by Gauss-Newton steps, so that
    its answers do not lag behind the errors. All settings follow from the problem.

    Arguments:
        effective: stop when all chains together have this effective sample size.
        draws: largest number of draws of a chain.
        kernel: what moves the errors: ``"sghmc"`` (with momentum), ``"sgld"``, or an
            object of your own derived from ``fiducial.extend.AbstractKernel``.
        learning_rate: share of the way to the fit that the network goes in a step, up
            to 1. Less makes bands too narrow, which the diagnosis must find.
        hidden: widths of the encoder's hidden layers.
        neck: width of the neck.
        neck_sd: standard deviation of noise added to the neck.
        last_layers: let the hyper-network give the constants and this number of last
            layers of the model's network only, and keep the others as the pilot fit
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
    kernel: str | AbstractKernel = "sghmc"
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
        require_choice(self, precision=("float64", "float32"))
        if not isinstance(self.kernel, AbstractKernel) and self.kernel not in kernels_by_name():
            names = ", ".join(map(repr, sorted(kernels_by_name())))
            raise ValueError(
                f"EFI(kernel={self.kernel!r}): give one of {names}, or an object of a class of"
                " your own derived from fiducial.extend.AbstractKernel"
            )
        if not 0 < self.learning_rate <= 1:
            raise ValueError(
                f"EFI(learning_rate={self.learning_rate}): give a share of the way to the fit,"
                " above 0 and at most 1"
            )
        if not 0 <= self.neck_sd < float("inf"):
            raise ValueError(
                f"EFI(neck_sd={self.neck_sd}): give a standard deviation, a number that is not"
                " negative"
            )
        if not all(isinstance(width, int) and width > 0 for width in self.hidden):
            raise ValueError(
                f"EFI(hidden={self.hidden}): give the widths of layers, such as (16, 16)"
            )

    def check(self, problem: Problem) -> None:
        require_noise(self, problem)
        require_linear_gaussian(self, problem)
        layers = len(problem.recipe.hidden) + 1 if isinstance(problem.recipe, MLP) else 0
        if self.last_layers is not None and not 1 <= self.last_layers <= layers:
            raise ValueError(
                f"EFI(last_layers={self.last_layers}): the network has {layers or 'no'} layers to"
                " choose from; it must be an MLP"
            )
        for g in problem.groups:
            unknown = g.noise_unknowns()
            sizes = g.noise.sizes(unknown) if g.noise is not None else unknown
            others = [name for name in unknown if name not in sizes]
            if others:
                raise ValueError(
                    f"efi: the {others[0]} of '{g.name}' is unknown, and efi can infer sizes of"
                    " errors only; use efi-direct, or give the value that it finds"
                )

    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        return LevenbergMarquardt(self.lm_steps), self._chain(model)

    def _chain(self, model: Model) -> FiducialChain:
        kernel = self._kernel
        stiffness = self._stiffness(model)
        step_size = kernel.step_size(1 + stiffness * _growth(model))
        thin = max(1, round(_RELAXATIONS_PER_DRAW * kernel.relaxation_steps(step_size)))
        return FiducialChain(
            steps=_WARM_UP + self.draws,
            sampling=Sampling(thin, warm_up=_WARM_UP, effective=self.effective),
            shape=HyperNetworkShape(tuple(self.hidden), self.neck, self.neck_sd, self.last_layers),
            dynamics=Dynamics(
                kernel=kernel,
                step_size=lambda model, fit, progress: jnp.asarray(step_size),
                energy_weights=lambda model, fit, progress: _equal_weights(model, fit, stiffness),
                update=GaussNewton(self.learning_rate),
            ),
            dtype=jnp.dtype(self.precision),
        )

    @property
    def _kernel(self) -> AbstractKernel:
        if isinstance(self.kernel, AbstractKernel):
            return self.kernel
        return kernels_by_name()[self.kernel]()

    def _stiffness(self, model: Model) -> float:
        unknown = any(model.size_unknown(g) for g in model.groups)
        return _STIFFNESS_OF_SIZES if unknown else _STIFFNESS

    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        trace = outcome.trace["draw"]
        step_size = np.mean(np.asarray(trace["step size"][:, 0, -1]))
        return chain_answer(
            model,
            outcome,
            warm_up=self._chain(model).sampling.warm_up,
            stiffness=np.asarray(trace["stiffness"][:, 0, -1]),
            variance=lambda curvature: self._kernel.variance(curvature, step_size),
        )

    def judge(self, facts: Any, model: Model) -> list[Check]:
        return [*super().judge(facts, model), *judge_chain(facts)]

    def lane_bytes(self, model: Model) -> int:
        rows = sum(len(g.sites) for g in model.groups)
        errors = sum(g.y.size for g in model.groups if not g.exact)
        chain = model.size * (rows + 6 * self.neck) + 2 * self._chain(model).sampling.thin * errors
        return super().lane_bytes(model) + 8 * chain


def _equal_weights(model: Model, fit: Linearisation, stiffness: float) -> EnergyWeights:
    """Return weights that hold every noisy observation as firmly as the next, and exact
    ones much more firmly.
    """
    kappa = jnp.asarray(stiffness)
    exact = stiffness * (_TIGHTNESS * model.precision(fit.theta)) ** 2
    return EnergyWeights(
        noisy={g.name: kappa for g in model.groups if not g.exact},
        exact={g.name: exact for g in model.groups if g.exact},
        scatter=jnp.asarray(stiffness / 2),
        stiffness=kappa,
    )


def _growth(model: Model) -> float:
    """Return the factor by which errors may be held more firmly along the way than at
    the pilot fit, beyond what kernels have in reserve.

    The data hold an error by the square of its size, and draws of an unknown size have
    ``size^2 = RSS / chi2``. Of few data chi2 may be small: its quantile follows from
    Wilson and Hilferty's cube of a normal one.
    """
    growth = 1.0
    for g in model.groups:
        if model.size_unknown(g):
            free = max(1, g.y.size - most_directions(model))
            root = max(0.0, 1 - 2 / (9 * free) + _RARE_SIZE * (2 / (9 * free)) ** 0.5)
            rarest = g.y.size / _KERNEL_RESERVE / max(free * root**3, 1e-9)
            growth = max(growth, rarest)
    return min(growth, _MOST_GROWTH)
