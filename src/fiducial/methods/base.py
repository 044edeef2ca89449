"""What a method is: a short list of phases that the driver runs, and how to read their
outcome.

A method never owns a loop. Each phase says how to start from the phase before, how to
take one step, when to stop and what to keep; the driver runs it for all chains and data
sets, compiles it once, and looks after checkpoints, progress and divergence."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import numpy as np

from ..checks import Check
from ..model.model import Data, Model
from ..phases.base import AbstractPhase, State
from ..posing.problem import Problem
from ._checks import effective_draws, effective_parameters, failed_draws


class Facts(eqx.Module):
    """What a method knows about its own answer: an array over data sets for each fact,
    or a number for each fact of one data set.

    A method with facts of its own derives a class from this one, and judges them in its
    ``judge``. Facts that are only to be known are named in ``to_know``.

    Attributes:
        effective_draws: number of independent draws that the draws are worth.
        effective_parameters: number of directions that the data inform.
        failed_draws: share of draws that have no solution.
        to_know: names of facts that no check reads.
    """

    effective_draws: Any = None
    effective_parameters: Any = None
    failed_draws: Any = None
    to_know: ClassVar[frozenset[str]] = frozenset()

    def known(self) -> dict[str, Any]:
        """Return the facts that are known, by name."""
        every = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: value for name, value in every.items() if value is not None}

    def of(self, data_set: int) -> Self:
        """Return the facts of one data set as numbers."""
        one = {name: np.asarray(value)[data_set] for name, value in self.known().items()}
        return type(self)(**{name: v if v.ndim else float(v) for name, v in one.items()})


class Answer(NamedTuple):
    """What a method found, for every data set and chain; arrays are NumPy.

    Attributes:
        estimate: parameters of the point estimate, (data set, p).
        draws: what was kept of each draw, a tree with axes (data set, chain, draw) in
            front, or None. After ``keep_all`` it holds ``theta`` and ``errors``.
        facts: what the method knows about the answer.
        left_out: parameters ``theta`` of fits that left observations out, and for each
            noisy group ``z_GROUP`` and ``fold_GROUP``: the errors of observations by
            the fits without them, and the numbers of these; the data set on the first
            axis.
    """

    estimate: np.ndarray
    draws: Any = None
    facts: Facts = Facts()
    left_out: dict[str, np.ndarray] | None = None


class Outcome(NamedTuple):
    """What the driver hands back to a method: leading axes are (data set, chain).

    In all but ``status`` a chain that diverged is replaced by one of its data set that
    did not, where there is one.

    Attributes:
        state: the last state of the last phase, arrays on the device or NumPy's.
        status: a [`Status`][fiducial.Status] for each chain.
        trace: by phase the recorded info, time on the third axis.
        draws: for each phase that draws what was kept of each draw, the draw on the
            third axis.
        extra: for each such phase the further numbers of each draw, likewise.
    """

    state: State
    status: np.ndarray
    trace: dict[str, dict[str, np.ndarray]]
    draws: dict[str, Any]
    extra: dict[str, dict[str, np.ndarray]]


def last_losses(trace: dict[str, np.ndarray]) -> np.ndarray:
    """Of each chain the last loss that is finite; steps that were not taken record
    none.
    """
    losses = trace["loss"]
    finite = np.isfinite(losses)
    ends = losses.shape[-1] - 1 - np.argmax(finite[..., ::-1], axis=-1)
    return np.take_along_axis(np.where(finite, losses, np.inf), ends[..., None], axis=-1)[..., 0]


class AbstractMethod(eqx.Module):
    """A way to answer a problem. Each is one file in ``methods/``.

    Attributes:
        name: what it is called on the command line.
        summary: one line that says what it does.
        no_interval: why it gives no intervals, or None when it does.
        linear: whether its draws are to be read with fields that are linear around the
            estimate.
        chains: how many chains to run.
    """

    name: eqx.AbstractClassVar[str]
    summary: eqx.AbstractClassVar[str]
    no_interval: ClassVar[str | None] = None
    linear: ClassVar[bool] = False
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
        """What to run, in order."""

    @abc.abstractmethod
    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        """The answer, from what the phases left."""

    def judge(self, facts: Any, model: Model) -> list[Check]:
        """Return checks of the facts of one data set; by default of those that ``Facts``
        names.
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
        """Memory that one chain on one data set takes, roughly; by default that of a
        dense Jacobian and its Gram matrix.
        """
        rows = sum(len(g.sites) for g in model.groups)
        return 8 * (3 * rows * model.size + 3 * rows * rows)

    def settings(self) -> dict[str, Any]:
        """The settings by name, as JSON can hold them."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return getattr(value, "__name__", repr(value))
