"""A stand-in method whose distribution is known exactly, to test the machinery of
studies with.

The field of ``poisson_line`` is the truth plus a straight line, the only thing that is
uncertain about ``poisson`` when f is exact. Its fiducial distribution is Gaussian in
the values at the two ends, so ``Exact`` can draw from it directly."""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import fiducial as fd
from fiducial.methods.base import AbstractMethod, Answer
from fiducial.phases.base import AbstractPhase, Drawn
from fiducial.problems._poisson import solution
from fiducial.problems.poisson import poisson


class Line(eqx.Module):
    slope: jax.Array
    height: jax.Array

    def __call__(self, x):
        return self.height + self.slope * x


def poisson_line(*, sd: float = 0.05, replicates: int = 10) -> fd.Problem:
    """``poisson`` with the truth plus a straight line as its only possible
    solutions.
    """
    return poisson(sd=sd, replicates=replicates).replace(
        network=Line(jnp.zeros(1), jnp.zeros(1)),
        constraint=lambda u, x, p: solution(x) + u,
        name="poisson-line",
        options=None,
    )


class _State(NamedTuple):
    theta: Any
    drawn: Any


class _Draw(AbstractPhase):
    draws: int
    narrow: float
    breaks_above: float
    steps: int = 1
    name: ClassVar[str] = "draw"

    @property
    def record_every(self) -> int:
        return 1

    def init(self, model, data, previous, *, key):
        theta = model.init(key)
        return _State(theta, jnp.broadcast_to(theta, (self.draws, theta.size)))

    def step(self, model, data, state, progress, *, key):
        group, y = model.groups[0], data["u"]
        each = y.size // 2
        means = jax.ops.segment_sum(y, group.index, 2) / each
        sd = group.noise.sd(group.points, {})[0] / jnp.sqrt(each)
        ends = (
            means
            - solution(group.sites.array[:, 0])
            - self.narrow * sd * jax.random.normal(key, (self.draws, 2))
        )
        # the line through the ends in the network's own units: inputs run from -3 to 3
        units = model.representation.numbers.output
        offset, scale = units.offset[0], units.unit[0]
        left, right = ((ends - offset) / scale).T
        drawn = jnp.where(
            y[0] > self.breaks_above,
            jnp.nan,
            jnp.stack([(right - left) / 6, (left + right) / 2], axis=1),
        )
        return _State(drawn[-1], drawn), {"loss": jnp.zeros(())}

    def draw(self, state):
        return Drawn(state.drawn, {})


class Exact(AbstractMethod):
    """Draws from the exact distribution, from one too narrow by a factor, or none
    for some data sets.
    """

    draws: int = 1000
    narrow: float = 1.0
    breaks_above: float = 1e9
    chains: int = 1
    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "exact draws for poisson"

    def phases(self, model):
        return (_Draw(self.draws, self.narrow, self.breaks_above),)

    def collect(self, model, data, outcome):
        return Answer(estimate=np.asarray(outcome.state.theta[:, 0]), draws=outcome.draws["draw"])

    def lane_bytes(self, model):
        return self.draws * 2000
