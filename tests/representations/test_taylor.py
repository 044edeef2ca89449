"""Local Taylor polynomials against nested derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.posing.collocation import latin_hypercube
from fiducial.posing.networks import gelu, sin, softplus, swish, tanh
from fiducial.representations.derivatives_used import all_indices
from fiducial.representations.taylor import compose, coordinate_series, derivative_at


def used(quantity, domain=None, **more):
    """What a quantity observed of a field uses."""
    box = domain or fd.Box(x=(0, 1))
    x = {name: np.linspace(0.1, 0.9, 7) for name in box.names}
    seen = fd.Observed(
        quantity,
        x=x if len(box.names) > 1 else x[box.names[0]],
        y=np.zeros(7),
        noise=fd.Gaussian(sd=0.1),
        name="seen",
    )
    problem = fd.Problem(
        name="trial", equation=None, domain=box, observations=[seen], network=fd.MLP((4,)), **more
    )
    with jax.enable_x64(True):
        return bind(problem).representation.derivatives_used(
            problem.groups[0].quantity, problem.groups[0].sites.array
        )


@pytest.mark.parametrize(
    ("quantity", "highest"),
    [
        (lambda u, x, p: u(x) ** 2, 0),
        (lambda u, x, p: fd.derivative(u, x) * u(x), 1),
        (lambda u, x, p: fd.derivative(lambda x: x * fd.derivative(u, x), x), 2),
        (lambda u, x, p: fd.derivative(u, x, order=4), 4),
        (lambda u, x, p: jnp.where(x > 0.5, fd.derivative(u, x, order=2), u(x)), 2),
        (lambda u, x, p: jnp.where(u(x) > 1e6, fd.derivative(u, x, order=2), u(x)), 2),
        (lambda u, x, p: jnp.log1p(u(x)) + fd.derivative(u, x), 1),
    ],
)
def test_the_highest_derivative_is_found(quantity, highest):
    assert used(quantity) == tuple((k,) for k in range(highest + 1))


@pytest.mark.parametrize(
    "quantity",
    [
        lambda u, x, p: u(x) - u(x / 2),
        lambda u, x, p: jnp.mean(jax.vmap(u)(jnp.linspace(0.0, 1.0, 5))),
        lambda u, x, p: fd.derivative(u, x, order=7),
    ],
)
def test_what_looks_beyond_the_point_is_left_as_it_is(quantity):
    assert used(quantity) is None


def test_only_the_derivatives_in_use_are_carried():
    heat = used(
        lambda u, at, p: fd.derivative(u, at, "t") - fd.derivative(u, at, "x", order=2),
        domain=fd.Box(x=(0, 1), t=(0, 1)),
    )
    assert set(heat) == {(0, 0), (1, 0), (0, 1), (2, 0)}
    mixed = used(lambda u, at, p: fd.derivative(u, at, "x", "t"), domain=fd.Box(x=(0, 1), t=(0, 1)))
    assert set(mixed) == {(0, 0), (1, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize("activation", [tanh, sin, gelu, swish, softplus(beta=5.0)])
@pytest.mark.slow
def test_composition_is_exact_to_fourth_order(activation):
    with jax.enable_x64(True):
        indices = all_indices(2, 4)
        center = jnp.array([0.3, -0.2])
        series = coordinate_series(center, jnp.ones(2), indices)
        plane = {index: jnp.sum(v, keepdims=True) for index, v in series.items()}
        found = compose(activation, plane, indices)

        def direct(at):
            return activation(jnp.sum(at, keepdims=True))

        near, exact = (lambda at: derivative_at((0, 0), None, found, (at[0], at[1]))), direct
        for _ in range(5):
            np.testing.assert_allclose(near(center), exact(center), rtol=1e-9, atol=1e-9)
            near, exact = (jax.jacfwd(f) for f in (near, exact))


def vortex():
    """Two outputs over three coordinates, with fluxes and mixed derivatives."""

    def equation(f, at, p):
        spin = fd.derivative(f.v, at, "x") - fd.derivative(f.u, at, "y")
        return fd.time_derivative(f.u, at) + f.u(at) * spin - p["nu"] * fd.laplacian(
            f.v, at
        ), fd.derivative(lambda at: at.x * f.u(at), at, "x", "y")

    return fd.Problem(
        equation=equation,
        domain=fd.Box(x=(0, 1), y=(-1, 1), t=(0, 2)),
        unknowns={"nu": fd.Positive(0.1)},
        outputs=("u", "v"),
        network=fd.MLP((6, 6)),
        collocation=latin_hypercube(10),
        observations=[
            fd.Observed(
                "u", x={"x": [0.5], "y": [0.0], "t": [1.0]}, y=[0.3], noise=fd.Gaussian(sd=0.1)
            )
        ],
    )


# one of each kind
KINDS = (
    "black-scholes",
    "burgers",
    "lotka-volterra",
    "montroll",
    "poisson-2d",
    "poisson-nonlinear",
    "porous-fkpp",
)
POSED = {name: lambda name=name: fd.problem(name) for name in KINDS} | {"vortex": vortex}


@pytest.mark.parametrize("name", POSED)
@pytest.mark.slow
def test_every_kind_of_problem_is_the_same_by_nested_derivatives(name):
    with jax.enable_x64(True):
        model = bind(POSED[name]())
        theta = model.init(jax.random.key(3))
        p = model.unknowns(theta)
        for g in model.groups:
            some, field = g.sites.array[:: max(1, len(g.sites) // 5)], model.field(theta)
            points = type(g.sites)(g.sites.names, some)
            nested = jax.jit(
                lambda points=points, g=g, field=field: points.map(
                    lambda at: jnp.asarray(g.quantity(field, at, p))
                )
            )()
            here = model.mean(theta, g, points)
            np.testing.assert_allclose(
                here, nested, rtol=1e-9, atol=1e-9 * float(jnp.max(jnp.abs(nested)))
            )
