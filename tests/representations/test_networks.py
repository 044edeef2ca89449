"""Networks of every kind stand for the field, with the constraints a user asked for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.posing import networks

pytestmark = pytest.mark.usefixtures("x64")

T = np.linspace(0, 2, 9)


def posed(**changes) -> fd.Problem:
    given = {
        "equation": None,
        "domain": fd.Box(t=(0, 2)),
        "observations": [fd.Observed("u", x=[0.0, 2.0], y=[1.0, 3.0], noise=fd.Gaussian(0.1))],
        "network": fd.MLP((6, 5)),
    }
    return fd.Problem(**{**given, **changes})


def fields(problem: fd.Problem, x=T, seeds=range(3)) -> np.ndarray:
    """All outputs for several random networks: (network, point, output)."""
    model = bind(problem)
    points = problem.domain.points(x)
    return np.stack(
        [np.asarray(model.evaluate(3 * model.init(jax.random.key(s)), points)) for s in seeds]
    )


ACTIVATIONS = {
    "tanh": (networks.tanh, np.tanh),
    "sin": (networks.sin, np.sin),
    "gelu": (
        networks.gelu,
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "swish": (networks.swish, lambda x: x / (1 + np.exp(-x))),
    "softplus(5)": (networks.softplus(beta=5.0), lambda x: np.log1p(np.exp(5 * x)) / 5),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_the_functions_they_are_named_after(name):
    activation, expected = ACTIVATIONS[name]
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(activation(jnp.asarray(x)), expected(x), rtol=1e-9, atol=1e-12)
    values = fields(posed(network=fd.MLP((4,), activation=activation)))
    assert np.isfinite(values).all()
    assert np.std(values[0]) > 1e-3, "the network bends over the domain"


def test_chains_start_from_different_networks():
    values = fields(posed())
    assert np.abs(values[0] - values[1]).max() > 1e-3


def test_positive_outputs_are_positive_for_any_parameters():
    values = fields(posed(outputs={"u": fd.Output(positive=True)}), seeds=range(10))
    assert (values > 0).all()
    assert (fields(posed(), seeds=range(10)) < 0).any(), "which a plain output is not"


def test_outputs_are_named_and_scaled_each_by_its_own_data():
    observations = [
        fd.Observed("small", x=T, y=1e-6 * T, noise=fd.Gaussian(1e-7)),
        fd.Observed("large", x=T, y=1e6 * T, noise=fd.Gaussian(1e5)),
    ]
    problem = posed(outputs=("small", "large"), observations=observations)
    model = bind(problem)
    theta = model.init(jax.random.key(0))
    field = model.field(theta)
    values = np.asarray(model.evaluate(theta, problem.domain.points(T)))
    assert field.outputs == ("small", "large")
    assert float(field.large(0.5)) == float(field(0.5)[1])
    size = np.abs(values).max(axis=0)
    assert 1e-8 < size[0] < 1e-5
    assert 1e4 < size[1] < 1e7


def test_a_stated_scale_is_used_where_there_are_no_data():
    def spread(scale):
        problem = posed(
            outputs={"u": fd.Output(), "hidden": fd.Output(scale=scale)},
            observations=[fd.Observed("u", x=[0.0], y=[1.0], noise=fd.Gaussian(0.1))],
        )
        return np.abs(fields(problem)[..., 1]).max()

    assert spread(1e4) == pytest.approx(1e4 * spread(1.0), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_hard_constraint_holds_exactly_for_any_parameters(seed):
    problem = posed(constraint=lambda u, t, p: 1.5 + t * u)
    model = bind(problem)
    theta = 10 * model.init(jax.random.key(seed))
    assert float(model.field(theta)(0.0)) == 1.5
    assert float(model.field(theta)(1.0)) != 1.5


def test_a_hard_constraint_of_a_system_may_use_the_unknowns():
    problem = posed(
        outputs=("a", "b"),
        unknowns={"k": fd.Real(2.0)},
        observations=[fd.Observed("a", x=[1.0], y=[1.0], noise=fd.Gaussian(0.1))],
        constraint=lambda u, t, p: {"a": p["k"] + t * u["a"], "b": u["b"]},
    )
    model = bind(problem)
    for seed in range(3):
        theta = model.init(jax.random.key(seed))  # the unknown is at its guess
        assert float(model.field(theta).a(0.0)) == pytest.approx(2.0, rel=1e-12)


class Wavy(eqx.Module):
    """A user's own module, with a setting that is not a parameter."""

    amplitude: jax.Array
    frequency: float = eqx.field(static=True)

    def __call__(self, x):
        return self.amplitude * jnp.sin(self.frequency * x)


def test_a_users_own_module_is_the_field():
    problem = posed(
        network=Wavy(jnp.asarray([2.0]), 1.5),
        observations=[fd.Observed("u", x=[0.0, 2.0], y=[-1.0, 1.0], noise=fd.Gaussian(0.1))],
    )
    model = bind(problem)
    assert model.size == 1
    # inputs arrive on [-3, 3], outputs in units of the data's reach
    found = np.asarray(model.evaluate(model.init(jax.random.key(0)), problem.domain.points(T)))[
        :, 0
    ]
    np.testing.assert_allclose(found, 2 * np.sin(1.5 * (3 * T - 3)), rtol=1e-9, atol=1e-12)


def test_a_users_own_recipe_starts_each_chain_apart():
    class Recipe(eqx.Module):
        def build(self, n_in, n_out, *, key):
            return eqx.nn.MLP(n_in, n_out, 4, 1, key=key)

    values = fields(posed(network=Recipe()))
    assert np.abs(values[0] - values[1]).max() > 1e-3


def test_wrong_networks_are_refused():
    with pytest.raises(ValueError, match="at least one hidden layer"):
        fd.MLP(())
    with pytest.raises(TypeError, match="tanh"):
        fd.MLP((5,), activation="tanh")
    with pytest.raises(TypeError, match="Equinox module"):
        posed(network="deep")
    with pytest.raises(ValueError, match="vector of 2 outputs"):
        bind(posed(network=Wavy(jnp.asarray([2.0]), 1.5), outputs=("u", "v")))


def test_inputs_and_outputs_are_scaled_from_domain_and_data():
    """The same network seen through other units is the same function."""
    wide = posed(
        domain=fd.Box(t=(0, 2000)),
        observations=[fd.Observed("u", x=[0.0, 2000.0], y=[1e-6, 3e-6], noise=fd.Gaussian(1e-7))],
    )
    np.testing.assert_allclose(fields(wide, 1000 * T), 1e-6 * fields(posed()), rtol=1e-9)
