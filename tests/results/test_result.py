"""The result: numbers that agree with NumPy's, at any point, before and after
saving.
"""

import json

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, Phase, given, settings

import fiducial as fd
from helpers import TINY, decay, made_up


def theta_draws(result: fd.Result) -> np.ndarray:
    theta = result.draws["theta"].values
    return theta.reshape(-1, theta.shape[-1])


def field_draws(result: fd.Result, x: np.ndarray) -> np.ndarray:
    """The first output for every draw, straight from the model: (draw, point)."""
    with jax.enable_x64(True):
        points = result.problem.domain.points(x)
        return np.asarray(
            jax.vmap(lambda t: result.model.evaluate(t, points)[:, 0])(
                jnp.asarray(theta_draws(result))
            )
        )


@pytest.fixture(scope="module")
def drawn() -> fd.Result:
    """2 chains of 300 draws of an untrained network, an unknown and a noise size."""
    return made_up(
        decay(noise=fd.Gaussian(), network=TINY, units={"t": "s", "k": "1/s"}),
        draws=300,
        errors=True,
    )


def test_band_is_the_mean_and_the_quantiles_of_the_draws(drawn):
    x = np.array([0.0, 0.123, 1.9])
    values = field_draws(drawn, x)
    for level in (0.5, 0.95):
        band = drawn.band(x, level=level).sel(output="u")
        np.testing.assert_allclose(band["mean"], values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(band["sd"], values.std(axis=0, ddof=1), rtol=1e-12)
        # (n + 1) q is the rank with the right expected coverage; at n = 600 the rules
        # differ by less than one order statistic
        ranks = np.sort(values, axis=0)
        low, high = (601 * (1 - level) / 2, 601 * (1 + level) / 2)
        for bound, rank in (("lower", low), ("upper", high)):
            k = int(rank)
            expected = ranks[k - 1] + (rank - k) * (ranks[k] - ranks[k - 1])
            np.testing.assert_allclose(band[bound], expected, rtol=1e-9)


def test_intervals_of_fresh_draws_cover_a_fresh_draw_at_their_level():
    """The rank rule is honest for few draws as well: P(new draw inside) = level
    exactly.
    """
    from fiducial.results.intervals import summarise_draws

    random = np.random.default_rng(0)
    values = random.standard_normal((40, 20_000))
    stats = summarise_draws(values[0], values[1:], 0.9)
    inside = np.mean((stats["lower"] <= values[0]) & (values[0] <= stats["upper"]))
    assert abs(inside - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 20_000)


def test_parameters_are_the_quantiles_of_the_draws_with_truth_and_unit(drawn):
    table = drawn.parameters(level=0.8)
    assert list(table.index) == ["k", "sd_u"]
    k = drawn.draws["k"].values.ravel()
    np.testing.assert_allclose(
        table.loc["k", ["mean", "sd"]].astype(float), [k.mean(), k.std(ddof=1)]
    )
    np.testing.assert_allclose(
        table.loc["k", ["lower", "upper"]].astype(float),
        np.quantile(k, [0.1, 0.9], method="weibull"),
    )
    assert table.loc["k", "truth"] == 1.3
    assert table.loc["k", "unit"] == "1/s"
    with jax.enable_x64(True):
        again = [float(drawn.model.unknowns(t)["k"]) for t in theta_draws(drawn)[:5]]
    np.testing.assert_allclose(k[:5], again)


def test_vector_unknowns_have_a_row_for_each_component():
    problem = decay(
        equation=lambda u, t, p: fd.derivative(u, t) + p["c"][0] * u(t) + p["c"][1],
        unknowns={"c": fd.Real([1.0, 0.0])},
        network=TINY,
        truth=None,
    )
    result = made_up(problem)
    table = result.parameters()
    assert list(table.index) == ["c[0]", "c[1]"]
    np.testing.assert_allclose(table["mean"], result.draws["c"].values.mean(axis=(0, 1)))
    assert table["truth"].isna().all()


def test_prediction_is_wider_than_the_band_by_the_noise():
    """Variances add: sd of a new measurement^2 = sd of the field^2 + noise^2, to
    Monte-Carlo error.
    """
    result = made_up(decay(noise=fd.Gaussian(sd=0.7), network=TINY), draws=4000)
    x = np.linspace(0, 2, 5)
    band, new = result.band(x), result.predict(x)
    assert new.attrs["kind"] == "prediction"
    assert np.all(new["sd"] > band["sd"])
    # a sample variance of 8,000 draws has relative error sqrt(2 / 8000) = 1.6 %; the
    # field's own is common to both
    np.testing.assert_allclose(new["sd"] ** 2 - band["sd"] ** 2, 0.49, rtol=0.1)


def test_prediction_uses_each_outputs_own_noise():
    """Observations listed in another order than the outputs must not swap their
    noise.
    """
    t = np.linspace(0, 1, 3)
    problem = fd.Problem(
        equation=None,
        domain=fd.Box(t=(0, 1)),
        outputs=("a", "b"),
        observations=[
            fd.Observed("b", x=t, y=t, noise=fd.Gaussian(sd=100.0)),
            fd.Observed("a", x=t, y=t, noise=fd.Gaussian(sd=0.001)),
        ],
        network=TINY,
    )
    result = made_up(problem, draws=100)
    added = (result.predict(t)["sd"] ** 2 - result.band(t)["sd"] ** 2).sel(output="b")
    np.testing.assert_allclose(
        added, 100.0**2, rtol=0.6
    )  # 200 draws: relative error 10 %; swapped it would be 1e-6
    assert (
        np.abs(result.predict(t).sel(output="a")["sd"] / result.band(t).sel(output="a")["sd"] - 1)
        < 0.1
    ).all()


def test_prediction_where_the_noise_is_not_known_is_refused():
    """sd was given per observation: it says nothing of other points, not even of as
    many of them.
    """
    result = made_up(decay(noise=fd.Gaussian(sd=np.linspace(0.01, 1.0, 12)), network=TINY))
    for n in (5, 12):
        with pytest.raises(ValueError, match="per observation"):
            result.predict(np.linspace(0, 1, n))
    with pytest.raises(ValueError, match="use band"):
        made_up(decay(observations=[fd.Observed("u", x=[0.0], y=[1.0])], network=TINY)).predict(
            [0.5]
        )


def test_heteroscedastic_prediction_follows_h():
    result = made_up(
        decay(noise=fd.Gaussian(sd=2.0, h=lambda t: 1 + 3 * t), network=TINY), draws=2000
    )
    x = np.array([0.1, 1.9])
    added = (result.predict(x)["sd"] ** 2 - result.band(x)["sd"] ** 2).values[0]
    np.testing.assert_allclose(
        added, (2 * (1 + 3 * x)) ** 2, rtol=0.15
    )  # 4,000 draws: 2.2 % each, and the cross term


def test_band_is_valid_at_any_point_and_by_default_on_a_grid(drawn):
    whole = drawn.band()
    assert whole.sizes["point"] >= 100
    one = drawn.band(float(whole["t"][37]))
    np.testing.assert_allclose(one["upper"].values[:, 0], whole["upper"].values[:, 37], rtol=1e-9)
    assert whole["t"].attrs["units"] == "s"
    assert whole.attrs["level"] == 0.95
    assert whole.attrs["kind"] == "confidence"
    with pytest.raises(ValueError, match="outside"):
        drawn.band([3.0])
    with pytest.raises(ValueError, match="level=95"):
        drawn.band([0.1], level=95)


def test_draws_and_errors_are_shaped_chain_draw(drawn):
    assert drawn.draws["k"].dims == ("chain", "draw")
    assert drawn.draws["k"].shape == (2, 300)
    assert drawn.draws["theta"].shape[:2] == (2, 300)
    assert drawn.tree["errors"]["u"].shape == (2, 300, 12)


def assert_same_result(a: fd.Result, b: fd.Result) -> None:
    assert a.tree.identical(b.tree)
    xr.testing.assert_identical(a.band(level=0.9), b.band(level=0.9))
    assert a.parameters().equals(b.parameters())
    assert (a.status, a.seed, a.method, a.seconds, a.no_interval) == (
        b.status,
        b.seed,
        b.method,
        b.seconds,
        b.no_interval,
    )


@pytest.mark.slow
def test_a_catalogue_problem_is_loaded_by_name(tmp_path):
    result = made_up(fd.problem("poisson", sd=0.1, n_f=20))
    path = result.save(tmp_path / "new" / "run.nc")
    again = fd.load(path)
    assert again.problem.options["sd"] == 0.1
    assert_same_result(result, again)


def test_a_folder_of_a_run_can_be_loaded(tmp_path):
    made_up(fd.problem("poisson", n_f=20)).save(tmp_path / "result.nc")
    assert fd.load(tmp_path).method == "drawn"


@pytest.mark.slow
def test_a_users_problem_is_loaded_by_giving_it(tmp_path, decay_fit):
    path = decay_fit.save(tmp_path / "run.nc")
    assert_same_result(decay_fit, fd.load(path, problem=decay_fit.problem))
    with pytest.raises(ValueError, match=r"problem of your own, 'decay'.*problem="):
        fd.load(path)


def test_a_comparison_leaves_the_result_as_it_was(drawn):
    """The diagnosis against another result is another diagnosis, not a change of this one."""
    other = made_up(drawn.problem, draws=300, seed=1)
    summary, text, tree = drawn.summary(), repr(drawn), drawn.tree.copy(deep=True)
    compared = drawn.diagnose(against=[other])
    assert len(compared.checks) == len(drawn.diagnose().checks) + 1
    assert "difference from drawn" in compared.checks[-1].name
    assert drawn.summary(diagnosis=compared)["diagnosis"] != summary["diagnosis"]
    assert drawn.summary() == summary
    assert repr(drawn) == text
    assert drawn.tree.identical(tree)


def test_a_summary_does_not_depend_on_what_was_asked_before(drawn):
    """A fresh object over the same tree gives the same answer in any order of questions."""
    fresh = fd.Result(drawn.tree, drawn.problem)
    first = fresh.summary()
    drawn.plot()
    drawn.predict([0.5], level=0.5)
    assert drawn.summary() == first == fresh.summary()


def test_save_overwrites_nothing(tmp_path, decay_fit):
    path = tmp_path / "run.nc"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"run\.nc"):
        decay_fit.save(path)
    assert path.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "observations of 'u'"),
        ({"network": fd.MLP((9,))}, "network"),
        ({"observations": [fd.Observed("u", x=[0.0], y=[1.0])]}, "observations"),
    ],
    ids=["data", "network", "groups"],
)
def test_loading_with_another_problem_is_refused(tmp_path, changes, message):
    path = made_up(decay(network=TINY)).save(tmp_path / "run.nc")
    with pytest.raises(ValueError, match=message):
        fd.load(path, problem=decay(**{"network": TINY, **changes}))


def test_loading_with_observations_at_other_points_is_refused(tmp_path):
    """The same values measured elsewhere are another problem."""
    here = decay(network=TINY)
    path = made_up(here).save(tmp_path / "run.nc")
    group = here.groups[0]
    moved = here.replace(
        observations=[
            fd.Observed("u", x=group.points.array[::-1], y=group.y, noise=group.noise),
            here.observations[1],
        ]
    )
    with pytest.raises(ValueError, match="u"):
        fd.load(path, problem=moved)


def test_a_changed_catalogue_problem_is_not_silently_replaced_by_the_original(tmp_path):
    """The same size of network, another activation: rebuilding by name would give
    another field.
    """
    changed = fd.problem("poisson", n_f=20).replace(
        network=fd.MLP((50, 50), activation=fd.networks.sin)
    )
    result = made_up(changed, draws=5)
    path = result.save(tmp_path / "run.nc")
    with pytest.raises(ValueError, match="problem="):
        fd.load(path)
    assert_same_result(result, fd.load(path, problem=changed))


@pytest.mark.parametrize("name", ["theta", "chain", "draw", "sd_u"])
def test_an_unknown_may_have_any_name_or_is_refused_at_once(name):
    """Names that the tree uses itself must not swallow an unknown."""

    def pose():
        def equation(u, t, p):
            return fd.derivative(u, t) + p[name] * u(t)

        return decay(
            noise=fd.Gaussian(),
            equation=equation,
            unknowns={name: fd.Positive(2.0)},
            network=TINY,
            truth=None,
        )

    try:
        problem = pose()
    except ValueError:
        with pytest.raises(ValueError, match=name):
            pose()
        return
    result = made_up(problem, draws=None)
    assert result.parameters().loc[name, "estimate"] == pytest.approx(2.0)


# -- random valid problems round-trip
# ---------------------------------------------------------

_NAMES = ["x", "t", "y"]


@st.composite
def random_problems(draw) -> fd.Problem:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = _NAMES[: draw(st.integers(1, 3))]
    box = {}
    for name in names:
        low = draw(st.sampled_from([-3.0, 0.0, 1e-6, 500.0]))
        box[name] = (low, low + draw(st.sampled_from([1e-6, 1.0, 1000.0])))
    domain = fd.Box(**box)
    outputs = {
        n: fd.Output(positive=draw(st.booleans()))
        for n in ["u", "prey", "predator"][: draw(st.integers(1, 3))]
    }
    kinds = [
        lambda: fd.Real(float(random.normal())),
        lambda: fd.Real(random.normal(size=3).tolist()),
        lambda: fd.Positive(10.0 ** random.uniform(-9, 9)),
        lambda: fd.Interval(-1.0, 3.0, guess=random.uniform(-0.9, 2.9)),
    ]
    unknowns = {
        name: draw(st.sampled_from(kinds))()
        for name in ["k", "D_1", "longer name"][: draw(st.integers(0, 3))]
    }

    def points(n: int) -> np.ndarray:
        return domain.lower + (domain.upper - domain.lower) * random.random((n, len(names)))

    size = 10.0 ** draw(st.integers(-6, 6))
    observations = []
    for output in outputs:
        n, replicates = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        y = size * np.abs(random.standard_normal((n, replicates)))
        noises = [
            None,
            fd.Gaussian(),
            fd.Gaussian(sd=0.1 * size),
            fd.Gaussian(sd=size * (0.1 + random.random((n, replicates)))),
            fd.Gaussian(h=lambda at: 2.0),
        ]
        noise = draw(st.sampled_from(noises))
        if noise is None:
            y = y[:, :1]
        observations.append(
            fd.Observed(output, x=points(n), y=y if y.shape[1] > 1 else y[:, 0], noise=noise)
        )
    first = next(iter(outputs))
    if draw(st.booleans()):
        observations.append(
            fd.Observed(
                lambda f, at, p: fd.derivative(f[first], at, names[0]),
                x=points(2),
                y=[1.0, 2.0],
                name="slope",
            )
        )

    def equation(f, at, p):
        total = sum(jnp.sum(v) * 0 for v in p.values())
        parts = tuple(fd.derivative(f[o], at, names[0]) + f[o](at) + total for o in outputs)
        return parts if len(parts) > 1 else parts[0]

    return fd.Problem(
        name=draw(st.sampled_from(["mine", "with space", "Füllstand"])),
        equation=draw(st.sampled_from([None, equation])),
        domain=domain,
        unknowns=unknowns,
        outputs=outputs,
        observations=observations,
        collocation=fd.collocation.latin_hypercube(3),
        network=fd.MLP((3,)),
        units={names[0]: "m"},
    )


# every example compiles, so a failing one is shown as found rather than shrunk for
# minutes
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(problem=random_problems(), draws=st.sampled_from([None, 4]), errors=st.booleans())
@pytest.mark.slow
def test_any_valid_problem_survives_saving(tmp_path_factory, problem, draws, errors):
    result = made_up(problem, draws=draws, errors=errors)
    path = result.save(tmp_path_factory.mktemp("saved") / "run.nc")
    again = fd.load(path, problem=problem)
    assert a_tree_is_plain(path)
    assert result.tree.identical(again.tree)
    x = {
        n: (lo + hi) / 2
        for n, lo, hi in zip(
            problem.domain.names, problem.domain.lower, problem.domain.upper, strict=True
        )
    }
    xr.testing.assert_identical(result.band(x), again.band(x))
    assert result.parameters().equals(again.parameters())


def a_tree_is_plain(path) -> bool:
    """Numbers and text only: nothing in the file is a pickle or a Python object."""
    import h5py

    kinds = []
    with h5py.File(path) as file:
        file.visititems(
            lambda name, node: (
                kinds.append(node.dtype.kind) if isinstance(node, h5py.Dataset) else None
            )
        )
    return set(kinds) <= set("fiu")


# -- for people
# -------------------------------------------------------------------------------


def test_summary_can_be_written_as_json(drawn, decay_fit):
    for result in (drawn, decay_fit):
        json.dumps(result.summary(), allow_nan=False)
    assert drawn.summary(level=0.5)["unknowns"]["k"]["upper"] == pytest.approx(
        drawn.parameters(level=0.5).loc["k", "upper"]
    )


def test_summary_measures_the_band_against_the_truth(drawn):
    field = drawn.summary()["field"]["u"]
    band = drawn.band().sel(output="u")
    truth = np.exp(-1.3 * band["t"].values)
    assert field["mean_width"] == pytest.approx(float((band.upper - band.lower).mean()))
    assert field["coverage"] == pytest.approx(
        float(np.mean((band.lower.values <= truth) & (truth <= band.upper.values)))
    )
    assert field["mse"] == pytest.approx(
        float(np.mean((band["mean"].values - truth) ** 2)), rel=1e-12
    )


def test_text_and_html_tell_the_answer_and_the_verdict(decay_fit):
    for text in (repr(decay_fit), decay_fit._repr_html_()):
        assert "decay" in text
        assert "sd_u" in text
        assert "caution" in text
    assert "<table" in decay_fit._repr_html_()
    assert "point estimate" in repr(decay_fit)


def test_figures_show_band_data_and_units(drawn):
    figure = drawn.plot()
    axis = figure.axes[0]
    assert axis.get_xlabel() == "t (s)"
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert {"95 % band", "solution", "truth", "data", "exact"} <= set(labels)


def test_arviz_reads_the_draws(drawn):
    az = pytest.importorskip("arviz")
    data = drawn.to_arviz()
    table = az.summary(data)
    assert set(table.index) == {"k", "sd_u"}
    np.testing.assert_allclose(table.loc["k", "mean"], drawn.draws["k"].values.mean(), atol=1e-3)


def test_a_point_estimate_has_nothing_for_arviz(decay_fit):
    with pytest.raises(ValueError, match="point estimate"):
        decay_fit.to_arviz()


@pytest.mark.parametrize("width", [10, 20])
@pytest.mark.slow
def test_sizes_of_errors_are_estimated_by_their_draws(width):
    """A fit of 31 weights to 40 data, and one of more weights than data, which
    leaves the size as it was guessed.
    """
    x = np.linspace(0, 1, 40)
    y = np.sin(5 * x) + 0.3 * np.random.default_rng(0).standard_normal(40)
    observed = fd.Observed("u", x=x, y=y, noise=fd.Gaussian())
    problem = fd.Problem(
        equation=None, domain=fd.Box(x=(0, 1)), network=fd.MLP((width,)), observations=[observed]
    )
    size = (
        fd.fit(problem, fd.EFIDirect(draws=200), seed=0, multistart=False).parameters().loc["sd_u"]
    )
    assert size["lower"] < size["estimate"] < size["upper"]
