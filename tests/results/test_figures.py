"""Pictures show what the numbers say; the parts of a prediction are those of the
exact distribution.
"""

import numpy as np
import pytest
from scipy.stats import norm, t

import fiducial as fd
from fiducial.results.diagnosis import Diagnosis
from fiducial.results.figures import plot
from fiducial.results.slices import cuts
from helpers import TINY, decay, made_up

DRAWS = 20_000


@pytest.fixture(scope="module", params=[True, False], ids=["sd known", "sd unknown"])
def regression(request) -> tuple[fd.Result, bool]:
    return fd.fit(
        fd.problem("linear-regression", told=request.param),
        fd.EFIDirect(draws=DRAWS),
        seed=0,
        multistart=False,
    ), request.param


@pytest.mark.slow
def test_the_parts_of_a_prediction_are_the_exact_ones(regression):
    """Not knowing the line: s^2 h(x), with h(x) the leverage; noise: s^2. With s
    unknown both have the mean RSS / (n - p - 2) of s^2.
    """
    result, told = regression
    at = np.array([0.0, 0.3, 0.5, 0.95])
    group = result.problem.groups[0]
    rows, columns = ((2 * x[:, None] - 1) ** np.arange(5) for x in (group.points.array[:, 0], at))
    fitted = np.linalg.lstsq(rows, group.y, rcond=None)[0]
    leverage = np.sum(columns * np.linalg.solve(rows.T @ rows, columns.T).T, axis=1)
    rss = float(np.sum((group.y - rows @ fitted) ** 2))
    variance = 0.01 if told else rss / 23
    found = result.predict(at).sel(output="u")
    # relative error of a variance of normal draws sqrt(2 / N); with t of 25 degrees of
    # freedom their kurtosis adds 6 / 21
    off = 4 * np.sqrt((2 if told else 2 + 6 / 21) / DRAWS)
    np.testing.assert_allclose(found.sd_solution**2, variance * leverage, rtol=off)
    np.testing.assert_allclose(found.sd_noise**2, variance, rtol=1e-12 if told else off)
    np.testing.assert_allclose(found.sd**2, found.sd_solution**2 + found.sd_noise**2, rtol=1e-12)
    np.testing.assert_allclose(found.sd_solution, result.band(at).sel(output="u").sd, rtol=1e-12)
    # the whole: normal, or Student's t
    spread = np.sqrt((0.01 if told else rss / 25) * (1 + leverage))
    law = norm if told else t(25)
    error = 4 * np.sqrt(0.025 * 0.975 / DRAWS) / law.pdf(law.ppf(0.975)) * spread
    assert np.all(np.abs(found.upper - (columns @ fitted + law.ppf(0.975) * spread)) < error)
    assert np.all(np.abs(found.lower - (columns @ fitted - law.ppf(0.975) * spread)) < error)


@pytest.mark.slow
def test_a_prediction_does_not_depend_on_the_other_points_asked_for(regression):
    result, _ = regression
    many, one = result.predict(np.linspace(0, 1, 11)), result.predict([0.3])
    np.testing.assert_allclose(many.upper.values[:, 3], one.upper.values[:, 0], rtol=1e-9)


def test_the_title_has_the_verdict_that_it_is_given():
    """The figures of a run that was compared with others agree with its summary."""
    result = made_up(decay(network=TINY), draws=20)
    assert result.plot().get_suptitle().endswith(", do not trust")
    assert plot(result, diagnosis=Diagnosis(())).get_suptitle().endswith(", trust")


def test_a_point_estimate_has_no_parts():
    found = made_up(decay(network=TINY), draws=None).predict([0.5])
    assert np.isnan(found.sd_solution).all()
    assert np.isnan(found.sd_noise).all()


def texts(axis) -> list[str]:
    return [str(line.get_label()) for line in axis.lines]


def drawn(axis, label: str) -> np.ndarray:
    """What a line of a panel shows, (2, n)."""
    return np.array(next(line for line in axis.lines if line.get_label() == label).get_data())


def filled(axis, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of a shaded area at the places of the line."""
    (shape,) = (c for c in axis.collections if c.get_label() == label)
    corners = shape.get_paths()[0].vertices
    x = drawn(axis, "solution")[0]
    return tuple(
        np.array([edge(corners[corners[:, 0] == v][:, 1]) for v in x]) for edge in (np.min, np.max)
    )


def panels(figure) -> dict[str, list]:
    """Axes by title, with those of subfigures."""
    found: dict[str, list] = {}
    for axis in figure.axes:
        found.setdefault(axis.get_title(), []).append(axis)
    return found


@pytest.mark.slow
def test_slices_show_the_band_the_truth_and_the_data_of_their_time():
    problem = fd.problem("black-scholes", n_f=20).replace(network=TINY)
    result = made_up(problem, draws=60)
    seen = panels(result.plot())
    assert {"t = 0", "t = 0.5", "t = 1"} <= set(seen)
    for time, count in ((0.0, 50), (0.5, 0)):
        (axis,) = seen[f"t = {time:g}"]
        x = drawn(axis, "solution")[0]
        at = {"S": x, "t": time}
        band, new = result.band(at).sel(output="V"), result.predict(at).sel(output="V")
        np.testing.assert_allclose(drawn(axis, "solution")[1], band["mean"])
        for label, own in (("95 % band", band), ("95 % of new measurements", new)):
            np.testing.assert_allclose(
                filled(axis, label), (own.lower, own.upper), rtol=1e-9, atol=1e-12
            )
        truth = np.array(
            [float(problem.truth.outputs["V"](fd.Point(("S", "t"), (s, time)))) for s in x[::50]]
        )
        np.testing.assert_allclose(drawn(axis, "truth")[1][::50], truth, atol=1e-6)
        assert (drawn(axis, "data").shape[1] if count else "data" in texts(axis)) == count
    np.testing.assert_array_equal(
        np.sort(drawn(seen["t = 0"][0], "data")[1]), np.sort(problem.groups[0].y)
    )


def test_slices_are_where_the_data_are_or_as_asked():
    assert cuts(fd.problem("black-scholes")) == ("t", [0.0, 0.5, 1.0])
    assert cuts(fd.problem("heat")) == ("t", [0.0, 0.25, 0.5, 0.75, 1.0])
    assert cuts(fd.problem("poisson-2d"))[0] == "y"  # no time: the second coordinate
    scattered = fd.Problem(
        equation=None,
        domain=fd.Box(x=(0, 1), t=(0, 4)),
        observations=[
            fd.Observed(
                "u",
                x=np.random.default_rng(0).random((30, 2)),
                y=np.zeros(30),
                noise=fd.Gaussian(1.0),
            )
        ],
        network=TINY,
    )
    assert cuts(scattered) == ("t", [0.0, 2.0, 4.0])
    seen = panels(made_up(scattered, draws=20).plot(slices={"x": [0.25]}))
    assert any(title.startswith("x = 0.25") for title in seen)


@pytest.mark.parametrize(
    "given", [{"z": [0.0]}, {"x": [3.0]}, {"x": []}, {"x": [0.1], "y": [0.1]}, {}]
)
def test_slices_that_cannot_be_cut_are_refused(given):
    with pytest.raises(ValueError, match="slices="):
        made_up(fd.problem("poisson-2d", n_f=20).replace(network=TINY), draws=5).plot(slices=given)


def test_slices_of_a_line_are_refused():
    with pytest.raises(ValueError, match="one coordinate"):
        made_up(decay(network=TINY), draws=5).plot(slices={"t": [0.1]})


@pytest.mark.slow
def test_a_line_shows_the_band_and_the_interval_of_new_measurements(regression):
    result, _ = regression
    left, right = result.plot().axes
    x = drawn(left, "solution")[0]
    band, new = result.band(x).sel(output="u"), result.predict(x).sel(output="u")
    np.testing.assert_allclose(filled(left, "95 % band"), (band.lower, band.upper), rtol=1e-9)
    np.testing.assert_allclose(
        filled(left, "95 % of new measurements"), (new.lower, new.upper), rtol=1e-9
    )
    np.testing.assert_allclose(
        filled(right, "95 % band"),
        (band.lower - band["mean"], band.upper - band["mean"]),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.slow
def test_conformal_draws_and_prints_the_interval_it_has():
    result = fd.fit(fd.problem("linear-regression"), fd.Conformal(), seed=0, multistart=False)
    left, right = result.plot().axes
    x = drawn(left, "solution")[0]
    new = result.predict(x).sel(output="u")
    np.testing.assert_allclose(
        filled(left, "95 % of new measurements"), (new.lower, new.upper), rtol=1e-9
    )
    np.testing.assert_allclose(
        filled(right, "95 % of new measurements"),
        (new.lower - new["mean"], new.upper - new["mean"]),
        rtol=1e-9,
        atol=1e-12,
    )
    assert not [c for c in left.collections if c.get_label() == "95 % band"]
    width = float((result.predict().upper - result.predict().lower).mean())
    assert f"new measurements of u: mean width {width:.4g} of the 95 % interval" in repr(result)
    # at a level for which there are too few measurements there is a picture without it,
    # and the reason
    assert result.plot(level=0.99).axes[0].collections[:] == []
    from fiducial.results.summary import as_text

    assert "no interval of new measurements: level=0.99 needs at least 99" in as_text(result, 0.99)
