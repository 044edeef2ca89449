"""The energy of extended fiducial inference: how far parameters and errors together are
from making the data.

A noisy observation follows the data-generating equation ``y_i = mean_i(theta) + s_i
z_i`` with a standard normal error ``z_i`` (the paper's equations 1 and 9); an exact one
(an equation, a boundary value) has no error. The paper's energy (its equation A6, for
differential equations its equation 10) is

    U(z, w) = eta_theta sum_i |theta_i - theta_bar|^2
              + sum_g eta_g sum_(i in g) (y_i - mean_i(theta_bar) - s_i z_i)^2,

with one answer ``theta_i`` of the w-network for each noisy observation, their mean
``theta_bar``, and a belief weight ``eta_g`` for each group ``g`` of observations.

All that is computed is ``lambda U``, where ``lambda = 1 / epsilon`` is the inverse
temperature, with squares in units of the errors that the pilot fit has, ``s^_i``:

    lambda U = c sum_i |theta_i - theta_bar|^2               scatter_matrix
               + 1/2 sum_(noisy g) kappa_g sum_i gap_i^2     Energy.of_data
               + 1/2 sum_(exact g) kappa_g sum_i off_i^2     Energy.of_exact

    gap_i = (y_i - mean_i(theta_bar) - s_i z_i) / s^_i
    off_i = (mean_i(theta_bar) - y_i) / scale_g

so that ``kappa_g = 2 lambda eta_g s^_g^2`` for a noisy group, and ``c = lambda
eta_theta``. Errors for which the energy can be made small are those that could have
made the data."""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.model import Data, Model
from .linearisation import Linearisation, collapse, exact_means


class EnergyWeights(NamedTuple):
    """Weights of the terms of ``lambda U``.

    Attributes:
        noisy: ``kappa_g`` of each noisy group, for gaps in errors of the pilot fit.
        exact: ``kappa_g`` of each exact group, for residuals in units of its scale.
        scatter: ``c``, of the scatter of the answers for single observations.
        stiffness: ``kappa`` of a noisy observation on average: how firmly the data hold
            an error, where its own normal distribution holds it with 1.
    """

    noisy: dict[str, Array]
    exact: dict[str, Array]
    scatter: Array
    stiffness: Array


class Evaluation(NamedTuple):
    """By-products of an evaluation of the energy.

    Attributes:
        means: mean of each noisy observation, by group.
        gap: gap of each noisy observation, all groups joined.
        drift: how far the means of exact rows are from those of the pilot fit, in units
            of their scales.
        data_energy: the part of ``lambda U`` of the noisy groups.
        exact_energy: the part of the exact groups.
    """

    means: dict[str, Float[Array, " n"]]
    gap: Float[Array, " n"]
    drift: Float[Array, " e"]
    data_energy: Float[Array, ""]
    exact_energy: Float[Array, ""]


class Energy:
    """``lambda U`` as a function of the parameters ``theta_bar`` and the errors ``z``.

    Gaps are measured in units of the *pilot* fit's errors, also where the size of the
    errors is unknown: dividing by the unknown size itself would favour large ones.

    Arguments:
        model: the problem made computable.
        data: observed values.
        fit: the pilot fit.
        weights: weights of the terms.
    """

    def __init__(self, model: Model, data: Data, fit: Linearisation, weights: EnergyWeights):
        self.model = model
        self.data = data
        self.fit = fit
        self.weights = weights
        self._noisy = [g for g in model.groups if not g.exact]
        self._exact = [g for g in model.groups if g.exact]

    @property
    def stiffness(self) -> Float[Array, ""]:
        """``kappa`` of a noisy observation on average."""
        return self.weights.stiffness

    @property
    def exact_weight_ratio(self) -> Float[Array, ""]:
        """The largest weight of an exact group over that of a noisy observation."""
        weights = [jnp.max(w) for w in self.weights.exact.values()] or [jnp.asarray(1.0)]
        return jnp.max(jnp.stack(weights)) / self.stiffness

    def collapse(self, gaps: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return the gaps of all noisy observations as whitened rows: replicates are
        averaged, and a row has unit variance.
        """
        by_group = self.model.split_by_group(gaps)
        return collapse(self.model, self.fit.theta, by_group).astype(gaps.dtype)

    def gap(
        self,
        means: Mapping[str, Array],
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        """Return the gap of each noisy observation for given means and errors; of
        ``theta`` only the sizes of the errors are read.
        """
        now = self.model.noise(theta)
        pilot = self.model.noise(self.fit.theta)
        errors = self.model.split_by_group(z)
        rows = []
        for g in self._noisy:
            assert g.noise is not None
            made = g.noise.push(means[g.name], errors[g.name], g.points, now[g.name])
            gap = g.noise.pull(made, self.data[g.name], g.points, pilot[g.name])
            rows.append(gap.astype(z.dtype))
        return jnp.concatenate(rows)

    def of_data(
        self,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        counted: Float[Array, " n"] | float = 1.0,
    ) -> tuple[Float[Array, ""], Evaluation]:
        """Return the part of the noisy groups, with the ridge where a function is free,
        and the by-products.

        Arguments:
            theta: the parameters.
            z: the errors.
            counted: how often each observation counts.
        """
        means = self.model.observed_means(theta, self._noisy)
        gap = self.gap(means, theta, z)
        weights = jnp.concatenate(
            [jnp.broadcast_to(self.weights.noisy[g.name], (g.size,)) for g in self._noisy]
        )
        energy = 0.5 * jnp.sum(counted * weights * gap**2)
        by_products = Evaluation(
            means=means,
            gap=gap,
            drift=jnp.zeros(0, theta.dtype),
            data_energy=energy,
            exact_energy=jnp.asarray(0.0, theta.dtype),
        )
        return energy + self._ridge(theta), by_products

    def _ridge(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """Return the cost of moving the network away from the pilot fit.

        Where a whole function is free the data do not pin down the network between
        them; the ridge is that of the fit, see ``Model.prior_scale``.
        """
        if not self.model.has_free_function:
            return jnp.asarray(0.0, theta.dtype)
        scale = np.where(self.model.prior_scale > 0, self.model.prior_scale, 1.0)
        change = (theta - self.fit.theta).at[self.model.noise_slice].set(0.0)
        change = change / jnp.asarray(scale, theta.dtype)
        return 0.5 * self.stiffness * jnp.sum(change**2)

    def of_exact(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " e"]]:
        """Return the part of the exact groups, and the drift of their rows from the
        pilot fit.
        """
        model = self.model
        total = jnp.asarray(0.0, theta.dtype)
        rows = exact_means(model, theta).astype(theta.dtype)
        ends = np.cumsum([len(g.sites) for g in self._exact]).tolist()
        parts = jnp.split(rows, ends[:-1]) if self._exact else []
        for g, part in zip(self._exact, parts, strict=True):
            off = part - model.targets(g, self.data[g.name], {})
            total += 0.5 * jnp.sum(self.weights.exact[g.name] * off**2).astype(theta.dtype)
        return total, rows - self.fit.exact
