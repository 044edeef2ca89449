"""Draws that need Jacobians of their own, against a closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.phases import _direct_solving, direct_draws
from helpers import batch, decay, run

pytestmark = pytest.mark.slow


class Far(fd.EFIDirect):
    """All draws are taken as those are that the fit's own tangent does not reach."""

    def phases(self, model):
        fit, _ = super().phases(model)
        return fit, direct_draws.DirectDraws(
            self.draws // direct_draws.BLOCK, chord_steps=0, newton_steps=0
        )


def test_far_draws_have_their_exact_curves_and_weights(x64, monkeypatch):
    """u' = -k u has the curve 2 exp(-k t); with an unknown size the errors are large
    enough for k to range over a factor of 3.
    """
    monkeypatch.setattr(_direct_solving, "LARGEST_MISS", 0.0)
    t, sd = np.linspace(0.25, 3, 8), 0.15
    y = 2 * np.exp(-0.8 * t) + sd * np.random.default_rng(3).standard_normal(8)
    start = fd.Observed("u", x=[0.0], y=[2.0], name="start")
    model = bind(
        decay(
            domain=fd.Box(t=(0, 3)),
            observations=[fd.Observed("u", t, y, fd.Gaussian()), start],
            truth=None,
            network=fd.MLP((10,)),
        )
    )
    outcome = run(model, Far(draws=500), batch(model, 1), seed=0).outcome
    theta, found = (
        outcome.draws["draw"]["theta"][0, 0],
        {n: v[0, 0] for n, v in outcome.extra["draw"].items()},
    )
    k = np.asarray(jax.vmap(model.unknowns)(theta)["k"])
    assert not found["failed"].any()
    assert k.max() > 3 * k.min()

    def curve(log_k):
        return 2 * jnp.exp(-jnp.exp(log_k) * t)

    curves = np.asarray(jax.vmap(lambda one: model.mean(one, model.groups[0]))(theta))
    np.testing.assert_allclose(curves, jax.vmap(curve)(jnp.log(k)), atol=0.01 * sd)

    best = optimize.least_squares(
        lambda q: np.asarray(curve(q[0])) - y, np.log([0.8]), xtol=1e-14, ftol=1e-14
    ).x[0]
    along, rss = jax.jacfwd(curve)(best), jnp.sum((y - curve(best)) ** 2)
    along = along / jnp.linalg.norm(along)

    def exact(log_k):
        """The fiducial density of log k over that of the draws, a t distribution
        along the tangent of the fit.
        """
        slope, off, moved = (
            jax.jacfwd(curve)(log_k),
            y - curve(log_k),
            along @ (curve(log_k) - curve(best)),
        )
        both = jnp.stack([slope, off])
        fiducial = -4 * jnp.log(off @ off) + 0.5 * jnp.linalg.slogdet(both @ both.T)[1]
        return fiducial - jnp.log(jnp.abs(along @ slope)) + 4 * jnp.log(rss + moved**2)

    weights = np.asarray(jax.vmap(exact)(jnp.log(k)))
    assert np.ptp(weights) > 0.15
    np.testing.assert_allclose(
        found["log_weight"] - np.median(found["log_weight"]),
        weights - np.median(weights),
        atol=0.01,
    )
