"""Everything that a method, phase, kernel, noise model or problem of your own
imports.
"""

from .checks import Check, Limit
from .device import Effort
from .kernels.base import AbstractKernel, KernelState
from .methods._requirements import require_choice, require_mlp, require_noise, require_positive
from .methods.base import AbstractMethod, Answer, Facts, Outcome, WeightedDraws
from .model.binding import bind
from .model.model import Data, Model
from .noise._linear_gaussian import AbstractLinearGaussian
from .noise.base import AbstractNoise, NoiseParameters
from .numerics.hamiltonian import AbstractSampler
from .phases.adam import Adam
from .phases.base import AbstractPhase, Drawn, Info, Keep, keep_all
from .phases.direct_draws import DirectDraws
from .phases.levenberg_marquardt import LevenbergMarquardt
from .phases.refits import Refits, simulated_data
from .posing.coordinates import Points, user_point
from .posing.fields import Field
from .posing.groups import Group
from .posing.networks import NetworkRecipe
from .posing.problem import Problem
from .posing.unknowns import AbstractUnknown
from .representations.base import AbstractRepresentation
from .representations.layered import AbstractLayered
from .schedules import Schedule

__all__ = [
    "AbstractKernel",
    "AbstractLayered",
    "AbstractLinearGaussian",
    "AbstractMethod",
    "AbstractNoise",
    "AbstractPhase",
    "AbstractRepresentation",
    "AbstractSampler",
    "AbstractUnknown",
    "Adam",
    "Answer",
    "Check",
    "Data",
    "DirectDraws",
    "Drawn",
    "Effort",
    "Facts",
    "Field",
    "Group",
    "Info",
    "Keep",
    "KernelState",
    "LevenbergMarquardt",
    "Limit",
    "Model",
    "NetworkRecipe",
    "NoiseParameters",
    "Outcome",
    "Points",
    "Problem",
    "Refits",
    "Schedule",
    "WeightedDraws",
    "bind",
    "keep_all",
    "require_choice",
    "require_mlp",
    "require_noise",
    "require_positive",
    "simulated_data",
    "user_point",
]
