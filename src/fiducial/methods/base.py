"""The contract of a method: phases that the driver runs, the answer made of their
outcome, and checks of that answer.

A method never owns a loop. Each phase says how to start from the phase before, how to
take one step, when to stop and what to keep; the driver compiles it once, runs it for
all chains and data sets, and looks after checkpoints, progress and divergence.
"""

import abc
import dataclasses
import warnings
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import numpy as np

from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase, State
from ..posing.problem import Problem
from ._checks import effective_draws, effective_parameters, failed_draws


class Facts(eqx.Module):
    """Numbers that a method knows about its own answer, each an array over data sets;
    after ``of`` those of one data set. A fact that is not known is None.

    A method with facts of its own derives a class from this one with a field for each,
    and checks them in its ``judge``. A contract test asks of every fact that ``judge``
    reads it, or that it is named in ``to_know``.

    Attributes:
        effective_draws: number of independent draws with the same information.
        effective_parameters: number of directions that the data inform.
        failed_draws: share of draws that have no solution.
        to_know: names of facts that are for people, and that no check reads.
    """

    effective_draws: Any = None
    effective_parameters: Any = None
    failed_draws: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset()

    def known(self) -> dict[str, Any]:
        """Return the facts that are not None, by name."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def of(self, data_set: int) -> Self:
        """Return the facts of one data set: numbers, and arrays where a fact has
        several.
        """
        one = {name: np.asarray(value)[data_set] for name, value in self.known().items()}
        return type(self)(**{name: v if v.ndim else float(v) for name, v in one.items()})


class WeightedDraws(NamedTuple):
    """Draws before they were resampled by their weights; axes are (data set, chain,
    draw).

    Attributes:
        draws: what was kept of each, a tree as in ``Answer.draws``.
        log_weight: logarithms of the weights, up to a constant.
        failed: which of them have no solution, and so no weight.
        source: for each draw of the answer the number of the weighted draw in its chain
            that it is a copy of.
    """

    draws: Any
    log_weight: np.ndarray
    failed: np.ndarray
    source: np.ndarray


class Answer(NamedTuple):
    """The answer of a method for a batch of data sets; arrays are NumPy's.

    Attributes:
        estimate: parameters of the point estimate, (data set, p).
        draws: what was kept of each draw, a tree with axes (data set, chain, draw) in
            front, or None. After ``keep_all`` it holds ``theta`` and ``errors``.
        facts: what the method knows about the answer.
        left_out: parameters ``theta`` of fits that left observations out, and for each
            noisy group ``z_GROUP`` and ``fold_GROUP``: the errors of observations
            according to the fits that left them out, and the numbers of these fits. The
            first axis is the data set.
        weighted: the draws before resampling, for a method whose draws have weights.
    """

    estimate: np.ndarray
    draws: Any = None
    facts: Facts = Facts()
    left_out: dict[str, np.ndarray] | None = None
    weighted: WeightedDraws | None = None


class Outcome(NamedTuple):
    """The outcome of a run as the driver hands it to a method; leading axes are (data
    set, chain).

    In all but ``status``, a chain that diverged is replaced by one of the same data set
    that did not, where there is one.

    Attributes:
        state: the last state of the last phase; arrays on the device or NumPy's.
        status: a [`Status`][fiducial.Status] for each chain.
        trace: the recorded info of each phase, with the record on the third axis.
        draws: what was kept of each draw, for each phase that draws; the draw is on the
            third axis.
        extra: further numbers of each draw, for each phase that draws, likewise.
    """

    state: State
    status: np.ndarray
    trace: dict[str, dict[str, np.ndarray]]
    draws: dict[str, Any]
    extra: dict[str, dict[str, np.ndarray]]


def last_losses(trace: dict[str, np.ndarray]) -> np.ndarray:
    """Return the last finite loss of each chain; steps not taken record none."""
    losses = trace["loss"]
    finite = np.isfinite(losses)
    ends = losses.shape[-1] - 1 - np.argmax(finite[..., ::-1], axis=-1)
    return np.take_along_axis(np.where(finite, losses, np.inf), ends[..., None], axis=-1)[..., 0]


class AbstractMethod(eqx.Module):
    """A method of inference. Each is one file in ``methods/``, or one file of a user.

    Attributes:
        name: its name on the command line.
        summary: one line that says what it does.
        no_interval: why it gives no intervals, or None if it gives them.
        linear: whether its draws stand for fields that are linear in the parameters
            around the estimate.
        takes_padding: whether its phases count real observations only, so that data
            sets of different sizes may be padded to one.
        chains: number of chains.
    """

    name: eqx.AbstractClassVar[str]
    summary: eqx.AbstractClassVar[str]
    no_interval: ClassVar[str | None] = None
    linear: ClassVar[bool] = False
    takes_padding: ClassVar[bool] = False
    chains: eqx.AbstractVar[int]

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        if "preset" in settings:
            raise TypeError(
                f"{cls.__name__}(preset=...): the paper's methods are functions of"
                f' fiducial.paper, such as fiducial.paper.efi("poisson"); on the command line'
                " --method paper-efi"
            )
        return super().__new__(cls)

    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` that says what to do if the method cannot serve the
        problem.
        """
        del problem

    @abc.abstractmethod
    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        """Return the phases to run, in order."""

    @abc.abstractmethod
    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        """Return the answer, made of the outcome of the phases."""

    def estimate_noise(self, fitted: np.ndarray, drawn: np.ndarray | None) -> np.ndarray:
        """Return the estimate of an unknown parameter of the noise, such as its size.

        With draws, it is the value whose inverse square is the mean of theirs. The
        fit's own value of a noise size is too small, because the fit has used up
        degrees of freedom; this one is sqrt(RSS / (n - p)) in a linear model.

        Arguments:
            fitted: the value of the fit, (data set, ...).
            drawn: the values of the draws, (data set, chain, draw, ...), or None.
        """
        if drawn is None:
            return np.asarray(fitted)
        with warnings.catch_warnings():
            # a data set without a single finite draw has no estimate
            warnings.filterwarnings("ignore", "Mean of empty slice")
            return np.asarray(np.nanmean(drawn**-2.0, axis=(1, 2)) ** -0.5)

    def judge(self, facts: Any, model: Model) -> list[Check]:
        """Return checks of the facts of one data set; by default of the three facts
        that every method may have.

        Arguments:
            facts: the facts of one data set.
            model: the problem in computable form.
        """
        del model
        checks = []
        if facts.failed_draws is not None:
            checks.append(failed_draws(facts.failed_draws))
        if facts.effective_draws is not None:
            checks.append(effective_draws(facts.effective_draws))
        if facts.effective_parameters is not None:
            checks.append(effective_parameters(facts.effective_parameters))
        return checks

    def lane_bytes(self, model: Model) -> int:
        """Return roughly how many bytes one chain on one data set takes; by default
        those of a dense Jacobian and its Gram matrix.
        """
        rows = sum(len(g.sites) for g in model.groups)
        return 8 * (3 * rows * model.size + 3 * rows * rows)

    def settings(self) -> dict[str, Any]:
        """Return the settings by name, as JSON can hold them."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return getattr(value, "__name__", repr(value))
