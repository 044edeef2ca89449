"""What a method is: a short list of phases that the driver runs, and how to read their
outcome.

A method never owns a loop. Each phase says how to start from the phase before, how to
take one step, when to stop and what to keep; the driver runs it for all chains and data
sets, compiles it once, and looks after checkpoints, progress and divergence."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import numpy as np

from ..model.model import Data, Model
from ..phases.base import AbstractPhase, State
from ..posing.problem import Problem


class Answer(NamedTuple):
    """What a method found, for every data set and chain; arrays are NumPy.

    Attributes:
        estimate: parameters of the point estimate, (data set, p).
        draws: what was kept of each draw, a tree with axes (data set, chain, draw) in
            front, or None. After ``keep_all`` it holds ``theta`` and ``errors``.
        facts: further numbers about the answer by name, (data set,) each, for the
            diagnosis.
        left_out: parameters ``theta`` of fits that left observations out, and for each
            noisy group ``z_GROUP`` and ``fold_GROUP``: the errors of observations by
            the fits without them, and the numbers of these; the data set on the first
            axis.
    """

    estimate: np.ndarray
    draws: Any = None
    facts: dict[str, np.ndarray] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
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
