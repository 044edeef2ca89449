"""The fit seen as a linear regression: which directions the data inform, and how to
move along them.

At a fit, the noisy rows have the Jacobian ``J_u`` (whitened: errors have unit variance)
and the exact rows ``J_e``. What the data can inform is ``J_u`` on the null space of
``J_e``, that is the Schur complement ``S = K_uu - K_ue (K_ee + mu)^-1 K_eu`` of the
tangent kernel ``K = J J^T``.

Where the equation holds exactly, a flexible network can still follow the noise by
bending between the points where it is asked to hold; those directions show themselves
because their eigenvalues vanish with ``mu``, while those of real parameters stay. Where
the equation itself is noisy, or there is none, a whole function is free, and its
directions are informed more or less: each by the share ``s / (s + 1)`` of its
eigenvalue, the ridge of the fit (see ``Model.prior_scale``)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model.model import Data, Model
from ..posing.collocation import sobol
from ..posing.coordinates import Points
from .least_squares import damped_solver

RELEASE = 1e-10
"""A small damping of the exact rows, relative to the trace of their kernel."""
_STAYS = 0.05
"""An eigenvalue that keeps this share when the damping falls a hundredfold is
informed; one of noise keeps 0.01.
"""
_ROUNDING = 1e-12
"""Eigenvalues smaller than this share of the largest are rounding errors."""
_PROBES = 16
_FEW = 12
"""A model with no more parameters than this is followed in all of them."""
CORRECTION = 1e-6
"""Damping of corrections back to the exact rows: the chord iteration wants them
gentle.
"""


class Linearisation(NamedTuple):
    """All that drawing from a fit needs, for k noisy rows, e exact rows and p
    parameters.

    Attributes:
        theta: the fit.
        noisy: whitened means of the noisy rows at the fit.
        exact: scaled means of the exact rows at the fit.
        residual: whitened data minus ``noisy``.
        errors: standardised errors of all observations at the fit, by group.
        basis: orthonormal directions of the noisy rows, the best informed first.
        share: how far the data inform each of them; their sum is the effective number
            of parameters.
        along: how to move theta so that a noisy direction rises by its share and exact
            rows stay.
        restore: how to move theta so that exact rows fall by given amounts.
        side_effect: what ``restore`` does to the noisy rows.
        probe: outputs at a few points, and the unknowns, at the fit.
        probe_along: how they respond to moving along the directions.
        sensitivity: largest relative change of the mean width of an output, or of an
            unknown's, with a hundredth of the damping (a tenth of the ridge where a
            function is free).
    """

    theta: Float[Array, " p"]
    noisy: Float[Array, " k"]
    exact: Float[Array, " e"]
    residual: Float[Array, " k"]
    errors: dict[str, Float[Array, " n"]]
    basis: Float[Array, "k k"]
    share: Float[Array, " k"]
    along: Float[Array, "p k"]
    restore: Float[Array, "p e"]
    side_effect: Float[Array, "k e"]
    probe: Float[Array, " q"]
    probe_along: Float[Array, "q k"]
    sensitivity: Float[Array, ""]


def noisy_means(
    model: Model, theta: Float[Array, " p"], fit: Float[Array, " p"]
) -> Float[Array, " k"]:
    """Means of the noisy rows in units of the fit's errors."""
    noise = model.noise(fit)
    return jnp.concatenate(
        [model.whiten(g, model.mean(theta, g), noise[g.name]) for g in model.groups if not g.exact]
    )


def exact_means(model: Model, theta: Float[Array, " p"]) -> Float[Array, " e"]:
    """Means of the exact rows in units of their scales."""
    rows = [model.whiten(g, model.mean(theta, g), {}) for g in model.groups if g.exact]
    return jnp.concatenate(rows or [jnp.zeros(0, theta.dtype)])


def jacobians(
    model: Model, theta: Float[Array, " p"], fit: Float[Array, " p"]
) -> tuple[Float[Array, "k p"], Float[Array, "e p"]]:
    """Of the noisy and of the exact rows, in the same units."""
    noise = model.noise(fit)
    parts = [
        (g.exact, model.whiten(g, model.mean_jacobian(theta, g)[1], noise.get(g.name, {})))
        for g in model.groups
    ]
    none = jnp.zeros((0, theta.size), theta.dtype)
    return tuple(
        jnp.concatenate([part for e, part in parts if e is exact] or [none])
        for exact in (False, True)
    )  # type: ignore[return-value]


def linearise(model: Model, theta: Float[Array, " p"], data: Data) -> Linearisation:
    """Linearise at a fit; see the module's text for the mathematics."""
    stretch = jnp.asarray(model.prior_scale)
    plain, exact_rows = jacobians(model, theta, theta)
    Ju, Je = plain * stretch, exact_rows * stretch

    def free(relative: Array) -> tuple[Array, Array]:
        """The noisy rows on the null space of the exact ones, as columns, and their
        kernel.
        """
        columns = Ju.T
        if len(Je):
            columns = columns - damped_solver(Je, relative * len(Je))(Je @ Ju.T)
        kernel = Ju @ columns
        return columns, 0.5 * (kernel + kernel.T)

    # one after another: XLA's threads on a CPU can wait for each other for ever in
    # several batched factorisations at once
    (_, columns, tighter_columns), (looser, kernel, tighter) = jax.lax.map(
        free, RELEASE * jnp.array([100.0, 1.0, 0.01])
    )
    Je, columns = jax.lax.optimization_barrier((Je, columns))
    values, basis = (v[..., ::-1] for v in jnp.linalg.eigh(kernel))
    if model.has_free_function:
        values = jnp.maximum(values, 0.0)
        share, inverse = values / (values + 1), 1 / (values + 1)
        # what a tenth of the ridge would change
        smaller = jnp.maximum(jnp.linalg.eigvalsh(tighter)[::-1], 0.0)
        other = columns @ (basis / (smaller + 0.1))
    else:
        # after the first direction of noise there are only more of them, down to
        # rounding errors
        before = jnp.linalg.eigvalsh(looser)[::-1]
        real = jnp.cumprod((values > _STAYS * before) & (values > _ROUNDING * values[0])).astype(
            bool
        )
        share, inverse = (
            real.astype(theta.dtype),
            jnp.where(real, 1 / jnp.where(real, values, 1.0), 0.0),
        )
        rotated = basis.T @ tighter @ basis
        rotated = jnp.where(real[:, None] & real, rotated, jnp.eye(len(real), dtype=theta.dtype))
        other = jnp.where(real, tighter_columns @ basis @ jnp.linalg.inv(rotated), 0.0)
    along = stretch[:, None] * (columns @ (basis * inverse))
    restore = Ju.T[:, :0]
    if len(Je):
        restore = stretch[:, None] * damped_solver(Je, jnp.asarray(CORRECTION * len(Je)))(
            jnp.eye(len(Je), dtype=theta.dtype)
        )
    noise, noisy = model.noise(theta), noisy_means(model, theta, theta)
    targets = jnp.concatenate(
        [model.targets(g, data[g.name], noise[g.name]) for g in model.groups if not g.exact]
    )
    errors, exact = model.errors(theta, data), exact_means(model, theta)
    value, slope = probe(model, theta), jax.jacrev(lambda t: probe(model, t))(theta)
    responses = slope @ along, slope @ (stretch[:, None] * other)
    sensitivity = _change(*(_widths(model, jnp.linalg.norm(r, axis=1)) for r in responses))
    side_effect = plain @ restore
    return Linearisation(
        theta,
        noisy,
        exact,
        targets - noisy,
        errors,
        basis,
        share,
        along,
        restore,
        side_effect,
        value,
        responses[0],
        sensitivity,
    )


def probe(model: Model, theta: Float[Array, " p"]) -> Float[Array, " q"]:
    """A few quantities by which answers are compared: all outputs at some points,
    and the unknowns, unconstrained.
    """
    points = Points(model.problem.domain.names, sobol(_PROBES, seed=2)(model.problem.domain))
    return jnp.concatenate([model.evaluate(theta, points).ravel(), theta[model.constant_slice]])


def _widths(model: Model, sd: Float[Array, " q"]) -> Float[Array, " w"]:
    """Standard deviations of the probes, those of an output averaged over the points
    (near an exact value there is none to speak of).
    """
    outputs = len(model.problem.outputs)
    return jnp.concatenate(
        [
            jnp.mean(sd[: _PROBES * outputs].reshape(_PROBES, outputs), axis=0),
            sd[_PROBES * outputs :],
        ]
    )


def _change(sd: Float[Array, " q"], other: Float[Array, " q"]) -> Float[Array, ""]:
    """Largest relative difference between standard deviations, those that vanish
    left out.
    """
    seen = sd > 1e-9 * jnp.max(sd)
    return jnp.max(jnp.where(seen, jnp.abs(other / jnp.where(seen, sd, 1.0) - 1), 0.0))


def most_directions(model: Model) -> int:
    """How many informed directions are followed: what an equation of order three in
    each output may leave free.
    """
    rows = sum(len(g.sites) for g in model.groups if not g.exact)
    few = model.constant_count + 3 * len(model.problem.outputs)
    return min(rows, model.size, few if model.size > _FEW else model.size)


def collapse(
    model: Model, fit: Float[Array, " p"], errors: dict[str, Float[Array, " n"]]
) -> Float[Array, " k"]:
    """Errors as the whitened rows see them: replicates averaged, unit variance."""
    noise, rows = model.noise(fit), []
    for g in model.groups:
        if g.noise is not None:
            z = errors[g.name]
            raw = g.noise.push(jnp.zeros_like(z), z, g.points, noise[g.name])
            rows.append(g.noise.whiten_data(raw, g.points, g.index, len(g.sites), noise[g.name]))
    return jnp.concatenate(rows)


def normal_errors(model: Model, key: Array) -> dict[str, Float[Array, " n"]]:
    """Fresh standard normal errors of all noisy observations."""
    noisy = [g for g in model.groups if not g.exact]
    return {
        g.name: jax.random.normal(jax.random.fold_in(key, i), (g.y.size,), jnp.float64)
        for i, g in enumerate(noisy)
    }
