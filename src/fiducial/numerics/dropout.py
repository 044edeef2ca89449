"""Random networks by dropout: which hidden units are left out, and what a learnt rate
costs.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..model.model import Model

_TEMPERATURE = 0.1
"""Temperature of the concrete relaxation, as in the published code of Gal, Hron and
Kendall (2017).
"""


def hidden_widths(model: Model) -> tuple[int, ...]:
    """Return the widths of the hidden layers of the model's network."""
    return model.layers.hidden_widths


def rate_per_unit(model: Model, rates: Float[Array, " layers"]) -> Float[Array, " u"]:
    """Return a rate for each hidden unit from one for each layer."""
    widths = hidden_widths(model)
    return jnp.repeat(rates, np.array(widths), total_repeat_length=sum(widths))


def kept_units(
    rate: Float[Array, " u"], shape: tuple[int, ...], key: PRNGKeyArray
) -> Float[Array, "*shape u"]:
    """Return random factors of the hidden units: zero for units that are left out, and
    ``1 / (1 - rate)`` for the others, which keeps the expectation.

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
    """Return random factors of the hidden units between zero and ``1 / (1 - rate)``,
    through which a rate can be learnt (the concrete relaxation).

    Reference:
        Gal, Hron, Kendall (2017), Concrete dropout, NeurIPS.
    """
    u = jax.random.uniform(key, (*shape, rate.size), rate.dtype, minval=1e-6, maxval=1 - 1e-6)
    logit = jnp.log(rate) - jnp.log1p(-rate) + jnp.log(u) - jnp.log1p(-u)
    return jax.nn.sigmoid(-logit / _TEMPERATURE) / (1 - rate)


def divergence(
    model: Model, theta: Float[Array, " p"], rates: Float[Array, " layers"], length_scale: float
) -> Float[Array, ""]:
    """Return the divergence of the dropout distribution from the prior of Gal, Hron and
    Kendall (2017), which learnt rates cost besides the misfit.

    For each hidden layer with rate ``r``, width ``K`` and outgoing weights ``W`` it is
    ``length_scale^2 |W|^2 / (2 (1 - r)) - K (-r log r - (1 - r) log(1 - r))``.

    Arguments:
        model: the problem made computable.
        theta: the parameters.
        rates: rates of the hidden layers.
        length_scale: one over the standard deviation of the normal prior of weights.
    """
    total = jnp.zeros((), theta.dtype)
    for weight, rate, width in zip(
        model.layers.weight_matrices(theta)[1:], rates, hidden_widths(model), strict=True
    ):
        entropy = -(rate * jnp.log(rate) + (1 - rate) * jnp.log1p(-rate))
        total += 0.5 * length_scale**2 * jnp.sum(weight**2) / (1 - rate) - width * entropy
    return total
