"""The posterior of a Bayesian physics-informed network: normal priors, the likelihood
of the data, and the equation with errors of its own.

An equation that holds exactly has no place in a likelihood, so it is given errors of
some size, ``sigma_f``. That size acts as a part of the prior, and no data determine it.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.flat import ravel
from ..model.model import Data, Model
from ..posing.unknowns import Real

Priors = Mapping[str, tuple[float, float]]

_NOISE_SPREAD = 2.0
"""Prior standard deviation of the logarithm of an unknown size of errors, around the
guess from the data.
"""


class Posterior(eqx.Module):
    """Independent normal priors for all parameters, with the likelihood.

    Samplers move ``q``, the parameters in units of their priors: ``theta = mean + sd
    q``. Make it outside of compiled functions.

    Attributes:
        model: the problem made computable.
        mean: prior means of the parameters.
        sd: prior standard deviations.
        sigma_f: size of the errors that exact values are given, in their own unit; None
            to derive it from the data.
        tightness: how much smaller than those of the best data these errors are then,
            relative to the values.
        measured_physics: groups that state the equation with errors of a known size,
            and that size.

    Arguments:
        plain: give weights that act on inputs and outputs in the user's units a
            standard normal prior, and unknown real constants in their own unit too, as
            published code does. Otherwise weights have it for scaled inputs and
            outputs, and constants are around their guess, as far off as it is large (a
            factor of e for positive ones).
        priors: mean and standard deviation by name, for unknown constants and unknown
            sizes of errors (``sd_GROUP``): of a real one itself, of the logarithm of a
            positive one.
    """

    model: Model = eqx.field(static=True)
    mean: np.ndarray
    sd: np.ndarray
    sigma_f: float | None
    tightness: float
    measured_physics: dict[str, float]

    def __init__(
        self,
        model: Model,
        sigma_f: float | None,
        *,
        tightness: float = 1.0,
        plain: bool = False,
        priors: Priors | None = None,
    ):
        self.model, self.sigma_f, self.tightness = model, sigma_f, tightness
        self.measured_physics = {}
        for g in model.groups:
            if g.physics and g.noise is not None and not model.size_unknown(g):
                in_errors = g.noise.pull(jnp.zeros(g.y.size), jnp.ones(g.y.size), g.points, {})
                self.measured_physics[g.name] = float(1 / np.mean(in_errors))
        self.mean, self.sd = np.zeros(model.size), np.ones(model.size)
        noise, constants = model.noise_slice, model.constant_slice
        start = np.asarray(model.init(jax.random.key(0)))
        self.mean[noise], self.sd[noise] = start[noise], _NOISE_SPREAD
        self.mean[constants] = start[constants]
        if plain:
            self.sd /= model.unit_factors
            unknowns = model.problem.unknowns
            of_unknowns = {
                n: np.broadcast_to(1 / u.scale if isinstance(u, Real) else 1.0, u.shape)
                for n, u in unknowns.items()
            }
            centre = {
                n: np.broadcast_to(0.0 if isinstance(u, Real) else 1.0, u.shape)
                for n, u in unknowns.items()
            }
            if unknowns:
                self.sd[constants] = np.asarray(ravel(of_unknowns))
                self.mean[constants] *= np.asarray(ravel(centre))
        for name, (mean, sd) in (priors or {}).items():
            place, unknown = model.locate(name)
            unit = unknown.scale if isinstance(unknown, Real) else 1.0
            self.mean[place], self.sd[place] = np.ravel(mean / unit), np.ravel(sd / unit)

    def theta(self, q: Float[Array, " p"]) -> Float[Array, " p"]:
        """The parameters."""
        return jnp.asarray(self.mean, q.dtype) + jnp.asarray(self.sd, q.dtype) * q

    def q(self, theta: Float[Array, " p"]) -> Float[Array, " p"]:
        """The parameters in units of their priors."""
        return (theta - jnp.asarray(self.mean, theta.dtype)) / jnp.asarray(self.sd, theta.dtype)

    def weights(self, theta: Float[Array, " p"]) -> dict[str, Any]:
        """For each exact group what its scaled residuals must be multiplied with to
        have unit variance.

        During a warm-up there may be one for a group of ``measured_physics``, too, for
        its residuals in standard errors."""
        exact = [g for g in self.model.groups if g.exact]
        if self.sigma_f is None:
            return {g.name: self.tightness * self.model.precision(theta) for g in exact}
        return {g.name: jnp.asarray(self.model.scales[g.name] / self.sigma_f) for g in exact}

    def log_density(
        self, q: Float[Array, " p"], data: Data, weights: dict[str, Any]
    ) -> Float[Array, ""]:
        """Log-density of the posterior of ``q``, up to a constant."""
        theta, model = self.theta(q), self.model
        noise, total = model.noise(theta), -0.5 * jnp.sum(q**2)
        for g in model.groups:
            mean, y = model.mean(theta, g), data[g.name].astype(q.dtype)
            if g.noise is not None:
                log_prob = g.noise.log_prob(mean[g.index], y, g.points, noise[g.name]).astype(
                    q.dtype
                )
                total += jnp.asarray(weights.get(g.name, 1.0), q.dtype) ** 2 * log_prob
            else:
                rows = model.targets(g, y, {}) - model.whiten(g, mean, {})
                total -= 0.5 * jnp.sum((jnp.asarray(weights[g.name], q.dtype) * rows) ** 2)
        return total

    def rows(
        self, theta: Float[Array, " p"], data: Data, weights: dict[str, Any]
    ) -> Float[Array, " m"]:
        """Residuals of all groups, with unit variance."""
        rows = self.model.residuals(theta, data)
        return jnp.concatenate([rows[g.name] * weights.get(g.name, 1.0) for g in self.model.groups])

    def rows_and_jacobians(
        self, theta: Float[Array, " p"], data: Data, weights: dict[str, Any]
    ) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
        """The same, and the Jacobian of the means in these units."""
        parts = self.model.rows_and_jacobians(theta, data)
        return tuple(
            jnp.concatenate(
                [parts[g.name][i] * weights.get(g.name, 1.0) for g in self.model.groups]
            )
            for i in (0, 1)
        )  # type: ignore[return-value]


def tightness(model: Model, theta: np.ndarray, weights: Mapping[str, Any]) -> np.ndarray | None:
    """Return for each data set how much smaller the errors of the exact values are than
    those of the best data, relative to the values; None without exact values.

    Arguments:
        model: the problem in computable form.
        theta: parameters, (data set, p).
        weights: of the exact groups, (data set, chain) each.
    """
    exact = [np.asarray(weights[g.name], float)[:, 0] for g in model.groups if g.exact]
    if not exact:
        return None
    precision = np.asarray(jax.vmap(model.precision)(jnp.asarray(theta)))
    return np.min(exact, axis=0) / precision
