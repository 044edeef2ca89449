"""The fit seen as a linear regression: which directions the data inform, and how to move along them.

At a fit, the noisy rows have the Jacobian ``J_u`` (whitened: errors have unit variance) and the
exact rows ``J_e``. What the data can inform is ``J_u`` on the null space of ``J_e``, that is the
Schur complement ``S = K_uu - K_ue (K_ee + mu)^-1 K_eu`` of the tangent kernel ``K = J J^T``. A flexible
network can also follow the noise by bending between the points where the equation is asked to hold;
those directions show themselves because their eigenvalues vanish with ``mu``, while those of real
parameters stay.
"""

from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jaxtyping import Array, Bool, Float

from .model import Data, Model

_RELEASE = (1e-8, 1e-10)
"""Two small dampings of the exact rows, relative to the trace of their kernel."""
_STAYS = 0.05
"""An eigenvalue that keeps this share when the damping falls a hundredfold is informed; one of noise keeps 0.01."""
_ROUNDING = 1e-12
"""Eigenvalues smaller than this share of the largest are rounding errors."""
_CORRECTION = 1e-6
"""Damping of corrections back to the exact rows: the chord iteration wants them gentle."""


class Linearisation(NamedTuple):
    """All that drawing from a fit needs, for k noisy rows, e exact rows and p parameters.

    Attributes:
        theta: the fit.
        noisy: whitened means of the noisy rows at the fit.
        exact: scaled means of the exact rows at the fit.
        basis: orthonormal directions of the noisy rows, the best informed first.
        eigenvalues: of ``S`` along them.
        informed: which of them are real parameters; their number is the effective number of parameters.
        along: how to move theta so that a noisy direction rises by one and exact rows stay.
        restore: how to move theta so that exact rows fall by given amounts.
        side_effect: what ``restore`` does to the noisy rows.
    """

    theta: Float[Array, " p"]
    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    basis: Float[Array, "k k"]
    eigenvalues: Float[Array, " k"]
    informed: Bool[Array, " k"]
    along: Float[Array, "p k"]
    restore: Float[Array, "p e"]
    side_effect: Float[Array, "k e"]


def split_means(model: Model, theta: Float[Array, " p"], fit: Float[Array, " p"]) -> tuple[Float[Array, " k"], Float[Array, " e"]]:
    """Noisy means in units of the fit's errors, and exact means in units of their scales."""
    noise = model.noise(fit)
    means = [(g.exact, model.whiten(g, model.mean(theta, g), noise.get(g.name, {}))) for g in model.groups]
    return tuple(jnp.concatenate([m for e, m in means if e is exact] or [jnp.zeros(0, theta.dtype)]) for exact in (False, True))  # type: ignore[return-value]


def linearise(model: Model, theta: Float[Array, " p"], data: Data) -> Linearisation:
    """Linearise at a fit; see the module's text for the mathematics."""
    rows = model.linearise(theta, data)
    none = jnp.zeros((0, theta.size), theta.dtype)
    Ju, Je = (jnp.concatenate([rows[g.name][1] for g in model.groups if g.exact is exact] or [none]) for exact in (False, True))
    Kuu, Kue, Kee = Ju @ Ju.T, Ju @ Je.T, Je @ Je.T
    size = jnp.trace(Kee) + jnp.finfo(theta.dtype).tiny

    def damped(relative: float) -> tuple[Array, bool]:
        return jsl.cho_factor(Kee + relative * size * jnp.eye(len(Je), dtype=theta.dtype))

    loose, tight = (Kuu - Kue @ jsl.cho_solve(damped(r), Kue.T) for r in _RELEASE)
    before = jnp.linalg.eigvalsh(loose)[::-1]
    values, basis = (v[..., ::-1] for v in jnp.linalg.eigh(tight))
    # after the first direction of noise there are only more of them, down to rounding errors
    informed = jnp.cumprod((values > _STAYS * before) & (values > _ROUNDING * values[0])).astype(bool)
    # the null space of the exact rows, mapped back to the parameters
    project = Ju.T - Je.T @ jsl.cho_solve(damped(_RELEASE[1]), Kue.T)
    along = project @ (basis * jnp.where(informed, 1 / jnp.where(informed, values, 1.0), 0.0))
    restore = Je.T @ jsl.cho_solve(damped(_CORRECTION), jnp.eye(len(Je), dtype=theta.dtype))
    noisy, exact = split_means(model, theta, theta)
    return Linearisation(theta, noisy, exact, basis, values, informed, along, restore, Ju @ restore)
