"""Every kernel on Gaussians whose distribution at its step size is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fiducial.kernels import kernels_by_name

KERNELS = kernels_by_name()
PRECISION = np.array([[2.0, 0.6], [0.6, 1.0]])
CENTRE = np.array([1.0, -2.0])
CHAINS, STEPS, APART = 400, 400, 20


@pytest.fixture(scope="module", params=sorted(KERNELS))
def sampled(request):
    """Positions and memories of many chains, taken far apart."""
    kernel = KERNELS[request.param]()
    size = kernel.step_size(float(np.linalg.eigvalsh(PRECISION)[-1]))
    apart = max(APART, round(2 * kernel.relaxation_steps(size)))

    def chain(key):
        start = jnp.asarray(CENTRE)

        def step(carry, key):
            position, memory = carry
            force, noise = (
                -jnp.asarray(PRECISION) @ (position - jnp.asarray(CENTRE)),
                jax.random.normal(key, position.shape),
            )
            return kernel.step(position, memory, force, jnp.asarray(size), noise), None

        def record(carry, key):
            carry, _ = jax.lax.scan(step, carry, jax.random.split(key, apart))
            return carry, carry

        first, *rest = jax.random.split(key, 2)
        return jax.lax.scan(
            record,
            (start, kernel.init(start, key=first)),
            jax.random.split(rest[0], STEPS // APART),
        )[1]

    with jax.enable_x64(True):
        position, memory = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(1), CHAINS))
    return kernel, size, np.asarray(position)[:, 3:].reshape(-1, 2), memory


def test_mean_and_covariance_are_those_of_the_target(sampled):
    kernel, size, x, _ = sampled
    n = len(x)
    values, vectors = np.linalg.eigh(PRECISION)
    along = (x - CENTRE) @ vectors
    expected = np.array([kernel.variance(v, size) for v in values])
    # draws are far apart, so these are the errors of independent ones
    assert np.all(np.abs(along.mean(axis=0)) < 4 * np.sqrt(expected / n))
    assert np.all(np.abs(along.var(axis=0) / expected - 1) < 4 * np.sqrt(2 / n))
    assert abs(np.mean(along[:, 0] * along[:, 1])) < 4 * np.sqrt(expected.prod() / n)
    # and the step size costs no more than a fifth of the variance of the stiffest
    # direction
    assert np.all(np.abs(expected * values - 1) < 0.2)


def test_momentum_is_kept_at_unit_temperature(sampled):
    _, size, x, memory = sampled
    if not jax.tree.leaves(memory):
        pytest.skip("no momentum")
    momentum = np.asarray(memory)[:, 3:].reshape(-1, 2)
    assert np.all(np.abs(momentum.var(axis=0) - 1) < 4 * np.sqrt(2 / len(momentum)))
    # positions are half a step ahead of the momenta that they are kept with
    assert np.all(np.abs(np.mean(momentum * (x - CENTRE), axis=0) - size / 2) < 6 / np.sqrt(len(x)))


def test_momentum_saves_steps_where_directions_differ_in_stiffness():
    rest = {
        name: kernel().relaxation_steps(kernel().step_size(200.0))
        for name, kernel in KERNELS.items()
    }
    assert rest["sghmc"] < 0.1 * rest["sgld"]
