"""Derivatives against closed forms, alone and composed."""

import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.posing.coordinates import Point
from fiducial.posing.fields import Field

pytestmark = pytest.mark.usefixtures("x64")

XT = Point(("x", "t"), (0.7, 0.3))
XYZT = Point(("x", "y", "z", "t"), (0.7, -0.4, 0.2, 0.3))


@pytest.mark.parametrize(
    ("order", "expected"),
    [(0, np.sin(2.1)), (1, 3 * np.cos(2.1)), (2, -9 * np.sin(2.1)), (3, -27 * np.cos(2.1))],
)
def test_derivatives_on_a_line_of_any_order(order, expected):
    assert float(fd.derivative(lambda x: jnp.sin(3 * x), 0.7, order=order)) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize(
    ("names", "order", "expected"),
    [
        (("x",), 1, 2 * 0.7 * np.exp(-0.3)),
        (("x",), 2, 2 * np.exp(-0.3)),
        (("x",), 3, 0.0),
        (("t",), 1, -(0.7**2) * np.exp(-0.3)),
        (("x", "t"), 1, -2 * 0.7 * np.exp(-0.3)),
        (("t", "x"), 1, -2 * 0.7 * np.exp(-0.3)),
        (("x", "x", "t"), 1, -2 * np.exp(-0.3)),
        (("x", "t", "t"), 1, 2 * 0.7 * np.exp(-0.3)),
    ],
)
def test_derivatives_by_named_coordinates_plain_and_mixed(names, order, expected):
    found = fd.derivative(lambda at: at.x**2 * jnp.exp(-at.t), XT, *names, order=order)
    assert float(found) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def wave(at):
    return jnp.sin(at.x) * jnp.cos(2 * at.y) * jnp.exp(at.z) * at.t**3


def test_space_operators_leave_time_out():
    sx, cy, ez, t3 = np.sin(0.7), np.cos(-0.8), np.exp(0.2), 0.3**3
    expected = np.array([np.cos(0.7) * cy * ez, sx * -2 * np.sin(-0.8) * ez, sx * cy * ez]) * t3
    np.testing.assert_allclose(fd.gradient(wave, XYZT), expected, rtol=1e-12)
    np.testing.assert_allclose(
        fd.laplacian(wave, XYZT), (-1 - 4 + 1) * sx * cy * ez * t3, rtol=1e-12
    )
    np.testing.assert_allclose(
        fd.time_derivative(wave, XYZT), sx * cy * ez * 3 * 0.3**2, rtol=1e-12
    )
    np.testing.assert_allclose(
        fd.time_derivative(wave, XYZT, order=2), sx * cy * ez * 6 * 0.3, rtol=1e-12
    )
    np.testing.assert_allclose(fd.gradient(wave, XYZT, "y"), expected[1:2], rtol=1e-12)
    np.testing.assert_allclose(fd.laplacian(wave, XYZT, "x", "z"), 0.0, atol=1e-14)


def test_divergence_of_the_gradient_is_the_laplacian():
    found = fd.divergence(lambda at: fd.gradient(wave, at), XYZT)
    np.testing.assert_allclose(found, fd.laplacian(wave, XYZT), rtol=1e-12)


def test_divergence_takes_tuples_and_one_component_on_a_line():
    at = Point(("x", "y"), (2.0, 3.0))
    assert float(fd.divergence(lambda at: (at.x**2 * at.y, at.y**3), at)) == pytest.approx(
        2 * 2 * 3 + 3 * 9
    )
    assert float(fd.divergence(lambda x: x**3, 2.0)) == pytest.approx(12.0)
    assert float(fd.divergence(lambda at: at.x**2, XT)) == pytest.approx(1.4)


def test_a_flux_inside_a_derivative_reads_like_the_mathematics():
    """(D u^m u_x)_x for u = x^2 t: D t^(m+1) (2 x^(2m+1))_x."""
    D, m = 0.3, 2

    def u(at):
        return at.x**2 * at.t

    def flux(at):
        return D * u(at) ** m * fd.derivative(u, at, "x")

    expected = D * 0.3 ** (m + 1) * 2 * (2 * m + 1) * 0.7 ** (2 * m)
    assert float(fd.derivative(flux, XT, "x")) == pytest.approx(expected, rel=1e-12)


def test_operators_take_fields_and_their_outputs():
    field = Field(lambda row: jnp.stack([row[0] ** 2, row[0] * row[1]]), ("x", "t"), ("a", "b"))
    assert float(fd.derivative(field.a, XT, "x")) == pytest.approx(1.4)
    assert float(fd.derivative(field["b"], XT, "x", "t")) == pytest.approx(1.0)
    np.testing.assert_allclose(fd.derivative(field, XT, "x"), [1.4, 0.3], rtol=1e-12)
    single = Field(lambda row: row**3, ("t",), ("u",))
    assert float(fd.derivative(single, 2.0, "t")) == pytest.approx(12.0)
    assert float(fd.time_derivative(single, 2.0)) == pytest.approx(12.0)
    assert float(fd.derivative(single, 2, order=2)) == pytest.approx(
        12.0
    )  # a whole number as the point


def test_mistakes_name_the_coordinates():
    with pytest.raises(KeyError, match=r"no coordinate 'z'.*x, t"):
        fd.derivative(lambda at: at.x, XT, "z")
    with pytest.raises(TypeError, match="one of the coordinates x, t"):
        fd.derivative(lambda at: at.x, XT)
    with pytest.raises(KeyError, match="no coordinate 'x'"):
        fd.derivative(Field(lambda row: row, ("t",), ("u",)), 1.0, "x")
    with pytest.raises(ValueError, match="order=-1"):
        fd.derivative(lambda x: x, 1.0, order=-1)
    with pytest.raises(ValueError, match="repeated mixed"):
        fd.derivative(lambda at: at.x, XT, "x", "t", order=2)
    with pytest.raises(ValueError, match=r"3 components.*2 coordinates"):
        fd.divergence(lambda at: (at.x, at.y, at.x), Point(("x", "y"), (1.0, 1.0)))
    with pytest.raises(KeyError, match="called t or time"):
        fd.time_derivative(lambda at: at.x, Point(("x", "y"), (1.0, 1.0)))
    with pytest.raises(KeyError, match="no coordinate 'z'"):
        fd.laplacian(lambda at: at.x, XT, "z")


def test_names_of_a_field_are_checked():
    field = Field(lambda row: jnp.stack([row[0], row[1]]), ("x", "t"), ("a", "b"))
    with pytest.raises(AttributeError, match=r"no output 'c'.*a, b"):
        field.c  # noqa: B018
    with pytest.raises(KeyError, match="no output 'c'"):
        field["c"]
    with pytest.raises(TypeError, match=r"at\.replace"):
        field.a(0.5)
    with pytest.raises(AttributeError, match="no coordinate 'y'"):
        XT.y  # noqa: B018
