"""The posterior of a Bayesian physics-informed network: normal priors, the likelihood
of the data, and the equation with errors of its own.

With ``N(mean, sd^2)`` priors on the parameters and ``q = (theta - mean) / sd``,

    log p(q | y) = -|q|^2 / 2 + sum_(noisy i) log p(y_i | mean_i(theta))
                   - 1/2 sum_(exact i) (weight_g off_i)^2 + const,

``off`` being scaled residuals. An equation that holds exactly has no place in a
likelihood, so it is given normal errors of some size, ``sigma_f``, and the weight is
one over that. The size acts as a part of the prior, and no data determine it.
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
"""Mean and standard deviation of normal priors, by the name of the unknown."""

_SD_OF_LOG_SIZE = 2.0
"""Prior standard deviation of the logarithm of an unknown noise size around the guess
from the data: a factor of e squared to either side.
"""


class Posterior(eqx.Module):
    """Posterior of all parameters with independent normal priors.

    Samplers move ``q``, the parameters in units of their priors. Make an object of it
    outside of compiled functions.

    Attributes:
        model: the problem made computable.
        mean: prior means of the parameters.
        sd: prior standard deviations.
        sigma_f: size of the errors that exact values are given, in their own unit; None
            to derive it from the data.
        tightness: factor by which these errors are then smaller than those of the best
            data, relative to the values.
        measured_physics: size of the errors of each group that states the equation with
            errors of a known size.

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
        self.model = model
        self.sigma_f = sigma_f
        self.tightness = tightness
        self.measured_physics = _sizes_of_measured_physics(model)
        self.mean, self.sd = _scaled_priors(model)
        if plain:
            _make_plain(model, self.mean, self.sd)
        for name, (mean, sd) in (priors or {}).items():
            place, unknown = model.locate(name)
            unit = unknown.scale if isinstance(unknown, Real) else 1.0
            self.mean[place] = np.ravel(mean / unit)
            self.sd[place] = np.ravel(sd / unit)

    def theta(self, q: Float[Array, " p"]) -> Float[Array, " p"]:
        """Return the parameters from those in units of their priors."""
        return jnp.asarray(self.mean, q.dtype) + jnp.asarray(self.sd, q.dtype) * q

    def q(self, theta: Float[Array, " p"]) -> Float[Array, " p"]:
        """Return the parameters in units of their priors."""
        return (theta - jnp.asarray(self.mean, theta.dtype)) / jnp.asarray(self.sd, theta.dtype)

    def weights(self, theta: Float[Array, " p"]) -> dict[str, Any]:
        """Return for each exact group the factor that gives its scaled residuals unit
        variance.

        During a warm-up there may be a factor for a group of ``measured_physics`` as
        well, for its residuals in standard errors.
        """
        exact = [g for g in self.model.groups if g.exact]
        if self.sigma_f is None:
            return {g.name: self.tightness * self.model.precision(theta) for g in exact}
        return {g.name: jnp.asarray(self.model.scales[g.name] / self.sigma_f) for g in exact}

    def log_density(
        self, q: Float[Array, " p"], data: Data, weights: dict[str, Any]
    ) -> Float[Array, ""]:
        """Return the log-density of the posterior of ``q``, up to a constant.

        Arguments:
            q: the parameters in units of their priors.
            data: observed values.
            weights: factors on scaled residuals, see ``weights``.
        """
        model = self.model
        theta = self.theta(q)
        noise = model.noise(theta)
        total = -0.5 * jnp.sum(q**2)
        means = model.means(theta)
        for g in model.groups:
            mean = means[g.name]
            y = data[g.name].astype(q.dtype)
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
        """Return the residuals of all groups, with unit variance."""
        rows = self.model.residuals(theta, data)
        return jnp.concatenate([rows[g.name] * weights.get(g.name, 1.0) for g in self.model.groups])

    def rows_and_jacobians(
        self, theta: Float[Array, " p"], data: Data, weights: dict[str, Any]
    ) -> tuple[Float[Array, " m"], Float[Array, "m p"]]:
        """Return the residuals of all groups, with unit variance, and the Jacobian of
        the means in these units.
        """
        parts = self.model.rows_and_jacobians(theta, data)
        return tuple(
            jnp.concatenate(
                [parts[g.name][i] * weights.get(g.name, 1.0) for g in self.model.groups]
            )
            for i in (0, 1)
        )  # type: ignore[return-value]


def _sizes_of_measured_physics(model: Model) -> dict[str, float]:
    """Return the mean size of the errors of each group that states the equation with
    errors of a known size.
    """
    sizes = {}
    for g in model.groups:
        if g.physics and g.noise is not None and not model.size_unknown(g):
            in_errors = g.noise.pull(jnp.zeros(g.size), jnp.ones(g.size), g.points, {})
            sizes[g.name] = float(1 / np.mean(in_errors))
    return sizes


def _scaled_priors(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of the default priors: standard normal for
    weights that act on scaled inputs and outputs, and around their guesses for
    unknowns.
    """
    noise = model.noise_slice
    constants = slice(model.size - model.constant_count, model.size)
    guess = np.asarray(model.init(jax.random.key(0)))
    mean = np.zeros(model.size)
    sd = np.ones(model.size)
    mean[noise] = guess[noise]
    sd[noise] = _SD_OF_LOG_SIZE
    mean[constants] = guess[constants]
    return mean, sd


def _make_plain(model: Model, mean: np.ndarray, sd: np.ndarray) -> None:
    """Change priors in place to those of published code: standard normal for weights
    that act in the user's units, and for unknown real constants in their own unit.
    """
    sd /= model.unit_factors
    unknowns = model.problem.unknowns
    if not unknowns:
        return
    constants = slice(model.size - model.constant_count, model.size)
    own_sd = {
        name: np.broadcast_to(1 / u.scale if isinstance(u, Real) else 1.0, u.shape)
        for name, u in unknowns.items()
    }
    keeps_guess = {
        name: np.broadcast_to(0.0 if isinstance(u, Real) else 1.0, u.shape)
        for name, u in unknowns.items()
    }
    sd[constants] = np.asarray(ravel(own_sd))
    mean[constants] *= np.asarray(ravel(keeps_guess))


def tightness(model: Model, theta: np.ndarray, weights: Mapping[str, Any]) -> np.ndarray | None:
    """Return for each data set the factor by which the errors of the exact values are
    smaller than those of the best data, relative to the values; None without exact
    values.

    Arguments:
        model: the problem made computable.
        theta: parameters, (data set, p).
        weights: factors of the exact groups, (data set, chain) each.
    """
    exact = [np.asarray(weights[g.name], float)[:, 0] for g in model.groups if g.exact]
    if not exact:
        return None
    precision = np.asarray(jax.vmap(model.precision)(jnp.asarray(theta)))
    return np.min(exact, axis=0) / precision
