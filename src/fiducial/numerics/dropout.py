"""Random networks by dropout: which hidden units are left out, and what a learnt
rate costs.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Model

_TEMPERATURE = 0.1
"""How soft the choice between kept and left out is while a rate is learnt."""


def hidden(model: Model) -> tuple[int, ...]:
    """Widths of the hidden layers."""
    recipe: Any = model.problem.recipe
    return recipe.hidden


def per_unit(model: Model, rates: Float[Array, " layers"]) -> Float[Array, " u"]:
    """A rate for each hidden unit from one for each layer."""
    widths = hidden(model)
    return jnp.repeat(rates, np.array(widths), total_repeat_length=sum(widths))


def kept_units(
    rate: Float[Array, " u"], shape: tuple[int, ...], key: PRNGKeyArray
) -> Float[Array, "*shape u"]:
    """Factors of the hidden units: zero for those left out, and what keeps the
    expectation for the others.

    Example:
        >>> kept = kept_units(jnp.array([0.0, 0.5]), (1000,), jax.random.key(0))
        >>> kept.mean(axis=0).round(1).tolist()
        [1.0, 1.0]
    """
    kept = jax.random.uniform(key, (*shape, rate.size), rate.dtype) >= rate
    return kept / (1 - rate)


def softly_kept_units(
    rate: Float[Array, " u"], shape: tuple[int, ...], key: PRNGKeyArray
) -> Float[Array, "*shape u"]:
    """The same with a soft choice, through which a rate can be learnt (the concrete
    relaxation).
    """
    u = jax.random.uniform(key, (*shape, rate.size), rate.dtype, minval=1e-6, maxval=1 - 1e-6)
    logit = jnp.log(rate) - jnp.log1p(-rate) + jnp.log(u) - jnp.log1p(-u)
    return jax.nn.sigmoid(-logit / _TEMPERATURE) / (1 - rate)


def divergence(
    model: Model, theta: Float[Array, " p"], rates: Float[Array, " layers"], length_scale: float
) -> Float[Array, ""]:
    """What learnt rates cost besides the misfit: the divergence from the prior of Gal,
    Hron and Kendall (2017).

    Arguments:
        model: the problem made computable.
        theta: the parameters.
        rates: of the hidden layers.
        length_scale: weights have a normal prior with a standard deviation of one over
            this.
    """
    total = jnp.zeros((), theta.dtype)
    for weight, rate, width in zip(
        model.ansatz.weight_matrices(theta)[1:], rates, hidden(model), strict=True
    ):
        entropy = -(rate * jnp.log(rate) + (1 - rate) * jnp.log1p(-rate))
        total += 0.5 * length_scale**2 * jnp.sum(weight**2) / (1 - rate) - width * entropy
    return total
