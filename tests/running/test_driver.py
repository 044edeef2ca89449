"""The loop: the same bits for the same seed, one compilation, and runs that go on
after any stop.
"""

import os
import signal
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.phases.direct_draws import DirectDraws
from fiducial.phases.levenberg_marquardt import LevenbergMarquardt
from fiducial.running import compiled, driver, lanes, phase_program
from fiducial.running.checkpoint import Checkpoint
from fiducial.running.compiled import Compiled
from fiducial.running.driver import Interrupted, Runner
from fiducial.running.threads import factors_batches, one_thread
from fiducial.status import Status
from helpers import TINY, batch, decay

pytestmark = pytest.mark.slow

METHOD = fd.PINN(adam_steps=40, lm_steps=20, chains=2)


class Stop(Exception):  # noqa: N818 - not an error
    """Stands for a power cut right after a chunk was stored."""


def tiny(**changes) -> fd.Problem:
    return decay(network=TINY, **changes)


@pytest.fixture(scope="module")
def runner():
    """A driver that has compiled its phases for the other tests."""
    with jax.enable_x64(True):
        return Runner(bind(tiny()), METHOD)


def go(runner, *, seed=0, **how):
    """One run on two data sets."""
    with jax.enable_x64(True):
        return runner.run(batch(runner.model, 2), seed=seed, **how)


def on_an_accelerator(monkeypatch):
    """Run all lanes in one program, as there."""
    for module in (lanes, phase_program, driver):
        monkeypatch.setattr(module, "one_lane_per_core", lambda: False)


def another(problem=None, method=METHOD) -> Runner:
    """A driver with nothing compiled yet, as in a new process."""
    with jax.enable_x64(True):
        return Runner(bind(problem or tiny()), method)


@pytest.fixture(scope="module")
def whole(runner):
    """The run that was never stopped, with the number of its chunks."""
    chunks = []
    return go(runner, report=chunks.append).outcome, len(chunks)


def stop_after(chunks: int, how=None):
    """A reporter that ends the run after so many chunks."""
    seen = []

    def report(progress):
        seen.append(progress)
        if len(seen) == chunks:
            if how is None:
                raise Stop
            how()

    return report


def assert_same_bits(found, expected) -> None:
    pairs = [jax.tree.leaves((o.state, o.trace, o.draws)) for o in (found, expected)]
    for a, b in zip(*pairs, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(found.status, expected.status)


def stopped_run(runner, folder, chunks: int) -> Checkpoint:
    checkpoint = Checkpoint(folder)
    with pytest.raises(Stop):
        go(runner, checkpoint=checkpoint, report=stop_after(chunks))
    return checkpoint


def test_the_same_seed_gives_the_same_bits(whole):
    assert_same_bits(go(another()).outcome, whole[0])


def test_another_seed_gives_another_start(runner, whole):
    assert np.abs(go(runner, seed=1).outcome.state.theta - whole[0].state.theta).max() > 1e-3


def test_a_checkpoint_changes_nothing(runner, whole, tmp_path):
    assert_same_bits(go(runner, checkpoint=Checkpoint(tmp_path / "c")).outcome, whole[0])


def test_each_phase_is_compiled_once_for_all_its_chunks():
    compilations, counts = [], []

    def listen(event, seconds, **_):
        if "backend_compile" in event:
            compilations.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    go(another(), report=lambda progress: counts.append((progress.phase, len(compilations))))
    assert compilations, "the listener hears of compilations"
    for phase in ("adam", "lm"):
        own = [count for name, count in counts if name == phase]
        assert len(own) >= 5
        assert len(set(own)) == 1, f"chunks after the first of {phase} compiled something"


@pytest.mark.parametrize(
    "where", ["first chunk", "middle of a phase", "end of a phase", "second phase"]
)
def test_a_resumed_run_is_the_same_to_the_last_bit(runner, whole, tmp_path, where):
    chunks = {"first chunk": 1, "middle of a phase": 7, "end of a phase": 20, "second phase": 24}[
        where
    ]
    assert chunks < whole[1]
    checkpoint = stopped_run(runner, tmp_path / "c", chunks)
    later = []
    fresh = another() if where == "second phase" else runner
    resumed = go(fresh, checkpoint=checkpoint, resume=True, report=later.append)
    assert len(later) == whole[1] - chunks, "it goes on from where it stopped"
    assert_same_bits(resumed.outcome, whole[0])


def damage(path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def test_a_damaged_state_is_named_and_the_one_before_used(runner, whole, tmp_path):
    checkpoint = stopped_run(runner, tmp_path / "c", 8)
    newest = max((tmp_path / "c").glob("state-*.npz"))
    damage(newest)
    later = []
    with pytest.warns(UserWarning, match=newest.name):
        resumed = go(runner, checkpoint=checkpoint, resume=True, report=later.append)
    assert len(later) == whole[1] - 7
    assert_same_bits(resumed.outcome, whole[0])


def test_flipped_bytes_are_noticed(runner, whole, tmp_path):
    """Damage that keeps the length of the file, such as a bad block."""
    checkpoint = stopped_run(runner, tmp_path / "c", 8)
    newest = max((tmp_path / "c").glob("state-*.npz"))
    content = bytearray(newest.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 16] = bytes(b ^ 0xFF for b in content[middle : middle + 16])
    newest.write_bytes(bytes(content))
    with pytest.warns(UserWarning, match=newest.name):
        resumed = go(runner, checkpoint=checkpoint, resume=True)
    assert_same_bits(resumed.outcome, whole[0])


def test_damaged_records_are_named_and_computed_again(runner, whole, tmp_path):
    checkpoint = stopped_run(runner, tmp_path / "c", 8)
    damage(tmp_path / "c" / "records-000003.npz")
    with pytest.warns(UserWarning, match="records-000003"):
        resumed = go(runner, checkpoint=checkpoint, resume=True)
    assert_same_bits(resumed.outcome, whole[0])


def test_a_half_written_file_of_a_killed_run_is_ignored(runner, whole, tmp_path):
    checkpoint = stopped_run(runner, tmp_path / "c", 5)
    (tmp_path / "c" / ".state-000006.npz.4242.tmp").write_bytes(b"half")
    assert_same_bits(go(runner, checkpoint=checkpoint, resume=True).outcome, whole[0])


@pytest.mark.parametrize(
    ("culprit", "changes"),
    [
        ("seed", {"seed": 1}),
        ("first", {"first": 2}),
    ],
)
def test_resuming_something_else_is_refused_by_name(runner, tmp_path, culprit, changes):
    checkpoint = stopped_run(runner, tmp_path / "c", 2)
    before = {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()}
    with pytest.raises(ValueError, match=f"different .*{culprit}"):
        go(runner, checkpoint=checkpoint, resume=True, **changes)
    assert {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()} == before, (
        "nothing is lost by the attempt"
    )


def test_resuming_with_other_sizes_of_single_errors_is_refused(tmp_path):
    """The text of the traced program does not show them."""

    def each(sd):
        return another(tiny(noise=fd.Gaussian(sd=np.full(12, sd))))

    checkpoint = stopped_run(each(0.05), tmp_path / "c", 2)
    with pytest.raises(ValueError, match="different problem"):
        go(each(0.06), checkpoint=checkpoint, resume=True)
    go(each(0.05), checkpoint=checkpoint, resume=True)


@pytest.mark.parametrize(
    ("culprit", "other"),
    [
        ("problem", lambda: tiny(equation=lambda u, t, p: fd.derivative(u, t) + 2 * p["k"] * u(t))),
        ("problem", lambda: tiny(domain=fd.Box(t=(0, 2.5)))),
        ("problem", lambda: tiny(noise=fd.Gaussian(sd=np.linspace(0.05, 0.06, 12)))),
        ("data", lambda: tiny(seed=4)),
        ("settings", lambda: fd.PINN(adam_steps=41, lm_steps=20, chains=2)),
    ],
    ids=["equation", "domain", "noise", "data", "method"],
)
def test_resuming_with_another_problem_or_method_is_refused_by_name(
    runner, tmp_path, culprit, other
):
    checkpoint = stopped_run(runner, tmp_path / "c", 2)
    changed = other()
    runner = another(changed) if isinstance(changed, fd.Problem) else another(method=changed)
    with pytest.raises(ValueError, match=f"different .*{culprit}"):
        go(runner, checkpoint=checkpoint, resume=True)


def test_ctrl_c_stops_after_the_chunk_and_leaves_a_resumable_run(runner, whole, tmp_path):
    checkpoint = Checkpoint(tmp_path / "c")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted):
        go(
            runner,
            checkpoint=checkpoint,
            report=stop_after(6, lambda: os.kill(os.getpid(), signal.SIGINT)),
        )
    assert signal.getsignal(signal.SIGINT) is before, "Ctrl-C means what it meant before"
    later = []
    assert_same_bits(
        go(runner, checkpoint=checkpoint, resume=True, report=later.append).outcome, whole[0]
    )
    assert whole[1] - 7 <= len(later) <= whole[1] - 6  # Python may see the signal one chunk later


def test_progress_tells_phase_step_and_loss_terms(runner):
    seen = []
    go(runner, report=seen.append)
    assert [p.phase for p in seen] == sorted((p.phase for p in seen), key=["adam", "lm"].index)
    assert seen[0].steps == 40
    assert seen[0].lanes == 4
    assert {"loss", "u", "equation"} <= set(seen[0].info)
    steps = [p.step for p in seen if p.phase == "adam"]
    assert steps == sorted(steps)
    assert steps[-1] == 40


def test_a_step_beyond_the_last_is_not_taken():
    """41 steps in chunks of 3 would reach 42."""
    outcome = go(another(method=fd.PINN(adam_steps=41, lm_steps=0))).outcome
    assert (outcome.status == Status.FINISHED).all()
    assert (outcome.state.optimiser[0] == 41).all(), "Adam's own count of steps"


def test_a_settled_chain_stops_early(decay_fit):
    assert decay_fit.status is Status.CONVERGED
    assert decay_fit.tree["trace/lm"].sizes["record"] < 300


def test_precision_is_a_setting(x64):
    """Adam runs in float32 by default and in float64 on request; the polish is
    always float64.
    """
    for precision in ("float32", "float64"):
        model = bind(tiny())
        adam, lm = fd.PINN(precision=precision).phases(model)
        state = jax.eval_shape(
            lambda key, adam=adam, model=model: adam.init(model, model.data, None, key=key),
            jax.random.key(0),
        )
        assert state.theta.dtype == precision
        after = jax.eval_shape(
            lambda s, adam=adam, model=model: adam.step(
                model, model.data, s, 0.5, key=jax.random.key(0)
            )[0],
            state,
        )
        assert after.theta.dtype == precision
        polished = jax.eval_shape(
            lambda s, lm=lm, model=model: lm.init(model, model.data, s, key=jax.random.key(0)),
            state,
        )
        assert polished.theta.dtype == "float64"


def test_fit_leaves_the_global_precision_alone(decay_fit):
    assert not jax.config.jax_enable_x64


def test_resuming_a_complete_run_gives_its_result_at_once(tmp_path):
    method = fd.PINN(adam_steps=4, lm_steps=0)
    first = fd.fit(tiny(), method, folder=tmp_path / "run")
    again = fd.fit(tiny(), method, folder=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(again.tree["estimate"]["theta"], first.tree["estimate"]["theta"])
    assert again.tree["trace"].identical(first.tree["trace"])
    assert again.seconds["run"] < 0.01, "no step is taken again"


def test_fit_does_not_begin_over_an_unfinished_run(runner, tmp_path):
    stopped_run(runner, tmp_path / "c", 2)
    with pytest.raises(ValueError, match="resume=True"):
        fd.fit(tiny(), METHOD, folder=tmp_path / "c")
    with pytest.raises(ValueError, match="folder"):
        fd.fit(tiny(), METHOD, resume=True)


def test_leaving_out_data_sets_that_are_done_changes_nothing(monkeypatch):
    method = fd.PINN(adam_steps=0, lm_steps=150)
    outcomes, calls = [], []
    call = phase_program.Compiled.__call__
    monkeypatch.setattr(
        phase_program.Compiled,
        "__call__",
        lambda self, *args: calls.append(self._fn) or call(self, *args),
    )
    on_an_accelerator(monkeypatch)
    for many in (1000, 8):
        monkeypatch.setattr(phase_program, "_LARGE_BATCH", many)
        runner = another(method=method)
        with jax.enable_x64(True):
            outcomes.append(runner.run(batch(runner.model, 8), seed=0).outcome)
    assert any(getattr(fn, "__name__", "") == "_some" for fn in calls)
    whole, thinned = outcomes
    np.testing.assert_array_equal(thinned.status, whole.status)
    np.testing.assert_array_equal(thinned.state.steps_in_start, whole.state.steps_in_start)
    np.testing.assert_allclose(thinned.state.theta, whole.state.theta, atol=1e-4)
    np.testing.assert_allclose(
        thinned.trace["lm"]["misfit"], whole.trace["lm"]["misfit"], rtol=1e-4
    )
    assert len(set(np.asarray(whole.state.steps_in_start).ravel())) > 2


def test_threads_of_linear_algebra_come_back_when_the_last_of_several_fits_ends():
    with threadpool_limits(2, "blas"):
        threads = [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert {
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        } == {1}
        second.__exit__(None, None, None)
        assert [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ] == threads


def test_linear_algebra_has_one_thread_while_a_program_runs():
    def threads():
        return [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]

    seen = []
    compiled = Compiled(
        lambda x: jax.pure_callback(lambda x: seen.append(threads()) or x, x, x),
        {"compile": 0.0, "run": 0.0},
    )
    with threadpool_limits(2, "blas"):
        compiled(np.zeros(3))
        assert set(threads()) == {2}
    assert {count for found in seen for count in found} == {1}


def test_lanes_side_by_side_are_those_of_one_program(whole, monkeypatch):
    on_an_accelerator(monkeypatch)
    together = go(another()).outcome
    np.testing.assert_array_equal(together.status, whole[0].status)
    np.testing.assert_allclose(
        together.state.theta, whole[0].state.theta, atol=1e-5
    )  # steps of Adam in float32
    np.testing.assert_allclose(
        together.trace["adam"]["loss"], whole[0].trace["adam"]["loss"], rtol=1e-5
    )


def test_a_lane_does_not_depend_on_those_beside_it(runner, whole):
    with jax.enable_x64(True):
        second = {name: y[1:] for name, y in batch(runner.model, 2).items()}
        alone = (
            another(method=fd.PINN(adam_steps=40, lm_steps=20, chains=1))
            .run(second, seed=0, first=1)
            .outcome
        )
    np.testing.assert_array_equal(alone.state.theta[0, 0], whole[0].state.theta[1, 0])


MEETING = """
import contextlib, os, sys, threading
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, range(os.cpu_count()))  # the test's own worker may have one core
import jax, jax.numpy as jnp, numpy as np
from fiducial.device import Effort
from fiducial.running.lanes import Lanes, joined

factors, meeting = sys.argv[1] == "factors", threading.Barrier(2)

def meet(x):
    with contextlib.suppress(threading.BrokenBarrierError):
        meeting.wait(timeout=1 if factors else 60)
    return np.asarray(not meeting.broken)

def lane(x):
    batch = jnp.stack([jnp.eye(2), 4 * jnp.eye(2)])
    roots = jnp.linalg.cholesky(batch) if factors else jnp.sqrt(batch)
    return roots[1, 0, 0] * x, jax.pure_callback(meet, jax.ShapeDtypeStruct((), bool), x)

seconds = {"compile": 0.0, "run": 0.0}
lanes = Lanes(lane, (2,), seconds, effort=Effort.RUNS_ONCE, most=2)
found, met = joined(lanes(np.array([[1.0, 2.0]])))
assert found.tolist() == [[2.0, 4.0]]
print(met.all())
"""


@pytest.mark.skipif(os.cpu_count() < 2, reason="needs two cores")
@pytest.mark.parametrize(("kind", "met"), [("plain", "True"), ("factors", "False")])
def test_cores_run_lanes_at_the_same_time_unless_these_could_wait_for_each_other(kind, met):
    ran = subprocess.run(
        [sys.executable, "-c", MEETING, kind],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"JAX_ENABLE_X64": "1"},
    )
    assert ran.stdout.strip() == met, ran.stderr


def test_programs_that_factor_batches_of_matrices_are_known():
    def inside(x):
        return jax.lax.fori_loop(
            0, 3, lambda _, m: jax.lax.cond(m[0, 0, 0] > 0, jnp.linalg.cholesky, jnp.abs, m), x
        )

    one, many = np.eye(3)[None], np.stack([np.eye(3)] * 4)
    assert factors_batches(jax.make_jaxpr(inside)(many).jaxpr)
    assert factors_batches(
        jax.make_jaxpr(lambda m: jax.jit(jax.vmap(jnp.linalg.eigh))(m)[0])(many).jaxpr
    )
    assert not factors_batches(jax.make_jaxpr(inside)(one).jaxpr)
    assert not factors_batches(jax.make_jaxpr(lambda m: m @ m)(many).jaxpr)


def drawn_on(cores, method, monkeypatch, *, sets=1, apart=0.0, **how):
    """A run with so many lanes at once, and the steps at which its chunks of draws
    ended.
    """
    monkeypatch.setattr(driver, "at_once", lambda lane_bytes: cores)
    runner, chunks = another(method=method), []
    with jax.enable_x64(True):
        data = {
            name: y + apart * np.arange(sets)[:, None]
            for name, y in batch(runner.model, sets).items()
        }
        found = runner.run(data, seed=0, **{"report": chunks.append, **how}).outcome
    return found, [progress.step for progress in chunks if progress.phase == "draw"]


def test_steps_that_do_not_need_each_other_are_the_same_however_many_are_taken_at_once(
    tmp_path, monkeypatch
):
    on = partial(drawn_on, method=fd.EFIDirect(draws=500), monkeypatch=monkeypatch)
    one, single = on(1)
    several, grouped = on(4)
    assert single == list(range(1, 11))
    assert grouped == [4, 8, 10]
    assert_same_bits(several, one)
    checkpoint, before_drawing = Checkpoint(tmp_path / "c"), []

    def stop(progress):
        before_drawing.append(progress.phase)
        if before_drawing.count("draw") == 1:
            raise Stop

    with pytest.raises(Stop):
        on(3, checkpoint=checkpoint, report=stop)
    resumed, rest = on(2, checkpoint=checkpoint, resume=True)
    assert rest == [5, 7, 9, 10]
    assert_same_bits(resumed, one)


def test_lanes_side_by_side_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(lanes, "cores", lambda: 64)
    monkeypatch.setattr(lanes, "free_memory", lambda: 16 << 30)
    assert lanes.at_once(1 << 20) == 64
    assert lanes.at_once(1 << 30) == 8
    assert lanes.at_once(100 << 30) == 1


def test_steps_of_several_lanes_taken_at_once_keep_their_order(monkeypatch):
    on = partial(
        drawn_on,
        method=fd.Ensemble(chains=2, draws=6, lm_steps=40),
        monkeypatch=monkeypatch,
        sets=2,
    )
    one, single = on(1)
    several, grouped = on(12)
    assert single == [1, 2, 3, 4, 5, 6]
    assert grouped == [3, 6]
    assert_same_bits(several, one)


def test_a_lane_that_breaks_off_is_the_same_however_many_steps_are_taken_at_once(monkeypatch):
    step = DirectDraws.step

    def breaks(self, model, data, state, progress, *, key):
        new, info = step(self, model, data, state, progress, key=key)
        bad = (progress > 0.35) & (data["u"][0] > between)
        return new._replace(theta=jnp.where(bad, jnp.nan, new.theta)), info

    monkeypatch.setattr(DirectDraws, "step", breaks)
    with jax.enable_x64(True):
        between = bind(tiny()).data["u"][0] + 0.005
    on = partial(
        drawn_on, method=fd.EFIDirect(draws=500), monkeypatch=monkeypatch, sets=2, apart=0.01
    )
    (one, _), (several, _) = on(1), on(8)
    assert sorted(one.status.ravel()) == [Status.FINISHED, Status.DIVERGED]
    assert_same_bits(several, one)


def test_chains_that_diverged_have_no_part_in_the_answer(monkeypatch):
    """Some of four chains break off in the pilot fit; what is left is what the
    others say.
    """
    step = LevenbergMarquardt.step

    def breaks(self, model, data, state, progress, *, key):
        new, info = step(self, model, data, state, progress, key=key)
        return new._replace(theta=jnp.where(state.origin[0] < 0, jnp.nan, new.theta)), info

    with monkeypatch.context() as patched:
        patched.setattr(LevenbergMarquardt, "step", breaks)
        some = fd.fit(tiny(), fd.EFIDirect(draws=200, chains=4), seed=0)
    lost = np.array([s is Status.DIVERGED for s in some.statuses])
    assert lost.any()
    assert not lost.all()
    every = fd.fit(tiny(), fd.EFIDirect(draws=200, chains=4), seed=0)
    theta, sound = some.draws["theta"].values, every.draws["theta"].values[~lost]
    np.testing.assert_array_equal(theta[~lost], sound)
    assert all(any(np.array_equal(one, other) for other in sound) for one in theta)
    failed = next(c for c in some.diagnose().checks if c.name == "chains that failed")
    assert failed.value == lost.sum()
    assert failed.meaning == Status.DIVERGED.message
    assert some.diagnose().verdict == "do not trust"


def test_a_run_in_which_all_chains_diverge_has_a_result():
    result = fd.fit(tiny(), fd.Dropout(learning_rate=1e20, train_steps=40, draws=100), seed=0)
    assert result.status is Status.DIVERGED
    assert result.diagnose().verdict == "do not trust"
    assert result.summary()["status"] == "diverged"


def test_no_draw_is_kept_twice_where_the_last_chunk_is_not_full():
    theta = (
        fd.fit(tiny(), fd.Ensemble(chains=2, draws=33, lm_steps=20), seed=0).draws["theta"].values
    )
    assert theta.shape[:2] == (2, 33)
    assert len(np.unique(theta.reshape(66, -1), axis=0)) == 66


def test_steps_that_could_wait_for_each_other_are_taken_one_by_one(monkeypatch):
    monkeypatch.setattr(compiled, "factors_batches", lambda jaxpr: True)
    assert drawn_on(4, fd.EFIDirect(draws=250), monkeypatch)[1] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(fd.Dropout(rate=0.1, train_steps=40, draws=100), marks=pytest.mark.extra),
        pytest.param(
            fd.Bayes(chains=1, draws=100, warm_steps=40, leapfrog=2), marks=pytest.mark.extra
        ),
        fd.EFI(chains=2, draws=60, effective=10_000),
        pytest.param(fd.EFIGN(draws=100), marks=pytest.mark.extra),
        pytest.param(fd.Laplace(draws=200), marks=pytest.mark.extra),
        pytest.param(fd.Ensemble(chains=1, draws=30), marks=pytest.mark.extra),
    ],
    ids=lambda method: method.name,
)
def test_a_run_that_was_stopped_while_it_drew_can_be_resumed_in_a_new_process(
    tmp_path, monkeypatch, method
):
    whole, chunks = drawn_on(1, method, monkeypatch)
    assert len(chunks) > 2

    def stop(progress):
        if progress.phase == "draw":
            raise Stop

    checkpoint = Checkpoint(tmp_path / "c")
    with pytest.raises(Stop):
        drawn_on(1, method, monkeypatch, checkpoint=checkpoint, report=stop)
    assert_same_bits(drawn_on(1, method, monkeypatch, checkpoint=checkpoint, resume=True)[0], whole)


def test_more_data_sets_side_by_side_need_no_other_program():
    runner = another()
    with jax.enable_x64(True):
        runner.run(batch(runner.model, 1), seed=0)
        programs = [
            p for program in runner._programs for p in program._chunk._compiled._programs.values()
        ]
        runner.run(batch(runner.model, 2), seed=0)
    assert [
        p for program in runner._programs for p in program._chunk._compiled._programs.values()
    ] == programs
