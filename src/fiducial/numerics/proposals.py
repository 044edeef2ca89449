"""Errors made into proposals: the coordinates and noise sizes that explain the data
with these errors if the model were linear.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Float

from ..model.model import Model
from ..posing.groups import Group
from .linearisation import Linearisation, collapse, normal_errors
from .nearby_solutions import rows_of
from .tangents import informed_block

_FURTHER_KEYS = 1000
"""First number of the keys for further errors, beyond those of ``normal_errors``."""


class Proposal(NamedTuple):
    """Coordinates and noise sizes before the model's curvature is looked at.

    Attributes:
        goal: coordinates to go to, in units of the fit's errors.
        sizes: noise size of each group relative to the fit's.
        log_density: logarithm of the proposal's density.
        linear_rss: for each group with unknown size the residual sum of squares of a
            linear model there.
    """

    goal: Float[Array, " k"]
    sizes: dict[str, Array]
    log_density: Array
    linear_rss: dict[str, Array]


class _Drawn(NamedTuple):
    """Noise sizes that were drawn, and the normal distribution of the coordinates given
    these.

    Attributes:
        sizes: noise size of each group relative to the fit's.
        rss: residual sum of squares of each group from which its size was drawn.
        freedom: degrees of freedom of each group with unknown size.
        mean: mean of the coordinates.
        goal: the coordinates that were drawn.
        precision: precision matrix of the coordinates.
        log_determinant: its log-determinant.
    """

    sizes: dict[str, Array]
    rss: dict[str, Array]
    freedom: dict[str, Array]
    mean: Float[Array, " k"]
    goal: Float[Array, " k"]
    precision: Float[Array, "k k"]
    log_determinant: Array


def propose_draw(model: Model, fit: Linearisation, key: Array) -> Proposal:
    """Draw errors, and return the coordinates and sizes that explain the data with them
    if the model is linear.
    """
    errors = normal_errors(model, key)
    shaped = collapse(model, fit.theta, errors)
    informed = fit.share > 0.5
    unknown = [g for g in model.groups if model.size_unknown(g)]
    noisy = [g for g in model.groups if not g.exact]
    inside = jnp.where(fit.share > 0, fit.basis.T @ shaped, 0.0)
    # what the fit has left undone; where a function is free, the ridge leaves some on
    # purpose
    undone = (
        jnp.zeros_like(inside)
        if model.has_free_function
        else jnp.where(informed, fit.basis.T @ fit.residual, 0.0)
    )
    if not unknown:
        return Proposal(
            goal=undone - inside,
            sizes={g.name: jnp.asarray(1.0) for g in noisy},
            log_density=-0.5 * jnp.sum(jnp.where(informed, inside, 0.0) ** 2),
            linear_rss={},
        )
    if len(noisy) == 1:
        drawn = _draw_one_size(noisy[0], fit, errors, inside, undone)
    else:
        drawn = _draw_sizes(model, fit, unknown, shaped, key)
    return _weigh(model, fit, unknown, drawn)


def _draw_one_size(
    group: Group, fit: Linearisation, errors: dict[str, Array], inside: Array, undone: Array
) -> _Drawn:
    """Draw the size of the only group from its exact pivot,
    ``s^2 = RSS / |(I - P) z|^2``.
    """
    name, z = group.name, errors[group.name]
    rss = jnp.sum(fit.errors[name] ** 2) - jnp.sum(undone**2)
    size = jnp.sqrt(rss / (jnp.sum(z**2) - jnp.sum(fit.share * inside**2)))
    return _Drawn(
        sizes={name: size},
        rss={name: rss},
        freedom={name: group.count - jnp.sum(fit.share)},
        mean=undone,
        goal=undone - size * inside,
        precision=jnp.eye(undone.size) / size**2,
        log_determinant=-2 * jnp.sum(fit.share > 0.5) * jnp.log(size),
    )


def _draw_sizes(
    model: Model, fit: Linearisation, unknown: list[Group], shaped: Array, key: Array
) -> _Drawn:
    """Draw each unknown size by a chi-square of its own, then the coordinates given all
    sizes by weighted least squares.
    """
    informed = fit.share > 0.5
    rss = {name: jnp.sum(e**2) for name, e in fit.errors.items()}
    sizes = {g.name: jnp.asarray(1.0) for g in model.groups if not g.exact}
    freedom = {}
    for i, g in enumerate(unknown):
        taken = jnp.sum(jnp.where(rows_of(model, g.name)[:, None], fit.basis**2 * fit.share, 0.0))
        freedom[g.name] = jnp.maximum(1.0, jnp.round(g.count - taken))
        own_key = jax.random.fold_in(key, _FURTHER_KEYS + i)
        normal = jax.random.normal(own_key, (g.size,), jnp.float64)
        counted = jnp.where(jnp.arange(g.size) < freedom[g.name], normal, 0.0)
        sizes[g.name] = jnp.sqrt(rss[g.name] / jnp.sum(counted**2))
    weight = sum(jnp.where(rows_of(model, g), 1 / sizes[g], 0.0) for g in sizes)
    precision = informed_block((fit.basis.T * weight**2) @ fit.basis, informed)
    right = jnp.stack(
        [fit.basis.T @ (weight**2 * fit.residual), fit.basis.T @ (weight * shaped)], axis=1
    )
    factor = jnp.linalg.cholesky(precision)
    solved = jsl.cho_solve((factor, True), jnp.where(informed[:, None], right, 0.0))
    return _Drawn(
        sizes=sizes,
        rss=rss,
        freedom=freedom,
        mean=solved[:, 0],
        goal=jnp.where(fit.share > 0, solved[:, 0] - solved[:, 1], 0.0),
        precision=precision,
        log_determinant=2 * jnp.sum(jnp.log(jnp.diagonal(factor))),
    )


def _weigh(model: Model, fit: Linearisation, unknown: list[Group], drawn: _Drawn) -> Proposal:
    """Return a proposal with its density: that of the coordinates given the sizes,
    times that of each size over what it has in the fiducial distribution given the
    coordinates.
    """
    informed = fit.share > 0.5
    off = jnp.where(informed, drawn.goal - drawn.mean, 0.0)
    log_density = 0.5 * drawn.log_determinant - 0.5 * off @ drawn.precision @ off
    moved = fit.basis @ jnp.where(informed, drawn.goal, 0.0)
    linear_rss = {}
    for g in unknown:
        own = rows_of(model, g.name)
        n = g.count
        size = drawn.sizes[g.name]
        change = jnp.where(own, moved**2 - 2 * fit.residual * moved, 0.0)
        linear = jnp.sum(fit.errors[g.name] ** 2) + jnp.sum(change)
        log_size = jnp.log(size)
        log_density += -(drawn.freedom[g.name] + 1) * log_size - 0.5 * drawn.rss[g.name] / size**2
        log_density -= 0.5 * n * jnp.log(linear) - (n + 1) * log_size - 0.5 * linear / size**2
        linear_rss[g.name] = linear
    return Proposal(drawn.goal, drawn.sizes, log_density, linear_rss)
