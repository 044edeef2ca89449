"""The scratch assays: the reference without networks against closed forms, and the
networks against the reference.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.problems import _scratch
from fiducial.problems._curve import ExactCurve
from fiducial.problems._lines import Lines
from fiducial.problems._profile import Profile

NODES = np.linspace(0.0, 1.0, 21)


def test_lines_have_the_exact_decay_of_a_wave():
    """On these nodes a cosine decays by a rate that is known in closed form, and
    Runge's steps are exact to their fourth order.
    """
    wave = Lines(
        lambda u, p: p[0], lambda u, p: p[1] * u, lambda x, p: jnp.cos(3 * jnp.pi * x), NODES, 1.0
    )
    rate = 0.02 * 4 / 0.05**2 * np.sin(3 * np.pi * 0.05 / 2) ** 2 - 0.3
    points = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0], [0.5, 2.0]])
    found = wave(points, np.array([[0.02, 0.3], [0.02, 0.3]]))
    np.testing.assert_allclose(
        found, np.tile([1.0, np.exp(-rate), -np.exp(-2 * rate), 0.0], (2, 1)), atol=1e-6
    )


def test_lines_keep_what_flows_and_grow_as_a_logistic():
    """Nothing is lost through the ends whatever the diffusivity, and an even density
    grows as a known curve.
    """
    flow = Lines(
        lambda u, p: 0.1 * u**2,
        lambda u, p: 0.0 * u,
        lambda x, p: 1 + jnp.cos(jnp.pi * x) ** 3,
        NODES,
        2.0,
    )
    u = flow(np.stack([NODES, np.full(21, 3.0)], axis=1), np.zeros((1, 1)))[0]
    assert (u[0] + u[-1]) / 40 + u[1:-1].sum() / 20 == pytest.approx(1.0, abs=1e-10)
    assert np.ptp(u) < 0.5
    growth = Lines(
        lambda u, p: 0.1, lambda u, p: p[0] * u * (1 - u), lambda x, p: 0.2 + 0 * x, NODES, 1.0
    )
    assert growth(np.array([[0.3, 1.5]]), np.array([[1.1]]))[0, 0] == pytest.approx(
        1 / (1 + 4 * np.exp(-1.1 * 1.5)), abs=1e-7
    )


def test_a_profile_has_its_values_and_flat_ends():
    profile, values = Profile(0.5, 2.5, 6), np.array([3.0, 1.0, -2.0, 0.5, 4.0, 1.0])
    np.testing.assert_allclose(profile(profile.knots, values), values, atol=1e-5)
    step = 1e-3
    for end, inward in ((0.5, step), (2.5, -step)):
        near = np.asarray(profile(end + inward * np.arange(2), values), float)
        assert abs(near[1] - near[0]) < 1e-4  # a slope of 1 would be 1e-3


def test_limits_do_not_depend_on_how_a_parameter_is_handled():
    """The fiducial density knows no parameterisation; 100,000 samples place a limit
    to a hundredth of the width.
    """
    problem = fd.problem("logistic")
    data = {"u": problem.groups[0].y}
    exact = problem.exact
    other = ExactCurve(
        exact.curve, exact.x, exact.start, exact.names, "u", sd=exact.sd, positive=("r", "K")
    )
    for name in ("r", "K"):
        (low, high), (lower, upper) = exact(data, (), 0.95)[name], other(data, (), 0.95)[name]
        assert abs(lower - low) < 0.02 * (high - low)
        assert abs(upper - high) < 0.02 * (high - low)


@pytest.mark.slow
def test_the_reference_does_not_depend_on_its_volumes(monkeypatch):
    """Halving them moves D by far less than its standard error, 11 %."""
    coarse = fd.problem("fkpp", cells=16_000)
    data = {"u": coarse.groups[0].y}
    monkeypatch.setattr(_scratch, "_VOLUMES", 4)
    fine = fd.problem("fkpp", cells=16_000)
    for name, value in coarse.exact.estimate(data)[0].items():
        assert fine.exact.estimate(data)[0][name] == pytest.approx(value, rel=2e-3), name


@pytest.mark.extra
def test_networks_agree_with_the_reference(monkeypatch):
    """Least squares to a quarter of a standard error, widths of the linear model to
    a tenth: 2,000 weighted samples know a width to 3 %.
    """
    monkeypatch.setattr(_scratch, "_SAMPLES", 2000)
    problem = fd.problem("fkpp", cells=16_000)
    table = fd.fit(problem, fd.EFILinear(draws=4000), seed=0, multistart=False).parameters()
    data = {"u": problem.groups[0].y}
    (estimate, _), limits = problem.exact.estimate(data), problem.exact(data, (), 0.95)
    for name in ("D", "r", "sd_u"):
        lower, upper = limits[name]
        row = table.loc[name]
        assert abs((row["upper"] - row["lower"]) / (upper - lower) - 1) < 0.1, table
        if name in estimate:
            assert abs(row["estimate"] - estimate[name]) < 0.25 * (upper - lower) / 4, table


@pytest.mark.slow
def test_wells_as_experiments_share_their_constants_only():
    """Each well starts from its own profile, and a start of one moves no other."""
    problem = fd.problem("fkpp", cells=16_000, wells="experiments", n_x=6, n_t=4).replace(
        network=fd.MLP((8,))
    )
    assert list(problem.unknowns) == ["D", "r", "start1", "start2", "start3"]
    _, _, wells = _scratch.measured(16_000)
    knots = Profile(problem.domain.lower[0], problem.domain.upper[0], 8).knots
    points = problem.domain.points({"x": knots, "t": 0.0})
    with jax.enable_x64(True):
        model = bind(problem)
        theta = model.init(jax.random.key(0))
        place, _ = model.locate("start2")
        moved = theta.at[place].add(1.0)
        before, after = (np.asarray(model.evaluate(t, points)) for t in (theta, moved))
        starts = [np.asarray(model.unknowns(theta)[f"start{i}"]) for i in (1, 2, 3)]
    for i, start in enumerate(starts):
        group = next(g for g in problem.groups if g.name == f"u{i + 1}")
        np.testing.assert_array_equal(group.y, wells[:, i])
        np.testing.assert_allclose(before[:, i], start, atol=1e-6)
    np.testing.assert_allclose(
        after - before, 100.0 * np.array([[0.0, 1.0, 0.0]] * 8), atol=1e-6
    )  # in units of 100 cells


@pytest.mark.parametrize("options", [{"knots": 1}, {"wells": "one"}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="fkpp"):
        fd.problem("fkpp", **options)


def test_a_floor_must_be_positive():
    with pytest.raises(ValueError, match="floor"):
        fd.problem("porous-fkpp", floor=0.0)
