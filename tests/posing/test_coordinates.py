"""Points in the forms that users have them, and where the equation is laid."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import fiducial as fd
from fiducial.posing import collocation
from fiducial.posing.coordinates import Points

LINE = fd.Box(x=(-1, 3))
PLANE = fd.Box(x=(0, 1), t=(0, 2))


def test_points_on_a_line_in_every_form():
    for x in (
        [0.0, 1.0],
        (0.0, 1.0),
        np.array([0, 1]),
        np.array([[0.0], [1.0]]),
        {"x": [0, 1]},
        pd.DataFrame({"x": [0.0, 1.0]}),
        jnp.array([0.0, 1.0]),
    ):
        assert LINE.points(x).array.tolist() == [[0.0], [1.0]]
    assert LINE.points(2.0).array.tolist() == [[2.0]]


def test_points_in_a_plane_in_every_form():
    expected = [[0.1, 0.0], [0.2, 1.0]]
    frame = pd.DataFrame({"t": [0.0, 1.0], "other": [9.0, 9.0], "x": [0.1, 0.2]})
    for x in (
        expected,
        np.array(expected),
        {"t": [0.0, 1.0], "x": [0.1, 0.2]},
        frame,
        Points(("x", "t"), np.array(expected)),
    ):
        assert PLANE.points(x).array.tolist() == expected
    assert PLANE.points({"x": [0.1, 0.2], "t": 1.5}).array.tolist() == [[0.1, 1.5], [0.2, 1.5]]
    assert PLANE.points([0.1, 0.2]).array.tolist() == [[0.1, 0.2]]


def test_distinct_points_and_where_each_belongs():
    points = PLANE.points([[0.5, 1.0], [0.1, 0.0], [0.5, 1.0], [0.5, 0.0]])
    sites, index = points.distinct()
    assert len(sites) == 3
    np.testing.assert_array_equal(sites.array[index], points.array)


def test_replicates_share_one_site():
    problem = fd.Problem(
        equation=None,
        domain=LINE,
        observations=[
            fd.Observed(
                "u", x=[0.0, 2.0], y=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], noise=fd.Gaussian(1.0)
            )
        ],
    )
    group = problem.groups[0]
    assert len(group.sites) == 2
    assert group.points.array[:, 0].tolist() == [0, 0, 0, 2, 2, 2]
    assert group.y.tolist() == [1, 2, 3, 4, 5, 6]


def test_user_functions_see_a_number_on_a_line_and_names_elsewhere():
    assert LINE.points([1.0, 2.0]).map(lambda x: 2 * x).tolist() == [2.0, 4.0]
    assert PLANE.points([[0.5, 2.0]]).map(lambda at: at.x + 10 * at["t"]).tolist() == [20.5]


@pytest.mark.parametrize(
    ("box", "x", "message"),
    [
        (LINE, [0.0, 5.0], r"point 1 has x = 5, outside Box\(x=\(-1, 3\)\)"),
        (LINE, [0.0, np.nan], "point 1 is not finite"),
        (LINE, [[0.0, 1.0]], "vector of x"),
        (LINE, {"y": [0.0]}, "the coordinates are x, but y"),
        (PLANE, {"x": [0.0]}, "the coordinates are x, t"),
        (PLANE, {"x": [0.0, 1.0], "t": [0.0, 1.0, 2.0]}, "'x' has 2 values, another has 3"),
        (PLANE, [0.1, 0.2, 0.3], "2 columns"),
        (PLANE, [[0.5, -0.5]], "t = -0.5"),
    ],
)
def test_bad_points_are_named(box, x, message):
    with pytest.raises(ValueError, match=message):
        box.points(x)


def test_rounding_at_the_edge_is_forgiven():
    assert len(fd.Box(t=(0, 0.3)).points([0.1 + 0.2])) == 1


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({}, "at least one"),
        ({"x": (1, 0)}, "increasing"),
        ({"x": (0, np.inf)}, "finite"),
        ({"x": 3}, "two numbers"),
        ({"names": (0, 1)}, "'names'"),
    ],
)
def test_bad_boxes_are_refused(ranges, message):
    with pytest.raises(ValueError, match=message):
        fd.Box(**ranges)


RULES = {
    "grid": collocation.grid(7),
    "grid by name": collocation.grid(x=5, t=3),
    "sobol": collocation.sobol(50, seed=1),
    "latin hypercube": collocation.latin_hypercube(50, seed=1),
    "own points": collocation.at_points({"x": [0.1, 0.9], "t": 1.0}),
    "default": collocation.default,
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_lays_points_inside_and_the_same_each_time(rule):
    array = RULES[rule](PLANE)
    assert array.shape[1] == 2
    assert len(PLANE.points(array)) == len(array)
    np.testing.assert_array_equal(array, RULES[rule](PLANE))


def test_rules_fill_the_domain():
    assert collocation.grid(x=5, t=3)(PLANE).shape == (15, 2)
    assert collocation.grid(3)(PLANE)[:, 1].max() == 2
    for rule in (collocation.sobol(64), collocation.latin_hypercube(64)):
        array = rule(PLANE)
        assert array.shape == (64, 2)
        # every eighth of every coordinate has its share
        for column, reach in zip(array.T, (1, 2), strict=True):
            assert np.histogram(column, bins=8, range=(0, reach))[0].tolist() == [8] * 8
    assert not np.array_equal(
        collocation.sobol(64, seed=0)(PLANE), collocation.sobol(64, seed=1)(PLANE)
    )
    assert collocation.sobol(50)(LINE).shape == (50, 1)
    assert collocation.default(LINE).shape == (200, 1)
    assert len(collocation.default(PLANE)) >= 1024


def test_bad_rules_are_refused():
    for rule in (collocation.grid, collocation.sobol, collocation.latin_hypercube):
        with pytest.raises(ValueError, match="at least 1"):
            rule(0)
    with pytest.raises(ValueError, match="x, t"):
        collocation.grid(x=3)(PLANE)
    with pytest.raises(ValueError, match="collocation points"):
        collocation.at_points([[5.0, 0.0]])(PLANE)


def test_the_problem_uses_the_rule_it_was_given():
    def posed(**how):
        return fd.Problem(
            equation=lambda u, x, p: fd.derivative(u, x),
            domain=LINE,
            observations=[fd.Observed("u", x=[0.0], y=[1.0])],
            **how,
        )

    sizes = [
        next(g for g in posed(**how).groups if g.physics).y.size
        for how in ({}, {"collocation": collocation.grid(9)})
    ]
    assert sizes == [200, 9]
