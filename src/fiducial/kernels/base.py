"""What a sampler of the errors must be able to do. Each is one file in ``kernels/``.

A kernel moves a vector along the gradient of the logarithm of its density, and adds the
noise that keeps it spread out as that density says. It never owns a loop, and knows
nothing of networks."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

Memory = Any
"""What a kernel carries from step to step besides the position."""


class AbstractKernel(eqx.Module):
    """A sampler for a vector with a smooth density.

    Attributes:
        name: what it is called in settings.
    """

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def size(self, stiffness: float) -> float:
        """A step size for a density whose logarithm is nowhere curved more than
        ``stiffness``.
        """

    @abc.abstractmethod
    def rest(self, size: float) -> float:
        """Number of steps after which a direction of unit variance has forgotten
        where it was.
        """

    @abc.abstractmethod
    def variance(self, curvature: float, size: float) -> float:
        """The variance that a Gaussian direction of this curvature has at this step
        size; 1 / curvature for small ones.
        """

    @abc.abstractmethod
    def init(self, position: Float[Array, " n"], *, key: PRNGKeyArray) -> Memory:
        """What to carry at the start."""

    @abc.abstractmethod
    def step(
        self,
        position: Float[Array, " n"],
        memory: Memory,
        force: Float[Array, " n"],
        size: Float[Array, ""],
        noise: Float[Array, " n"],
    ) -> tuple[Float[Array, " n"], Memory]:
        """One step from a position at which the gradient of the log-density is
        ``force``, with ``noise`` drawn from N(0, 1) for it.
        """
