"""A sampler from outside the package takes the place of those of BlackJAX."""

from types import SimpleNamespace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.extend import AbstractSampler, bind
from fiducial.numerics.hamiltonian import HamiltonianState, Mover
from fiducial.numerics.posterior import Posterior


class RandomWalk(AbstractSampler):
    """Metropolis with normal proposals."""

    name: ClassVar[str] = "random-walk"

    def move(self, key, chain, log_density, step_size, inverse_mass):
        towards, chance = jax.random.split(key)
        noise = jax.random.normal(towards, chain.position.shape, chain.position.dtype)
        position = chain.position + step_size * jnp.sqrt(inverse_mass) * noise
        density = log_density(position)
        accept = jnp.log(jax.random.uniform(chance)) < density - chain.logdensity
        moved = chain._replace(
            position=jnp.where(accept, position, chain.position),
            logdensity=jnp.where(accept, density, chain.logdensity),
        )
        return moved, SimpleNamespace(acceptance_rate=1.0 * accept, is_divergent=jnp.array(False))


@pytest.mark.slow
def test_a_sampler_of_ones_own_moves_the_chain(x64):
    """A regression with normal priors has a normal posterior."""
    model = bind(fd.problem("linear-regression"))
    data = {name: jnp.asarray(y) for name, y in model.data.items()}
    posterior = Posterior(model, None)
    mover = Mover(posterior, RandomWalk(), jnp.dtype("float64"))

    def density(q):
        return posterior.log_density(q, data, {})

    q = jnp.zeros(model.size)
    covariance = np.linalg.inv(-jax.hessian(density)(q))
    mode = q + covariance @ jax.grad(density)(q)
    zero = jnp.asarray(0.0)
    state = HamiltonianState(
        theta=posterior.theta(mode),
        chain=mover.begin(mode, data, {}),
        weights={},
        step_size=jnp.asarray(0.5),
        inverse_mass=jnp.asarray(np.diag(covariance)),
        adaptation=(),
        accepted=zero,
        diverged=zero,
    )

    def move(state, key):
        state = mover.move(state, data, key)
        return state, (state.theta, state.accepted)

    keys = jax.random.split(jax.random.key(0), 20_000)
    theta, accepted = jax.jit(lambda s: jax.lax.scan(move, s, keys)[1])(state)
    assert 0.1 < accepted.mean() < 0.9
    sd = posterior.sd * np.sqrt(np.diag(covariance))
    assert np.max(np.abs(theta.mean(axis=0) - posterior.theta(mode)) / sd) < 0.3
    np.testing.assert_allclose(theta.std(axis=0) / sd, 1, atol=0.25)


def test_what_is_no_sampler_is_refused():
    with pytest.raises(ValueError, match="'nuts', 'hmc'"):
        fd.Bayes(sampler="gibbs")
