"""The fit seen as a linear regression: which directions the data inform, and how to
move along them.

At a fit, the noisy rows have the Jacobian ``J_u`` (whitened: errors have unit variance)
and the exact rows ``J_e``. What the data can inform is ``J_u`` on the null space of
``J_e``, that is the Schur complement ``S = K_uu - K_ue (K_ee + mu)^-1 K_eu`` of the
tangent kernel ``K = J J^T``.

Where the equation holds exactly, a flexible network can still follow the noise by
bending between the points where it is asked to hold. Those directions are recognised
because their eigenvalues vanish with ``mu``, while those of real parameters stay.

Where the equation itself is noisy, or there is none, a whole function is free. The data
then inform each direction to some degree, the share ``s / (s + 1)`` of its eigenvalue
s, because of the ridge of the fit (see ``Model.prior_scale``).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model.model import Data, Model
from ..posing.collocation import sobol
from ..posing.coordinates import Points
from .linear_systems import damped_solver

RELEASE = 1e-10
"""Damping of the exact rows in ``S``, relative to the trace of their kernel: small
enough for the noise to show, large enough for float64 (convention).
"""
_STAYS = 0.05
"""Share of an eigenvalue that is left when the damping falls a hundredfold, above which
its direction is informed. One of noise keeps 0.01, a real one nearly all.
"""
_ROUNDING = 1e-12
"""Eigenvalues smaller than this share of the largest are rounding errors."""
_SMALLER_RIDGE = 0.1
"""Where a function is free, the sensitivity is to this share of the ridge (convention).
"""
_PROBES = 16
"""Number of points at which outputs are compared (convention)."""
_FEW = 12
"""A model with no more parameters than this is followed in all of them (convention)."""
_ORDER = 3
"""Number of directions that an equation may leave free in each output: the highest
order of an equation that is provided for.
"""
CORRECTION = 1e-6
"""Damping of corrections back to the exact rows, relative to the trace of their kernel;
larger than ``RELEASE``, since chord steps diverge where corrections are large
(convention).
"""
_VANISHING = 1e-9
"""Standard deviations below this share of the largest are left out of comparisons."""


class Linearisation(NamedTuple):
    """What drawing from a fit needs, for k noisy rows, e exact rows and p parameters.

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
    """Return the means of the noisy rows in units of the fit's errors."""
    noise = model.noise(fit)
    noisy = [g for g in model.groups if not g.exact]
    means = model.means(theta, noisy)
    return jnp.concatenate([model.whiten(g, means[g.name], noise[g.name]) for g in noisy])


def exact_means(model: Model, theta: Float[Array, " p"]) -> Float[Array, " e"]:
    """Return the means of the exact rows in units of their scales."""
    exact = [g for g in model.groups if g.exact]
    means = model.means(theta, exact)
    rows = [model.whiten(g, means[g.name], {}) for g in exact]
    return jnp.concatenate(rows or [jnp.zeros(0, theta.dtype)])


def jacobians(
    model: Model, theta: Float[Array, " p"], fit: Float[Array, " p"]
) -> tuple[Float[Array, "k p"], Float[Array, "e p"]]:
    """Return the Jacobians of ``noisy_means`` and of ``exact_means``."""
    noise = model.noise(fit)
    found = model.means_and_jacobians(theta)
    parts = [
        (g.exact, model.whiten(g, found[g.name][1], noise.get(g.name, {}))) for g in model.groups
    ]
    none = jnp.zeros((0, theta.size), theta.dtype)
    return tuple(
        jnp.concatenate([part for e, part in parts if e is exact] or [none])
        for exact in (False, True)
    )  # type: ignore[return-value]


def linearise(model: Model, theta: Float[Array, " p"], data: Data) -> Linearisation:
    """Linearise at a fit; see the module's text for the mathematics."""
    scale = jnp.asarray(model.prior_scale)
    noisy_jacobian, exact_jacobian = jacobians(model, theta, theta)
    exact_scaled, directions = _directions(model, noisy_jacobian * scale, exact_jacobian * scale)
    along = scale[:, None] * directions.along
    restore = exact_scaled.T
    if len(exact_scaled):
        identity = jnp.eye(len(exact_scaled), dtype=theta.dtype)
        damping = jnp.asarray(CORRECTION * len(exact_scaled))
        restore = scale[:, None] * damped_solver(exact_scaled, damping)(identity)
    noise = model.noise(theta)
    noisy = noisy_means(model, theta, theta)
    targets = jnp.concatenate(
        [model.targets(g, data[g.name], noise[g.name]) for g in model.groups if not g.exact]
    )
    slope = jax.jacrev(lambda t: probe(model, t))(theta)
    probe_along = slope @ along
    other_along = slope @ (scale[:, None] * directions.other)
    sensitivity = _largest_change(
        _widths(model, jnp.linalg.norm(probe_along, axis=1)),
        _widths(model, jnp.linalg.norm(other_along, axis=1)),
    )
    return Linearisation(
        theta=theta,
        noisy=noisy,
        exact=exact_means(model, theta),
        residual=targets - noisy,
        errors=model.errors(theta, data),
        basis=directions.basis,
        share=directions.share,
        along=along,
        restore=restore,
        side_effect=noisy_jacobian @ restore,
        probe=probe(model, theta),
        probe_along=probe_along,
        sensitivity=sensitivity,
    )


class _Directions(NamedTuple):
    """Directions of the noisy rows, in units of ``Model.prior_scale``.

    Attributes:
        basis: see ``Linearisation``.
        share: see ``Linearisation``.
        along: see ``Linearisation``.
        other: what ``along`` would be with another damping, or ridge.
    """

    basis: Float[Array, "k k"]
    share: Float[Array, " k"]
    along: Float[Array, "p k"]
    other: Float[Array, "p k"]


def _directions(model: Model, noisy: Array, exact: Array) -> tuple[Array, _Directions]:
    """Return the Jacobian of the exact rows, held back until the factorisations are
    done, and the directions of the noisy rows.
    """

    def on_null_space(relative: Array) -> tuple[Array, Array]:
        """The noisy rows on the null space of the exact ones, as columns, and their
        kernel.
        """
        columns = noisy.T
        if len(exact):
            columns = columns - damped_solver(exact, relative * len(exact))(exact @ noisy.T)
        kernel = noisy @ columns
        return columns, 0.5 * (kernel + kernel.T)

    # one after another: XLA's threads on a CPU can deadlock in several batched
    # factorisations at once
    (_, columns, tighter_columns), (looser, kernel, tighter) = jax.lax.map(
        on_null_space, RELEASE * jnp.array([100.0, 1.0, 0.01])
    )
    exact, columns = jax.lax.optimization_barrier((exact, columns))
    values, basis = (v[..., ::-1] for v in jnp.linalg.eigh(kernel))
    if model.has_free_function:
        values = jnp.maximum(values, 0.0)
        smaller = jnp.maximum(jnp.linalg.eigvalsh(tighter)[::-1], 0.0)
        return exact, _Directions(
            basis=basis,
            share=values / (values + 1),
            along=columns @ (basis * (1 / (values + 1))),
            other=columns @ (basis / (smaller + _SMALLER_RIDGE)),
        )
    before = jnp.linalg.eigvalsh(looser)[::-1]
    stays = (values > _STAYS * before) & (values > _ROUNDING * values[0])
    # after the first direction of noise there are only more of them, down to rounding
    # errors
    informed = jnp.cumprod(stays).astype(bool)
    inverse = jnp.where(informed, 1 / jnp.where(informed, values, 1.0), 0.0)
    rotated = basis.T @ tighter @ basis
    rotated = jnp.where(
        informed[:, None] & informed, rotated, jnp.eye(len(informed), dtype=noisy.dtype)
    )
    return exact, _Directions(
        basis=basis,
        share=informed.astype(noisy.dtype),
        along=columns @ (basis * inverse),
        other=jnp.where(informed, tighter_columns @ basis @ jnp.linalg.inv(rotated), 0.0),
    )


def probe(model: Model, theta: Float[Array, " p"]) -> Float[Array, " q"]:
    """Return a few quantities by which answers are compared: all outputs at some
    points, and the unknowns, unconstrained.
    """
    points = Points(model.problem.domain.names, sobol(_PROBES, seed=2)(model.problem.domain))
    return jnp.concatenate([model.evaluate(theta, points).ravel(), theta[model.constant_slice]])


def _widths(model: Model, sd: Float[Array, " q"]) -> Float[Array, " w"]:
    """Return the standard deviations of the probes, those of an output averaged over
    the points (near an exact value they all but vanish).
    """
    outputs = len(model.problem.outputs)
    of_outputs = sd[: _PROBES * outputs].reshape(_PROBES, outputs)
    return jnp.concatenate([jnp.mean(of_outputs, axis=0), sd[_PROBES * outputs :]])


def _largest_change(sd: Float[Array, " q"], other: Float[Array, " q"]) -> Float[Array, ""]:
    """Return the largest relative difference between standard deviations, those that
    vanish left out.
    """
    counts = sd > _VANISHING * jnp.max(sd)
    return jnp.max(jnp.where(counts, jnp.abs(other / jnp.where(counts, sd, 1.0) - 1), 0.0))


def most_directions(model: Model) -> int:
    """Return how many informed directions are followed: the unknown constants, and
    those that an equation of order three in each output may leave free.
    """
    rows = sum(len(g.sites) for g in model.groups if not g.exact)
    few = model.constant_count + _ORDER * len(model.problem.outputs)
    return min(rows, model.size, few if model.size > _FEW else model.size)


def collapse(
    model: Model, fit: Float[Array, " p"], errors: dict[str, Float[Array, " n"]]
) -> Float[Array, " k"]:
    """Return errors as the whitened rows see them: replicates averaged, unit
    variance.
    """
    noise = model.noise(fit)
    rows = []
    for g in model.groups:
        if g.noise is not None:
            z = errors[g.name]
            raw = g.noise.push(jnp.zeros_like(z), z, g.points, noise[g.name])
            rows.append(model.targets(g, raw, noise[g.name]))
    return jnp.concatenate(rows)


def normal_errors(model: Model, key: Array) -> dict[str, Float[Array, " n"]]:
    """Draw standard normal errors of all noisy observations."""
    noisy = [g for g in model.groups if not g.exact]
    return {
        g.name: g.only_real(jax.random.normal(jax.random.fold_in(key, i), (g.size,), jnp.float64))
        for i, g in enumerate(noisy)
    }
