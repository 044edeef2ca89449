"""What every method and every ready problem must do; new ones are found by
themselves.
"""

import dataclasses
import inspect
import json
import threading
from contextlib import contextmanager

import jax
import numpy as np
import pytest

import fiducial as fd
from fiducial import catalogue
from fiducial.model.binding import bind
from fiducial.results.building import build_result
from fiducial.running.checkpoint import Checkpoint
from fiducial.running.driver import Runner
from fiducial.status import Status
from fiducial.studies.simulation import true_means
from helpers import TINY, batch

METHODS = catalogue.methods()
PROBLEMS = catalogue.problems()
every_method = pytest.mark.parametrize("name", METHODS)
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def reduced(name: str, **more) -> fd.AbstractMethod:
    """A method with every number of steps or draws cut down."""
    names = inspect.signature(METHODS[name]).parameters
    few = {p: 6 for p in names if p.endswith("_steps")} | {
        p: 12 for p in names if p.endswith("draws")
    }
    return catalogue.method(name, **few, **more)


def small(name: str) -> fd.Problem:
    """A problem that the method serves: conformal prediction wants measurements at
    many places.
    """
    many = np.linspace(-0.7, 0.7, 20)
    posed = fd.problem("poisson", n_f=15).replace(network=TINY)
    try:
        reduced(name).check(posed)
    except ValueError:
        seen = fd.Observed(
            "u",
            x=many,
            y=np.sin(6 * many) ** 3 + 0.05 * np.cos(99 * many),
            noise=fd.Gaussian(sd=0.05),
        )
        return posed.replace(observations=[seen])
    return posed


class Trial:
    """A reduced method on a batch of three data sets, compiled once."""

    def __init__(self, name: str):
        with jax.enable_x64(True):
            self.method, self.model = reduced(name), bind(small(name))
            self.data, self.runner = batch(self.model, 3), Runner(self.model, self.method)
        self.first = self.answer(seed=5)

    def answer(self, **how):
        with jax.enable_x64(True):
            finished = self.runner.run(self.data, **how)
            return finished, self.method.collect(self.model, self.data, finished.outcome)

    @property
    def result(self) -> fd.Result:
        finished, answer = self.first
        return build_result(self.model, self.method, answer, finished, seed=5)


@pytest.fixture(scope="module")
def trial():
    """One trial of each method."""
    known: dict[str, Trial] = {}

    def get(name: str) -> Trial:
        if name not in known:
            known[name] = Trial(name)
        return known[name]

    return get


@every_method
@pytest.mark.slow
def test_method_gives_an_answer_everywhere(name, trial):
    result = trial(name).result
    assert result.method == name
    assert result.status not in (Status.DIVERGED, Status.RUNNING)  # six steps need not settle
    band = result.band(np.linspace(-0.7, 0.7, 7), level=0.9)
    assert np.isfinite(band["mean"]).all()
    if result.no_interval:
        assert np.isnan(band["lower"]).all()
        assert band.attrs["note"] == result.no_interval
    else:
        assert (band["lower"] < band["upper"]).all()


@every_method
@pytest.mark.slow
def test_summary_is_plain_json(name, trial):
    assert json.loads(json.dumps(trial(name).result.summary(), allow_nan=False))["method"] == name


@every_method
@pytest.mark.slow
def test_method_is_deterministic_and_depends_on_its_seed(name, trial):
    estimate = trial(name).first[1].estimate
    np.testing.assert_array_equal(trial(name).answer(seed=5)[1].estimate, estimate)
    assert not np.array_equal(trial(name).answer(seed=6)[1].estimate, estimate)


@every_method
@pytest.mark.slow
def test_method_answers_a_batch_of_data_sets(name, trial):
    finished, answer = trial(name).first
    assert finished.outcome.status.shape == (3, trial(name).method.chains)
    assert answer.estimate.shape == (3, trial(name).model.size)
    assert all(leaf.shape[0] == 3 for leaf in jax.tree.leaves(answer.draws))
    assert len({row.tobytes() for row in answer.estimate}) == 3, (
        "each data set has random numbers of its own"
    )


@pytest.mark.parametrize("stop", ["in the first chunk", "in the last phase"])
@every_method
@pytest.mark.slow
def test_method_goes_on_where_it_was_stopped(name, stop, trial, tmp_path, monkeypatch):
    where, event = Checkpoint(tmp_path), threading.Event()
    with jax.enable_x64(True):
        last = trial(name).method.phases(trial(name).model)[-1].name

    @contextmanager
    def interrupted():
        yield event

    def report(progress):
        if stop == "in the first chunk" or progress.phase == last:
            event.set()

    with monkeypatch.context() as patched:
        patched.setattr("fiducial.running.driver.catch_interrupt", interrupted)
        with pytest.raises(fd.Interrupted):
            trial(name).answer(seed=5, checkpoint=where, report=report)
    again = trial(name).answer(seed=5, checkpoint=where, resume=True)[1]
    for mine, other in zip(*map(jax.tree.leaves, (again, trial(name).first[1])), strict=True):
        np.testing.assert_array_equal(mine, other)


@every_method
@pytest.mark.slow
def test_a_data_set_that_cannot_be_fitted_is_left_at_that(name, trial):
    """It does not touch the others, and even if there is no other there is an answer
    to read.
    """
    own, good = trial(name), trial(name).data
    try:
        own.data = {
            group: np.where(np.arange(3)[:, None] == 1, np.nan, y) for group, y in good.items()
        }
        finished, answer = own.answer(seed=5)
        for mine, other in zip(
            *map(jax.tree.leaves, (answer.estimate, own.first[1].estimate)), strict=True
        ):
            np.testing.assert_array_equal(mine[[0, 2]], other[[0, 2]])
        np.testing.assert_array_equal(
            finished.outcome.status[[0, 2]], own.first[0].outcome.status[[0, 2]]
        )
        own.data = {group: np.full_like(y, np.nan) for group, y in good.items()}
        lost = own.answer(seed=5)[1]
        assert jax.tree.map(np.shape, lost.draws) == jax.tree.map(np.shape, own.first[1].draws)
    finally:
        own.data = good


@every_method
@pytest.mark.slow
def test_method_survives_saving(name, trial, tmp_path):
    result = trial(name).result
    again = fd.load(result.save(tmp_path / "run.nc"), problem=result.problem)
    assert again.tree.identical(result.tree)


@every_method
def test_method_describes_itself(name):
    cls = METHODS[name]
    assert cls.summary
    assert len(cls.summary.splitlines()) == 1
    assert cls.__doc__
    settings = catalogue.method(name).settings()
    assert set(settings) == set(inspect.signature(cls).parameters)
    assert cls.no_interval is None or len(cls.no_interval) > 20


@every_problem
def test_problem_can_be_made_again_from_its_options(name):
    problem = fd.problem(name)
    assert problem.name == name
    assert set(problem.options) == set(inspect.signature(PROBLEMS[name]).parameters)
    again = fd.problem(name, **problem.options)
    for a, b in zip(problem.groups, again.groups, strict=True):
        assert a.name == b.name
        np.testing.assert_array_equal(a.y, b.y)
        np.testing.assert_array_equal(a.points.array, b.points.array)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in PROBLEMS),
        ("black-scholes", {"unknown": None, "edge": "free", "expiry": "observed"}),
    ],
)
@pytest.mark.slow
def test_problem_agrees_with_its_own_truth(name, options):
    """Exact groups are met by the truth, and noisy ones to within their noise."""
    problem = fd.problem(name, **options)
    if problem.truth is None:
        pytest.skip("no truth stated")
    with jax.enable_x64(True):
        means, scales = true_means(problem), bind(problem).scales
        for group in problem.groups:
            if group.exact:
                np.testing.assert_allclose(
                    means[group.name], group.y, rtol=0, atol=1e-6 * scales[group.name]
                )
            elif not group.noise_unknowns():
                z = np.asarray(group.noise.pull(means[group.name], group.y, group.points, {}))
                assert abs(np.mean(z**2) - 1) < 5 * np.sqrt(2 / z.size)


@every_problem
def test_problem_is_documented(name):
    assert "Arguments:" in (PROBLEMS[name].__doc__ or "")


class Recorder:
    """Stands for facts, and notes which of them are read."""

    def __init__(self, facts):
        self._facts, self.read = facts, set()

    def __getattr__(self, name):
        self.read.add(name)
        return getattr(self._facts, name)


@pytest.mark.slow
def test_every_fact_is_read_by_a_check_or_declared_to_be_known_only(trial):
    read: dict[type, set[str]] = {}
    for name in METHODS:
        facts = trial(name).first[1].facts.of(0)
        recorder = Recorder(facts)
        trial(name).method.judge(recorder, trial(name).model)
        # methods that share a class of facts may each judge a part of them
        read.setdefault(type(facts), set()).update(recorder.read)
        assert set(facts.to_know) <= {f.name for f in dataclasses.fields(facts)}
    for kind, names in read.items():
        unread = {f.name for f in dataclasses.fields(kind)} - names - kind.to_know
        assert not unread, f"{kind.__name__}: no check reads {sorted(unread)}"
        assert not names & kind.to_know, f"{kind.__name__}: {names & kind.to_know} are judged"
