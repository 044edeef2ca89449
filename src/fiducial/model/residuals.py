"""Residuals of all groups in units of their errors, and the noise sizes they imply."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..noise.base import NoiseParameters, most_likely
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
        if g.exact or g.linear_gaussian:
            target = model.targets(g, data[g.name], own)
            rows[g.name] = target - model.whiten(g, means[g.name], own)
        else:
            rows[g.name] = _scores(g, means[g.name][g.index], data[g.name], own)
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
        if g.exact or g.linear_gaussian:
            residual = model.targets(g, data[g.name], own) - model.whiten(g, mean, own)
            rows[g.name] = (residual, model.whiten(g, jacobian, own))
        else:
            mean = mean[g.index]
            z, slope = jax.jvp(
                lambda m, g=g, own=own: _scores(g, m, data[g.name], own),
                (mean,),
                (jnp.ones_like(mean),),
            )
            rows[g.name] = (z, -slope[:, None] * jacobian[g.index])
    return rows


def _scores(
    group: Group, mean: Float[Array, " n"], y: Float[Array, " n"], noise: NoiseParameters
) -> Float[Array, " n"]:
    """Return the normal scores of a noisy group's data."""
    assert group.noise is not None
    return group.only_real(group.noise.pull(mean, y, group.points, noise))


def standardised_errors(
    model: "Model", theta: Float[Array, " p"], data: dict[str, Any]
) -> dict[str, Float[Array, " n"]]:
    """Return the error of every noisy observation, of unit variance if the noise model
    holds.
    """
    noise = model.noise(theta)
    noisy = [g for g in model.groups if not g.exact]
    means = model.observed_means(theta, noisy)
    return {g.name: _scores(g, means[g.name], data[g.name], noise[g.name]) for g in noisy}


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
        elif not g.linear_gaussian:
            noise[g.name] = most_likely(g.noise, mean, y, g.points, noise[g.name], g.real)
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
    return jnp.sum(group.only_real(law.log_densities(mean, y, group.points, noise)))


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
