"""Residuals of all groups in units of their errors, and the noise sizes they imply."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..noise.base import NoiseParameters
from ..posing.groups import Group

if TYPE_CHECKING:
    from .model import Model


def whitened_residuals(
    model: "Model", theta: Float[Array, " p"], data: dict[str, Any]
) -> dict[str, Float[Array, " m"]]:
    """Return the whitened residuals of every group, data minus mean."""
    noise = model.noise(theta)
    means = model.means(theta)
    rows = {}
    for g in model.groups:
        own = noise.get(g.name, {})
        target = model.targets(g, data[g.name], own)
        rows[g.name] = target - model.whiten(g, means[g.name], own)
    return rows


def whitened_rows(
    model: "Model", theta: Float[Array, " p"], data: dict[str, Any]
) -> dict[str, tuple[Float[Array, " m"], Float[Array, "m p"]]]:
    """Return the whitened residuals of every group and the Jacobian of its whitened
    means, at fixed noise parameters.
    """
    noise = jax.lax.stop_gradient(model.noise(theta))
    found = model.means_and_jacobians(theta)
    rows = {}
    for g in model.groups:
        own = noise.get(g.name, {})
        mean, jacobian = found[g.name]
        residual = model.targets(g, data[g.name], own) - model.whiten(g, mean, own)
        rows[g.name] = (residual, model.whiten(g, jacobian, own))
    return rows


def standardised_errors(
    model: "Model", theta: Float[Array, " p"], data: dict[str, Any]
) -> dict[str, Float[Array, " n"]]:
    """Return the error of every noisy observation, of unit variance if the noise model
    holds.
    """
    noise = model.noise(theta)
    noisy = {g.name: (g, g.noise) for g in model.groups if g.noise is not None}
    means = model.observed_means(theta, [g for g, _ in noisy.values()])
    return {
        name: g.only_real(law.pull(means[name], data[name], g.points, noise[name]))
        for name, (g, law) in noisy.items()
    }


def estimated_noise(
    model: "Model", theta: Float[Array, " p"], data: dict[str, Any]
) -> dict[str, NoiseParameters]:
    """Return the maximum-likelihood noise parameters, given the means."""
    noise = model.noise(theta)
    unknown = [g for g in model.groups if g.noise is not None and noise[g.name]]
    means = model.observed_means(theta, unknown)
    for g in unknown:
        assert g.noise is not None
        mean, y = means[g.name], data[g.name]
        if g.real is None:
            noise[g.name] = g.noise.estimate(mean, y, g.points, noise[g.name])
        else:
            # padded observations without errors, which make the size too small
            found = g.noise.estimate(mean, jnp.where(g.real > 0, y, mean), g.points, noise[g.name])
            noise[g.name] = g.noise.resize(found, jnp.sqrt(g.size / g.count))
    return noise


def log_density(
    group: Group, mean: Float[Array, " n"], y: Float[Array, " n"], noise: NoiseParameters
) -> Float[Array, ""]:
    """Return the log-density of the data of a noisy group."""
    law = group.noise
    assert law is not None
    if group.real is None:
        return law.log_prob(mean, y, group.points, noise)
    z = law.pull(mean, y, group.points, noise)
    one = law.pull(jnp.zeros_like(y), jnp.ones_like(y), group.points, noise)
    return jnp.sum(group.only_real(-0.5 * z**2 + jnp.log(one) - 0.5 * jnp.log(2 * jnp.pi)))


def resized_noise(
    model: "Model", theta: Float[Array, " p"], factors: Any
) -> dict[str, NoiseParameters]:
    """Return the noise parameters for errors larger than those of ``theta`` by a factor
    for each group.
    """
    noise = model.noise(theta)
    return {
        g.name: g.noise.resize(noise[g.name], factors[g.name])
        for g in model.groups
        if g.noise is not None
    }
