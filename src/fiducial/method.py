"""What a method is: a short list of phases that the driver runs, and how to read their outcome.

A method never owns a loop. Each phase says how to start from the phase before, how to take
one step, when to stop and what to keep; the driver runs it for all chains and data sets,
compiles it once, and looks after checkpoints, progress and divergence.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .compiling import Effort
from .model import Data, Model
from .problem import Problem

State = Any
Info = dict[str, Array]
Keep = Callable[[Model, Float[Array, " p"], Data], Any]
"""What is kept of the parameters of a draw: a function of model, parameters and data."""


def keep_all(model: Model, theta: Float[Array, " p"], data: Data) -> dict[str, Any]:
    """Keep the parameters themselves and the errors that they impute, which is what a result is made of."""
    return {"theta": theta, "errors": model.errors(theta, data)}


class Drawn(NamedTuple):
    """Draws of one record of a phase.

    Attributes:
        theta: parameters drawn, of which a ``Keep`` function says what is recorded.
        extra: further numbers of each draw by name, recorded as they are.
    """

    theta: Float[Array, "block p"]
    extra: dict[str, Float[Array, "block *any"]]


class AbstractPhase(eqx.Module):
    """One stretch of a run, written for one chain on one data set.

    ``State`` is a pytree of arrays with what the next step needs, ``theta`` among it;
    ``Info`` is a dictionary of numbers that a person looks at.
    """

    name: eqx.AbstractClassVar[str]
    activity: ClassVar[str] = ""
    """What the phase does in a word or two for the progress line, such as "fitting"; its name by default."""
    steps: eqx.AbstractVar[int]

    @abc.abstractmethod
    def init(self, model: Model, data: Data, previous: State | None, *, key: PRNGKeyArray) -> State:
        """The first state, from the last of the phase before (None for the first phase)."""

    @abc.abstractmethod
    def step(self, model: Model, data: Data, state: State, progress: Float[Array, ""], *, key: PRNGKeyArray) -> tuple[State, Info]:
        """One step; ``progress`` runs from 0 to 1 over the phase."""

    def done(self, state: State) -> Bool[Array, ""]:
        """Whether this chain may stop before all steps are done."""
        del state
        return jnp.asarray(False)

    def enough(self, extra: dict[str, np.ndarray]) -> bool:
        """Whether the draws so far are enough; asked now and then on the host, for all chains and data sets at once.

        Arguments:
            extra: the further numbers of all draws so far, with axes (data set, chain, draw) in front.
        """
        del extra
        return False

    @property
    def may_end_early(self) -> bool:
        """Whether the phase can end before all its steps are done."""
        own = type(self)
        return own.done is not AbstractPhase.done or own.enough is not AbstractPhase.enough

    @property
    def must_settle(self) -> bool:
        """Whether running out of steps before ``done`` is worth a warning."""
        return False

    @property
    def independent(self) -> bool:
        """Whether a step reads only what the start left in the state, so that steps may be taken at the same time.

        Such a phase has neither ``done`` nor ``enough``.
        """
        return False

    @property
    def effort(self) -> Effort:
        """How thoroughly to compile the steps: less where they are few, and mostly linear algebra."""
        return Effort.RUNS_OFTEN

    def draw(self, state: State) -> Drawn | None:
        """The draws that the state holds, or None for a phase without draws."""
        del state
        return None

    def view(self, model: Model, state: State) -> Model:
        """The model through which the draws of a state are to be read."""
        del state
        return model

    @property
    def record_every(self) -> int:
        """Steps between two records of info and draw."""
        return max(1, self.steps // 200)


class Answer(NamedTuple):
    """What a method found, for every data set and chain; arrays are NumPy.

    Attributes:
        estimate: parameters of the point estimate, (data set, p).
        draws: what was kept of each draw, a tree with axes (data set, chain, draw) in front, or
            None. After ``keep_all`` it holds ``theta`` and ``errors``.
        facts: further numbers about the answer by name, (data set,) each, for the diagnosis.
        left_out: parameters ``theta`` of fits that left observations out, and for each noisy group ``z_GROUP`` and ``fold_GROUP``: the errors of
            observations by the fits without them, and the numbers of these; the data set on the first axis.
    """

    estimate: np.ndarray
    draws: Any = None
    facts: dict[str, np.ndarray] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    left_out: dict[str, np.ndarray] | None = None


class Outcome(NamedTuple):
    """What the driver hands back to a method: leading axes are (data set, chain).

    In all but ``status`` a chain that diverged is replaced by one of its data set that did not, where there is one.

    Attributes:
        state: the last state of the last phase, arrays on the device or NumPy's.
        status: a [`Status`][fiducial.status.Status] for each chain.
        trace: by phase the recorded info, time on the third axis.
        draws: for each phase that draws what was kept of each draw, the draw on the third axis.
        extra: for each such phase the further numbers of each draw, likewise.
    """

    state: State
    status: np.ndarray
    trace: dict[str, dict[str, np.ndarray]]
    draws: dict[str, Any]
    extra: dict[str, dict[str, np.ndarray]]


def last_losses(trace: dict[str, np.ndarray]) -> np.ndarray:
    """Of each chain the last loss that is finite; steps that were not taken record none."""
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
        linear: whether its draws are to be read with fields that are linear around the estimate.
        chains: how many chains to run.
    """

    name: eqx.AbstractClassVar[str]
    summary: eqx.AbstractClassVar[str]
    no_interval: ClassVar[str | None] = None
    linear: ClassVar[bool] = False
    chains: eqx.AbstractVar[int]

    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` that says what to do if the method cannot serve the problem."""
        del problem

    @abc.abstractmethod
    def phases(self, model: Model) -> tuple[AbstractPhase, ...]:
        """What to run, in order."""

    @abc.abstractmethod
    def collect(self, model: Model, data: Data, outcome: Outcome) -> Answer:
        """The answer, from what the phases left."""

    def lane_bytes(self, model: Model) -> int:
        """Memory that one chain on one data set takes, roughly; by default that of a dense Jacobian and its Gram matrix."""
        rows = sum(len(g.sites) for g in model.groups)
        return 8 * (3 * rows * model.size + 3 * rows * rows)

    def settings(self) -> dict[str, Any]:
        """The settings by name, as JSON can hold them."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}


def require_positive(method: AbstractMethod, *settings: str) -> None:
    """Raise a ``ValueError`` if one of the settings, a number of something, is not positive."""
    for setting in settings:
        value = getattr(method, setting)
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{type(method).__name__}({setting}={value!r}): give a whole number of at least 1")


def require_choice(method: AbstractMethod, **possible: tuple[Any, ...]) -> None:
    """Raise a ``ValueError`` if a setting is none of its possible values."""
    for setting, values in possible.items():
        if getattr(method, setting) not in values:
            raise ValueError(f"{type(method).__name__}({setting}={getattr(method, setting)!r}): give one of {', '.join(map(repr, values))}")


def require_noise(method: AbstractMethod, problem: Problem) -> None:
    """Raise a ``ValueError`` if all observations are exact, so that there is nothing to draw."""
    if all(g.exact for g in problem.groups):
        raise ValueError(f"{method.name}: all observations are exact, so there is no uncertainty to draw; use pinn, or name the noise")


def require_paper(method: Any, problem: Problem) -> None:
    """Raise a ``ValueError`` if the method is to use the paper's settings and there are none for it."""
    if method.preset == "paper" and method.name not in problem.paper:
        raise ValueError(f"{method.name}: the paper has no settings for '{problem.name}' by this method; leave preset out, or use pinn")


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return getattr(value, "__name__", repr(value))
