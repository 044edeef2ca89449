"""The fiducial density where errors are not Gaussian, or do not enter the data linearly.

The data are ``y_i = G(mean_i, noise, z_i)`` with normal scores ``z``. The coordinates
of the solution and the unconstrained noise parameters then have the fiducial density

    prod f_i  det(D^T W D)^(1/2),    W = diag(1 / s_i^2),

where ``f_i`` is the density of datum i, ``D`` the derivative of the data by both at
fixed scores, and ``s_i`` the size of each error at the fit, which never changes. It
depends on how data are measured: for y and for log y it is not quite the same. For
linear Gaussian errors it is the density in ``nearby_solutions``, before noise sizes are
integrated out.

Coordinates are those of a *frozen* model, in which the errors are Gaussian with the
sizes ``s_i``: there everything that holds for linear Gaussian errors serves.

Reference:
    Hannig, Iyer, Lai, Lee (2016), Generalized fiducial inference: a review and new
    results, J. Am. Stat. Assoc. 111, 1346.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model.model import Data, Model
from ..model.residuals import log_density
from ..noise.base import NoiseParameters
from ..noise.gaussian import Gaussian
from ..posing.groups import Group
from .linear_systems import eliminate
from .nearby_solutions import NearbySolutions
from .tangents import informed_block


class _FixedSizes(Gaussian):
    """Independent Gaussian errors whose sizes a program computes."""

    def __init__(self, sizes: Float[Array, " n"]):
        self._sd = sizes  # type: ignore[assignment]
        self.h = None

    def resize(self, parameters: NoiseParameters, factor: Array) -> NoiseParameters:
        return parameters


def freeze_noise(model: Model, fit: Float[Array, " p"]) -> Model:
    """Return the model with Gaussian errors of the sizes that they have at a fit."""
    noise = model.noise(fit)
    means = model.observed_means(fit, [g for g in model.groups if not g.exact])

    def frozen(group: Group) -> Group:
        if group.noise is None:
            return group
        sizes = group.noise.spread(means[group.name], group.points, noise[group.name])
        return dataclasses.replace(group, noise=_FixedSizes(jax.lax.stop_gradient(sizes)))

    return dataclasses.replace(model, groups=tuple(frozen(g) for g in model.groups))


class NoisyMeans(NamedTuple):
    """Means of noisy rows, and how they respond to moving along the coordinates.

    Attributes:
        rows: whitened means of the noisy rows, in the frozen model.
        tangent: their derivative along r moves.
    """

    rows: Float[Array, " k"]
    tangent: Float[Array, "k r"]


class GeneralisedDensity:
    """The logarithm of the fiducial density of solutions near a fit.

    Arguments:
        model: the problem made computable.
        solutions: solutions around the fit, of the frozen model.
        data: observed values.
    """

    def __init__(self, model: Model, solutions: NearbySolutions, data: Data):
        self.model = model
        self.solutions = solutions
        self.data = data
        self.noise_count = model.noise_slice.stop - model.noise_slice.start

    def at(self, means: NoisyMeans, noise: Float[Array, " m"]) -> Float[Array, ""]:
        """Return the log-density along the moves of ``means``, at the unconstrained
        noise parameters ``noise``.
        """
        total = jnp.asarray(0.0)
        size = self.solutions.r + self.noise_count
        gram = jnp.zeros((size, size))
        for g, frozen in self._groups():
            mean, slopes = self._site_means(frozen, means)
            own = self._parameters(noise)[g.name]
            total += log_density(g, mean[g.index], self.data[g.name], own)
            derivative = self._derivative(g, mean[g.index], slopes[g.index], noise)
            weighted = g.only_real(1 / self._sizes(frozen))[:, None] * derivative
            gram += weighted.T @ weighted
        counts = jnp.concatenate([self.solutions.followed, jnp.ones(self.noise_count, bool)])
        return total + 0.5 * eliminate(informed_block(gram, counts), gram[:, :0])[1]

    def linear(
        self, coordinates: Float[Array, " r"], noise: Float[Array, " m"]
    ) -> Float[Array, ""]:
        """Return the log-density of coordinates if the means were linear in them."""
        fit, r = self.solutions.fit, self.solutions.r
        basis = jnp.where(self.solutions.followed, fit.basis[:, :r], 0.0)
        return self.at(NoisyMeans(fit.noisy + basis @ coordinates, basis), noise)

    def _groups(self) -> list[tuple[Group, Group]]:
        """Return the noisy groups, with those of the frozen model."""
        both = zip(self.model.groups, self.solutions.model.groups, strict=True)
        return [(g, frozen) for g, frozen in both if not g.exact]

    def _parameters(self, noise: Float[Array, " m"]) -> dict[str, NoiseParameters]:
        """Return the noise parameters in the user's units."""
        theta = self.solutions.fit.theta
        return self.model.noise(theta.at[self.model.noise_slice].set(noise))

    def _sizes(self, frozen: Group) -> Float[Array, " n"]:
        """Return the fixed sizes of the errors of a group."""
        assert frozen.noise is not None
        return frozen.noise.spread(jnp.zeros(frozen.size), frozen.points, {})

    def _site_means(self, frozen: Group, means: NoisyMeans) -> tuple[Array, Array]:
        """Return the means at the sites of a group, and their derivatives."""
        model = self.solutions.model
        lengths = {g.name: len(g.sites) for g in model.groups if not g.exact}
        names = list(lengths)
        begin = sum(lengths[name] for name in names[: names.index(frozen.name)])
        rows = slice(begin, begin + lengths[frozen.name])
        root = model.whiten(frozen, jnp.ones(lengths[frozen.name]), {})
        real = root > 0
        unit = 1 / jnp.where(real, root, 1.0)
        mean = means.rows[rows] * unit
        # padded sites have no row; the mean of a real one is possible
        return jnp.where(real, mean, mean[0]), means.tangent[rows] * unit[:, None]

    def _derivative(
        self, group: Group, mean: Array, slopes: Array, noise: Float[Array, " m"]
    ) -> Float[Array, "n c"]:
        """Return the derivative of the data at fixed scores, by coordinates and noise
        parameters.
        """
        law = group.noise
        assert law is not None
        own = self._parameters(noise)[group.name]
        z = law.pull(mean, self.data[group.name], group.points, own)

        def made(mean: Array, noise: Array) -> Array:
            return law.push(mean, z, group.points, self._parameters(noise)[group.name])

        _, by_mean = jax.jvp(lambda m: made(m, noise), (mean,), (jnp.ones_like(mean),))
        by_noise: Any = jnp.zeros((len(mean), 0))
        if self.noise_count:
            by_noise = jax.jacfwd(lambda n: made(mean, n))(noise)
        return jnp.concatenate([by_mean[:, None] * slopes, by_noise], axis=1)
