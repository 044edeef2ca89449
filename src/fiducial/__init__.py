"""Honest uncertainty for physics-informed neural networks."""

from typing import TYPE_CHECKING

from . import catalogue, datasets, extend, paper, schedules
from .atomic_files import DamagedFileError
from .catalogue import method, problem
from .fitting import fit
from .methods.base import AbstractMethod
from .methods.bayes import Bayes
from .methods.concrete_dropout import ConcreteDropout
from .methods.conformal import Conformal
from .methods.dropout import Dropout
from .methods.efi import EFI
from .methods.efi_direct import EFIDirect
from .methods.efi_gn import EFIGN
from .methods.efi_linear import EFILinear
from .methods.ensemble import Ensemble
from .methods.laplace import Laplace
from .methods.pinn import PINN
from .noise.base import AbstractNoise
from .noise.correlated import Correlated
from .noise.gaussian import Gaussian
from .phases.base import AbstractPhase
from .posing import collocation, networks
from .posing.coordinates import Box, Point
from .posing.fields import Field
from .posing.networks import MLP
from .posing.observations import Observed
from .posing.operators import derivative, divergence, gradient, laplacian, time_derivative
from .posing.problem import Output, Problem
from .posing.truth import Truth
from .posing.unknowns import Interval, Positive, Real
from .results.loading import load
from .results.result import Result
from .running.driver import Interrupted
from .status import Status
from .studies.coverage import study
from .studies.result import Study
from .studies.simulation import simulate

__version__ = "0.1.0"

__all__ = [
    "EFI",
    "EFIGN",
    "MLP",
    "PINN",
    "AbstractMethod",
    "AbstractNoise",
    "AbstractPhase",
    "Bayes",
    "Box",
    "ConcreteDropout",
    "Conformal",
    "Correlated",
    "DamagedFileError",
    "Dropout",
    "EFIDirect",
    "EFILinear",
    "Ensemble",
    "Field",
    "Gaussian",
    "Interrupted",
    "Interval",
    "Laplace",
    "Observed",
    "Output",
    "Point",
    "Positive",
    "Problem",
    "Real",
    "Result",
    "Status",
    "Study",
    "Truth",
    "catalogue",
    "collocation",
    "datasets",
    "derivative",
    "divergence",
    "extend",
    "fit",
    "gradient",
    "laplacian",
    "load",
    "method",
    "networks",
    "paper",
    "problem",
    "schedules",
    "simulate",
    "study",
    "time_derivative",
]


if not TYPE_CHECKING:  # so that a type checker still finds names that do not exist

    def __getattr__(name: str) -> object:
        if name == "PaperPINN":
            raise AttributeError(
                'fiducial.PaperPINN is now fiducial.paper.pinn("poisson"), with the name of the'
                " problem"
            )
        raise AttributeError(f"module 'fiducial' has no attribute '{name}'")
