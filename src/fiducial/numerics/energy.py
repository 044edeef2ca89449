"""The energy of extended fiducial inference: how far parameters and errors together are
from making the data.

It is zero when the mean that the parameters give, plus the errors times their size, are
the data, and the exact observations hold. Errors that make it small are those that
could have made the data."""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..model.model import Data, Model
from .linearisation import Linearisation, collapse, exact_means


class Evaluation(NamedTuple):
    """What an evaluation of the energy comes across.

    Attributes:
        means: mean of each noisy observation, by group.
        gap: data minus mean minus error, in units of the errors of the pilot fit; all
            noisy groups joined.
        slip: how far exact rows are from where the pilot fit has them, in units of
            their scales.
        data_energy: the part of the energy that is the noisy groups'.
        exact_energy: the part of the exact ones.
    """

    means: dict[str, Float[Array, " n"]]
    gap: Float[Array, " n"]
    slip: Float[Array, " e"]
    data_energy: Float[Array, ""]
    exact_energy: Float[Array, ""]


class Terms(NamedTuple):
    """Weights of the terms.

    Attributes:
        noisy: of the observations of each noisy group, in squared errors of the pilot
            fit.
        exact: of the sites of each exact group, in units of its scale.
        together: of how far the answers of single observations scatter.
        typical: of a noisy observation on average: the stiffness of an error besides
            its own unit normal.
    """

    noisy: dict[str, Array]
    exact: dict[str, Array]
    together: Array
    typical: Array


class Energy:
    """Half a weighted sum of squares over all observations.

    Gaps between data and what makes them are measured in units of the *pilot* fit's
    errors, also where the size of the errors is unknown: dividing by the unknown size
    itself would favour large ones.

    Arguments:
        model: the problem made computable.
        fit: the pilot fit.
        terms: weights of the terms.
    """

    def __init__(self, model: Model, fit: Linearisation, terms: Terms):
        self.model, self.fit, self.terms, self.typical = model, fit, terms, terms.typical
        self.groups = [g for g in model.groups if not g.exact]

    @property
    def firmness(self) -> Float[Array, ""]:
        """The largest weight of an exact group relative to a noisy observation."""
        return (
            jnp.max(
                jnp.stack([jnp.max(w) for w in self.terms.exact.values()] or [jnp.asarray(1.0)])
            )
            / self.typical
        )

    def collapse(self, rows: Float[Array, " n"]) -> Float[Array, " k"]:
        """Gaps of all noisy observations as the whitened rows see them: replicates
        averaged, unit variance.
        """
        return collapse(self.model, self.fit.theta, self.model.split_by_group(rows)).astype(
            rows.dtype
        )

    def gap(
        self,
        means: Mapping[str, Array],
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        data: Data,
    ) -> Float[Array, " n"]:
        """Data minus what means and errors make, in units of the pilot fit's errors."""
        now, pilot, errors = (
            self.model.noise(theta),
            self.model.noise(self.fit.theta),
            self.model.split_by_group(z),
        )
        rows = []
        for g in self.groups:
            assert g.noise is not None
            made = g.noise.push(means[g.name], errors[g.name], g.points, now[g.name])
            rows.append(g.noise.pull(made, data[g.name], g.points, pilot[g.name]).astype(z.dtype))
        return jnp.concatenate(rows)

    def of_data(
        self,
        theta: Float[Array, " p"],
        z: Float[Array, " n"],
        data: Data,
        counted: Float[Array, " n"] | float = 1.0,
    ) -> tuple[Float[Array, ""], Evaluation]:
        """The part that is the noisy groups', with the ridge that holds the network
        where a function is free; and what was seen.

        ``counted`` says how often each observation counts.
        """
        means = {g.name: self.model.mean(theta, g)[g.index] for g in self.groups}
        gap = self.gap(means, theta, z, data)
        weights = jnp.concatenate(
            [jnp.broadcast_to(self.terms.noisy[g.name], (g.y.size,)) for g in self.groups]
        )
        fit, none = 0.5 * jnp.sum(counted * weights * gap**2), jnp.asarray(0.0, theta.dtype)
        held = none
        if self.model.has_free_function:
            stretch = np.where(self.model.prior_scale > 0, self.model.prior_scale, 1.0)
            gone = (theta - self.fit.theta).at[self.model.noise_slice].set(0.0) / jnp.asarray(
                stretch, theta.dtype
            )
            held = 0.5 * self.typical * jnp.sum(gone**2)
        return fit + held, Evaluation(means, gap, jnp.zeros(0, theta.dtype), fit, none)

    def of_exact(
        self, theta: Float[Array, " p"], data: Data
    ) -> tuple[Float[Array, ""], Float[Array, " e"]]:
        """The part of the exact groups, and how far they are from where the pilot
        fit has them.
        """
        model, total = self.model, jnp.asarray(0.0, theta.dtype)
        rows = exact_means(model, theta).astype(theta.dtype)
        exact = [g for g in model.groups if g.exact]
        ends = [sum(len(g.sites) for g in exact[: i + 1]) for i in range(len(exact))]
        for g, part in zip(exact, jnp.split(rows, ends[:-1]) if exact else [], strict=True):
            off = part - model.targets(g, data[g.name], {})
            total += 0.5 * jnp.sum(self.terms.exact[g.name] * off**2).astype(theta.dtype)
        return total, rows - self.fit.exact
