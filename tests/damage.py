"""Damage to files of results, studies and checkpoints, and what is then read from them.

Each trial damages one file and reads it as a user would. Its verdict is "same" when the
numbers are those that were written (where needed after the lost part was computed again),
and "refused" when a ``DamagedFileError`` was raised. Other numbers fail an assertion, and
any other error is raised."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import jax
import numpy as np

import fiducial as fd
from fiducial.model.binding import bind
from fiducial.running.checkpoint import Checkpoint
from fiducial.running.driver import Runner
from fiducial.studies import coverage
from fiducial.studies.shards import Bench
from helpers import TINY, batch, decay, made_up
from standin import Exact, poisson_line

LONGEST_ZEROS = 512


def damage(content: bytes, random: np.random.Generator) -> bytes:
    """Return content with one bit flipped, cut off somewhere, or with a block of zeros."""
    kind = random.choice(["bit", "cut", "zeros"])
    at = int(random.integers(len(content)))
    if kind == "cut":
        return content[:at]
    damaged = bytearray(content)
    if kind == "bit":
        damaged[at] ^= 1 << int(random.integers(8))
    else:
        end = min(len(content), at + int(random.integers(1, LONGEST_ZEROS)))
        damaged[at:end] = bytes(end - at)
    return bytes(damaged)


def _refused(error: fd.DamagedFileError, path: Path) -> str:
    assert str(path) in str(error), "the message names the file"
    return "refused"


class Folder:
    """A folder whose files are put back as they were before each trial."""

    def __init__(self, path: Path):
        self.path = path
        self.files = {p.relative_to(path): p.read_bytes() for p in path.rglob("*") if p.is_file()}

    def damage_one(self, random: np.random.Generator, among: str = "") -> Path:
        """Put all files back, and damage one of those whose names contain a text."""
        for p in self.path.rglob("*"):
            if p.is_file():
                p.unlink()
        for name, content in self.files.items():
            (self.path / name).write_bytes(content)
        names = sorted(str(n) for n in self.files if among in str(n))
        chosen = self.path / str(random.choice(names))
        chosen.write_bytes(damage(chosen.read_bytes(), random))
        return chosen


def result_trials(folder: Path) -> Callable[[np.random.Generator], str]:
    """Return a trial of a saved result, whose draws lie in three directions."""
    problem = decay(network=fd.MLP((50, 50)))
    result = made_up(problem, draws=100)
    random = np.random.default_rng(5)
    theta = result.tree["draws"]["theta"]
    directions = random.standard_normal((3, theta.sizes["parameter"]))
    theta.values[:] = theta.values[0, 0] + random.standard_normal((2, 100, 3)) @ directions
    path = result.save(folder / "result.nc")
    written = fd.load(path, problem=problem).tree
    files = Folder(folder)

    def trial(random: np.random.Generator) -> str:
        files.damage_one(random)
        try:
            found = fd.load(path, problem=problem).tree
        except fd.DamagedFileError as error:
            return _refused(error, path)
        assert found.identical(written)
        return "same"

    return trial


def study_trials(folder: Path) -> Callable[[np.random.Generator], str]:
    """Return a trial of a study that is resumed; without figures, and compiled once."""
    problem, method = poisson_line(), Exact(draws=20)
    how = {"replicates": 12, "seed": 3, "shard": 4, "points": [-0.5, 0.0, 0.5]}
    benches: list[Bench] = []

    def bench(*args, **kwargs):
        if not benches:
            benches.append(Bench(*args, **kwargs))
        return benches[0]

    def run(**more) -> fd.Study:
        with (
            mock.patch.object(coverage, "Bench", bench),
            mock.patch("fiducial.studies.figures.all_figures", return_value={}),
        ):
            return fd.study(problem, [method], folder=folder, **how, **more)

    written = run().cells[0].arrays
    files = Folder(folder)

    def trial(random: np.random.Generator) -> str:
        files.damage_one(random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = run(resume=True).cells[0].arrays
            except fd.DamagedFileError as error:
                return _refused(error, folder)
        for name, values in written.items():
            if name != "seconds":
                np.testing.assert_array_equal(found[name], values)
        return "same"

    return trial


class StoppedRun:
    """A run of twenty chunks and more that was stopped, and can be resumed again and again."""

    def __init__(self, folder: Path, chunks: int = 20):
        self.checkpoint = Checkpoint(folder)
        self.seen: list = []
        with jax.enable_x64(True):
            method = fd.PINN(adam_steps=40, lm_steps=20, chains=2)
            self.runner = Runner(bind(decay(network=TINY)), method)
        self.whole = self._run()
        self.chunks = len(self.seen)

        def stop(progress):
            self.seen.append(progress)
            if len(self.seen) == chunks:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            self._run(report=stop, checkpoint=self.checkpoint)
        self.files = Folder(folder)

    def _run(self, **how):
        self.seen = []
        how = {"report": self.seen.append, **how}
        with jax.enable_x64(True):
            return self.runner.run(batch(self.runner.model, 1), seed=0, **how).outcome

    def resume(self) -> int:
        """Resume the run, compare it with the whole one, and return how many chunks were
        computed.
        """
        found = self._run(resume=True, checkpoint=self.checkpoint)
        one, other = (jax.tree.leaves((o.state, o.trace, o.status)) for o in (found, self.whole))
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
        return len(self.seen)


def checkpoint_trials(folder: Path) -> Callable[[np.random.Generator], str]:
    """Return a trial of a run that is resumed."""
    stopped = StoppedRun(folder)

    def trial(random: np.random.Generator) -> str:
        chosen = stopped.files.damage_one(random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            computed = stopped.resume()
        if "records" not in chosen.name:
            assert computed <= stopped.chunks - 19, "a state before the last is as good"
        return "same"

    return trial


TRIALS = {"result": result_trials, "study": study_trials, "checkpoint": checkpoint_trials}


def tally(kind: str, folder: Path, count: int, seed: int) -> Counter:
    """Return how often each verdict was found in ``count`` trials of a kind of files."""
    folder.mkdir(parents=True, exist_ok=True)
    trial = TRIALS[kind](folder)
    random = np.random.default_rng(seed)
    return Counter(trial(random) for _ in range(count))
