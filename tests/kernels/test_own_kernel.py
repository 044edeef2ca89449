"""A kernel from outside the package takes the place of a ready one."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.extend import AbstractKernel, KernelState


class Relaxed(AbstractKernel):
    """An exact Ornstein-Uhlenbeck step towards where the force alone would lead in a
    Gaussian of curvature ``stiffness``: Langevin dynamics with an exponential step.
    """

    stiffness: float = 21.0
    name: ClassVar[str] = "relaxed"

    def step_size(self, stiffness):
        return 0.3 / stiffness

    def relaxation_steps(self, step_size):
        return 1 / step_size

    def variance(self, curvature, step_size):
        move = (1 - np.exp(-self.stiffness * step_size)) / self.stiffness
        noise = (1 - np.exp(-2 * self.stiffness * step_size)) / self.stiffness
        return noise / (1 - (1 - move * curvature) ** 2)

    def init(self, position, *, key) -> KernelState:
        return ()

    def step(self, position, state, force, step_size, noise):
        kept = jnp.exp(-self.stiffness * step_size)
        move = (1 - kept) / self.stiffness
        return position + move * force + jnp.sqrt((1 - kept**2) / self.stiffness) * noise, state


@pytest.mark.slow
def test_a_kernel_of_ones_own_moves_the_errors():
    method = fd.EFI(kernel=Relaxed(), draws=60, chains=2, hidden=(4,), neck=4)
    problem = fd.problem("linear-regression")
    result = fd.fit(problem, method, seed=1)
    assert "Relaxed" in method.settings()["kernel"]
    x = problem.groups[0].points.array[:, 0]
    design = np.stack([x**k for k in range(5)], axis=1)
    exact = 0.1 * np.sqrt(np.diag(design @ np.linalg.inv(design.T @ design) @ design.T))
    ratio = result.band(x)["sd"].values[0] / exact
    assert np.mean(ratio) == pytest.approx(1, abs=0.25)
    assert result.facts["energy"] == pytest.approx(1, abs=0.15)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(ValueError, match=r"EFI\(kernel='gibbs'\).*AbstractKernel"):
        fd.EFI(kernel="gibbs")
    with pytest.raises(ValueError, match="an object of a class"):
        fd.EFI(kernel=Relaxed)
