"""The border: a closed form with two parameters in the place of a network."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.extend import AbstractRepresentation, Field, user_point


class Decay:
    """Recipe of ``u = start exp(-rate t)``."""


@dataclass(frozen=True, eq=False)
class DecayRepresentation(AbstractRepresentation):
    """The solution of u' + rate u = 0 in closed form, with the logarithms of start and
    rate as its own parameters.
    """

    problem: Any
    size: int
    parts: Any
    name: ClassVar[str] = "decay"
    recipe: ClassVar[type] = Decay

    @classmethod
    def initial(cls, problem, key):
        del problem, key
        return {"log_start": jnp.asarray(0.5), "rate": jnp.asarray(1.0)}

    @classmethod
    def of(cls, problem, *, size, parts):
        return cls(problem, size, parts)

    @classmethod
    def held(cls, problem):
        return frozenset(g.name for g in problem.groups if g.physics)

    def field(self, theta):
        own = self.parts(theta)["field"]

        def evaluate(row):
            return jnp.exp(own["log_start"] - own["rate"] * row)

        return Field(evaluate, self.problem.domain.names, tuple(self.problem.outputs))

    def means(self, theta, sites):
        field, names = self.field(theta), self.problem.domain.names
        groups = {g.name: g for g in self.problem.groups}

        def at(name, rows):
            quantity = groups[name].quantity
            return jax.vmap(lambda row: quantity(field, user_point(names, row), {}))(rows)

        return {name: at(name, rows) for name, rows in sites.items()}


Decay.representation = DecayRepresentation
TIMES = np.linspace(0.0, 4.0, 12)
SD = 0.05


def problem():
    y = 3.0 * np.exp(-0.5 * TIMES) + SD * np.random.default_rng(0).normal(size=12)
    return fd.Problem(
        equation=lambda u, t, p: fd.derivative(u, t) + 0.5 * u(t),
        domain=fd.Box(t=(0, 4)),
        observations=[fd.Observed("u", x=TIMES, y=y, noise=fd.Gaussian(sd=SD))],
        representation=Decay(),
    )


def exact_limits(where):
    """Limits of u by the linearisation at the least-squares fit, which is as good as
    exact with so small errors.
    """
    y = problem().groups[0].y
    b = np.array([np.log(3.0), 0.5])
    for _ in range(20):
        mean = np.exp(b[0] - b[1] * TIMES)
        J = np.stack([mean, -TIMES * mean], axis=1)
        b = b + np.linalg.lstsq(J, y - mean, rcond=None)[0]
    mean = np.exp(b[0] - b[1] * where)
    slope = np.stack([mean, -where * mean], axis=1)
    half = 1.96 * SD * np.sqrt(np.sum(slope @ np.linalg.inv(J.T @ J) * slope, axis=1))
    return mean - half, mean + half


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "tolerance"),
    [(fd.EFIDirect(draws=1000), 0.08), (fd.EFI(), 0.2), (fd.Laplace(draws=2000), 0.08)],
    ids=["efi-direct", "efi", "laplace"],
)
def test_methods_run_on_a_representation_of_ones_own(method, tolerance):
    where = np.linspace(0.0, 4.0, 5)
    found = fd.fit(problem(), method, seed=0).band(where)
    lower, upper = exact_limits(where)
    width = upper - lower
    np.testing.assert_allclose(found["lower"][0], lower, atol=tolerance * width.max())
    np.testing.assert_allclose(found["upper"][0], upper, atol=tolerance * width.max())


def test_groups_that_hold_by_construction_have_no_rows():
    assert [g.name for g in fd.extend.bind(problem()).groups] == ["u"]


def test_methods_that_need_layers_say_so():
    with pytest.raises(ValueError, match="network"):
        fd.fit(problem(), fd.Dropout(), seed=0)
