"""The contract of a kernel, a sampler of the errors. Each is one file in ``kernels/``.

A kernel moves a vector along the gradient of its log-density, and adds the noise that
keeps it distributed as that density says. It never owns a loop, evaluates nothing
itself, and knows nothing of networks."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

KernelState = Any
"""A pytree of arrays that a kernel carries from step to step besides the position, such
as a momentum."""


class AbstractKernel(eqx.Module):
    """A sampler for a vector with a smooth density.

    Derive a class from this one, and give an object of it to a method:
    ``fiducial.EFI(kernel=MyKernel())``.

    Attributes:
        name: what it is called in settings.
    """

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def step_size(self, stiffness: float) -> float:
        """Return a stable step size for a density whose logarithm is nowhere curved
        more than ``stiffness``.
        """

    @abc.abstractmethod
    def relaxation_steps(self, step_size: float) -> float:
        """Return the number of steps after which a direction of unit variance has
        forgotten where it was.
        """

    @abc.abstractmethod
    def variance(self, curvature: float, step_size: float) -> float:
        """Return the stationary variance of a Gaussian direction of a curvature at a
        step size; ``1 / curvature`` for small ones.
        """

    @abc.abstractmethod
    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> KernelState:
        """Return the state that goes with a first position."""

    @abc.abstractmethod
    def step(
        self,
        position: Float[Array, " n"],
        state: KernelState,
        force: Float[Array, " n"],
        step_size: Float[Array, "*n"],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], KernelState]:
        """Return the next position and state.

        Arguments:
            position: the position.
            state: what the kernel carries along.
            force: gradient of the log-density at the position.
            step_size: one for all components, or one for each.
            noise: fresh N(0, 1) numbers for this step.
        """
