"""Honest uncertainty for physics-informed neural networks."""

from . import catalogue, collocation, data, networks, schedules
from .catalogue import method, problem
from .coordinates import Box, Point
from .driver import Interrupted
from .field import Field
from .fit import fit
from .method import AbstractMethod, AbstractPhase
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
from .methods.pinn_paper import PaperPINN
from .networks import MLP
from .noise.correlated import Correlated
from .noise.gaussian import Gaussian
from .noise_model import AbstractNoise
from .observed import Observed
from .operators import derivative, divergence, gradient, laplacian, time_derivative
from .problem import Output, Problem, Truth
from .result import Result
from .saved import load
from .simulate import simulate
from .status import Status
from .study import Study, study
from .unknowns import Interval, Positive, Real

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
    "PaperPINN",
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
    "data",
    "derivative",
    "divergence",
    "fit",
    "gradient",
    "laplacian",
    "load",
    "method",
    "networks",
    "problem",
    "schedules",
    "simulate",
    "study",
    "time_derivative",
]
