"""The problem: an equation, its domain, the unknown constants, and what was
observed.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import jit
from .collocation import Collocation, Filling, default
from .coordinates import Box, Points, hand_over
from .fields import Field
from .groups import Group
from .networks import MLP, NetworkRecipe, as_recipe
from .observations import Observed
from .unknowns import AbstractUnknown

Equation = Callable[[Any, Any, Any], Any]
ExactLimits = Callable[[Mapping[str, np.ndarray], Any, float], Mapping[str, tuple[Any, Any]]]


@dataclass(frozen=True)
class Output:
    """What is known of one output of the field.

    Arguments:
        positive: the output cannot be negative (kept so by softplus).
        scale: its typical size, when there are no observations of it to learn that
            from.
    """

    positive: bool = False
    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None and not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"Output(scale={self.scale!r}): the scale must be positive")


@dataclass(frozen=True)
class Truth:
    """The true answer of a simulated problem, for coverage.

    Arguments:
        outputs: for each output its function of a point.
        unknowns: the true constants.
        noise: for each group with unknown noise its true parameters, ``{"u": {"sd":
            0.1}}``.
    """

    outputs: Mapping[str, Callable[[Any], Any]]
    unknowns: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def at(self, points: Points) -> dict[str, np.ndarray]:
        """The true values of every output at some points."""
        with jax.enable_x64(True):
            return {name: np.asarray(v) for name, v in self._evaluator(points).items()}

    @cached_property
    def _evaluator(self) -> Callable[[Points], dict[str, Any]]:
        return jit(
            lambda points: {
                name: jnp.broadcast_to(points.map(of), (len(points),))
                for name, of in self.outputs.items()
            }
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A differential equation with data.

    Arguments:
        equation: ``(field, at, p) -> residual`` for one point, or a tuple of residuals
            for a system; None for a regression without physics.
        domain: the ranges of the coordinates.
        observations: what was measured or prescribed.
        unknowns: the unknown constants by name.
        outputs: names of the field's outputs, or a mapping from name to ``Output``.
        collocation: where the equation must equal zero. If left out, a default set of
            points is used unless there are observations of ``"equation"``.
        network: the network that stands for the field: ``MLP(...)``, a recipe, or an
            Equinox module.
        constraint: ``(u, at, p) -> u``, a transform of the outputs that makes a
            condition hold exactly, such as ``lambda u, t, p: 1.0 + t * u``. With
            several outputs ``u`` is a dictionary and so is what comes back.
        units: units by name of coordinate, output or unknown, for tables and figures.
        truth: the true answer, where it is known.
        exact: ``(data, x, level) -> {name: (lower, upper)}``, the exact limits for
            outputs and unknowns given observed values by group, where they are known;
            ``x`` is a vector for one coordinate, else a mapping.
        paper: settings of the paper for this problem, by method, for
            ``preset="paper"``.
        name: what to call the problem.
        options: the options a catalogue entry was made with, so that a saved result can
            be loaded by name.

    Example:
        >>> from fiducial import Positive, derivative
        >>> problem = Problem(
        ...     equation=lambda u, t, p: derivative(u, t) + p["k"] * u(t),
        ...     domain=Box(t=(0, 1)),
        ...     unknowns={"k": Positive(1.0)},
        ...     observations=[Observed("u", x=[0.0, 1.0], y=[1.0, 0.4])],
        ... )
        >>> [group.name for group in problem.groups]
        ['u', 'equation']
    """

    equation: Equation | None
    domain: Box
    observations: Sequence[Observed]
    unknowns: Mapping[str, AbstractUnknown] = field(default_factory=dict)
    outputs: Sequence[str] | Mapping[str, Output] = ("u",)
    collocation: Collocation | None = None
    network: Any = field(default_factory=MLP)
    constraint: Callable[[Any, Any, Any], Any] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    truth: Truth | None = None
    exact: ExactLimits | None = None
    paper: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "problem"
    options: Mapping[str, Any] | None = None
    groups: tuple[Group, ...] = field(init=False, repr=False)
    recipe: NetworkRecipe = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if not isinstance(self.domain, Box):
            raise TypeError(f"domain={self.domain!r}: give a Box, such as Box(x=(0, 1))")
        if isinstance(self.outputs, str):
            raise TypeError(
                f"outputs={self.outputs!r}: give a sequence of names, such as"
                f" outputs=('{self.outputs}',)"
            )
        named = (
            self.outputs
            if isinstance(self.outputs, Mapping)
            else {n: Output() for n in self.outputs}
        )
        put("outputs", dict(named))
        put("recipe", as_recipe(self.network))
        for name, unknown in self.unknowns.items():
            if not isinstance(unknown, AbstractUnknown):
                raise TypeError(
                    f"unknowns['{name}'] = {unknown!r}: give Real(guess), Positive(guess) or"
                    " Interval(lower, upper)"
                )
        reserved = {"theta", "chain", "draw", "equation"} & {*self.unknowns, *named}
        if reserved:
            raise ValueError(
                f"{', '.join(sorted(reserved))}: the name has a meaning of its own here; choose"
                " another"
            )
        clash = (
            set(self.domain.names) & set(named)
            or set(self.domain.names) & set(self.unknowns)
            or set(named) & set(self.unknowns)
        )
        if clash or not named:
            raise ValueError(
                "coordinates, outputs and unknowns need names of their own; used twice:"
                f" {', '.join(sorted(clash)) or 'none given'}"
            )
        stray = set(self.units) - set(self.domain.names) - set(named) - set(self.unknowns)
        if stray:
            raise ValueError(f"units: nothing here is called {', '.join(sorted(stray))}")
        odd = [n for n in (*self.unknowns, *named) if not isinstance(n, str) or "/" in n or not n]
        if odd:
            raise ValueError(
                f"{odd[0]!r} cannot name an output or an unknown: give a text without '/', under"
                " which a result can be saved"
            )
        if isinstance(self.observations, Observed):
            put("observations", (self.observations,))
        if not self.observations:
            raise ValueError(
                "a problem needs observations; add at least one Observed(...), such as"
                " Observed('u', x=[0.0], y=[1.0])"
            )
        put("groups", tuple(self._resolve()))
        odd = [g.name for g in self.groups if "/" in g.name]
        if odd:
            raise ValueError(
                f"Observed(name={odd[0]!r}): give a name without '/', under which a result can be"
                " saved"
            )
        sizes = {f"{n}_{g.name}" for g in self.groups for n in g.noise_unknowns()}
        if sizes & set(self.unknowns):
            raise ValueError(
                f"unknowns: {', '.join(sizes & set(self.unknowns))} is what an inferred noise size"
                " is called; choose another name"
            )

    def __repr__(self) -> str:
        unknown = ", ".join(self.unknowns) or "none"
        data = ", ".join(f"{g.name} ({g.y.size})" for g in self.groups)
        return (
            f"Problem({self.name}: {', '.join(self.outputs)} on {self.domain!r}; unknowns:"
            f" {unknown}; observations: {data})"
        )

    def replace(self, **changes: Any) -> "Problem":
        """The same problem with some arguments changed; it is no longer known to the
        catalogue by its options.

        Example:
            ``problem.replace(network=MLP(hidden=(100, 100)))``
        """
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        stray = set(changes) - set(given)
        if stray:
            raise TypeError(
                f"a problem has no {', '.join(sorted(stray))}; it has {', '.join(given)}"
            )
        # a changed problem is no longer the catalogue's
        made = Problem(**{**given, "options": None, **changes})
        if "observations" not in changes:  # data given by with_data stay where their points do
            own = {g.name: g for g in self.groups}
            kept = (
                (
                    dataclasses.replace(g, y=own[g.name].y)
                    if g.name in own and g.shares_points(own[g.name])
                    else g
                )
                for g in made.groups
            )
            object.__setattr__(made, "groups", tuple(kept))
        return made

    def with_data(self, values: Mapping[str, np.ndarray]) -> "Problem":
        """The same problem with other observed values, given by group (other groups
        keep theirs).
        """
        known = {g.name for g in self.groups}
        if set(values) - known:
            raise ValueError(
                f"no group called {', '.join(sorted(set(values) - known))}; the groups are"
                f" {', '.join(sorted(known))}"
            )
        changed = []
        for group in self.groups:
            y = np.asarray(values.get(group.name, group.y), dtype=float).reshape(-1)
            if y.shape != group.y.shape:
                raise ValueError(
                    f"group '{group.name}' has {group.y.size} observations, {y.size} values were"
                    " given"
                )
            if not np.isfinite(y).all():
                raise ValueError(
                    f"group '{group.name}': {np.sum(~np.isfinite(y))} of the values are not finite;"
                    " remove the points or mend the values"
                )
            changed.append(dataclasses.replace(group, y=y))
        copy = self.replace()
        object.__setattr__(copy, "groups", tuple(changed))
        return copy

    def guesses(self) -> dict[str, np.ndarray]:
        """The starting values of the unknowns."""
        return {name: unknown.guess for name, unknown in self.unknowns.items()}

    def _resolve(self) -> list[Group]:
        """The observations and the collocation points as groups, noisy ones first in
        line for names.
        """
        taken: set[str] = set()
        groups: dict[int, list[Group]] = {}
        observations = list(self.observations)
        for i, observed in enumerate(observations):
            if not isinstance(observed, Observed):
                raise TypeError(f"observations[{i}] = {observed!r}: give Observed(...)")
        stated = any(o.what == "equation" for o in observations)
        rule = self.collocation or default
        if self.equation is not None and (self.collocation is not None or not stated):
            observations.append(
                Observed(
                    "equation",
                    x=np.asarray(rule(self.domain)),
                    name="collocation" if stated else "equation",
                )
            )
        order = sorted(range(len(observations)), key=lambda i: observations[i].noise is None)
        for i in order:
            observed = observations[i]
            name, number = observed.name, 1
            while name in taken:
                number += 1
                name = f"{observed.name}_{number}"
            taken.add(name)
            filling = i == len(self.observations) and isinstance(rule, Filling)
            groups[i] = [
                dataclasses.replace(group, filling=filling)
                for group in self._groups_of(observed, name)
            ]
        return [group for i in sorted(groups) for group in groups[i]]

    def _groups_of(self, observed: Observed, name: str) -> list[Group]:
        points = self.domain.points(observed.x, label=f"observations of '{name}'")
        what = observed.what
        if what == "equation":
            if self.equation is None:
                raise ValueError(
                    "there are observations of 'equation', but the problem has none; give"
                    " equation=..."
                )
            return self._equation_groups(observed, name, points)
        if isinstance(what, str):
            if what not in self.outputs:
                raise ValueError(
                    f"Observed('{what}', ...): the outputs are {', '.join(self.outputs)}; name one,"
                    " 'equation', or give a function (field, at, p)"
                )
            output = what
            return [
                Group.resolve(
                    name,
                    lambda f, at, p: f[output](at),
                    points,
                    observed.y,
                    observed.noise,
                    output=output,
                )
            ]  # type: ignore[arg-type]
        shapes = self._trial(what, f"the function observed as '{name}'")
        if shapes != [()]:
            raise ValueError(
                f"the function observed as '{name}' must return one number per point; it returns"
                f" {_say(shapes)}"
            )
        return [Group.resolve(name, what, points, observed.y, observed.noise)]  # type: ignore[arg-type]

    def _equation_groups(self, observed: Observed, name: str, points: Points) -> list[Group]:
        equation = self.equation
        assert equation is not None
        shapes = self._trial(equation, "the equation")
        if not shapes or any(shape != () for shape in shapes):
            raise ValueError(
                "the equation must return one number per point, or a tuple of numbers for a"
                f" system; it returns {_say(shapes)}"
            )
        values = observed.y if isinstance(observed.y, tuple) else (observed.y,) * len(shapes)
        if isinstance(observed.y, np.ndarray) and observed.y.ndim and len(shapes) > 1:
            raise ValueError(
                f"observations of '{name}': the equation has {len(shapes)} parts; give y as a tuple"
                " with values for each"
            )
        if len(values) != len(shapes):
            raise ValueError(
                f"observations of '{name}': values for {len(values)} parts were given, the equation"
                f" has {len(shapes)}"
            )

        def part(i: int) -> Equation:
            return lambda f, at, p: _parts(equation(f, at, p))[i]

        names = [name] if len(shapes) == 1 else [f"{name}.{i}" for i in range(len(shapes))]
        return [
            Group.resolve(n, part(i), points, y, observed.noise, physics=True)
            for i, (n, y) in enumerate(zip(names, values, strict=True))
        ]

    def _trial(self, fn: Equation, label: str) -> list[tuple[int, ...]]:
        """The shapes that a user's function returns, found without computing
        anything.
        """
        names, width = self.domain.names, len(self.outputs)

        def call(row: Any, p: dict[str, Any]) -> Any:
            smooth = Field(
                lambda row: jnp.sum(jnp.tanh(row)) * jnp.ones(width, row.dtype),
                names,
                tuple(self.outputs),
            )
            return [
                jnp.asarray(part) for part in _parts(fn(smooth, hand_over(names, row), _Named(p)))
            ]

        try:
            result = jax.eval_shape(
                call, jnp.zeros(len(names)), {k: jnp.asarray(v) for k, v in self.guesses().items()}
            )
        except _UnknownNameError as error:
            raise ValueError(
                f"{label} asks for {error}; the unknowns are {', '.join(self.unknowns) or 'none'}"
            ) from error
        except Exception as error:
            hint = _hint(error, names)
            text = str(error).splitlines()[0] if hint and str(error) else str(error)
            raise ValueError(
                f"{label} failed at a trial point: {type(error).__name__}: {text}{hint}"
            ) from error
        return [part.shape for part in result]


class _UnknownNameError(KeyError):
    """An equation asked for an unknown that the problem does not have."""


class _Named(dict[str, Any]):
    """The unknowns as an equation sees them in a trial, telling a missing one from
    other missing keys.
    """

    def __missing__(self, name: str) -> Any:
        raise _UnknownNameError(name)


def _parts(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _say(shapes: list[tuple[int, ...]]) -> str:
    return "arrays of shape " + ", ".join(map(str, shapes)) if shapes else "nothing"


def _hint(error: Exception, names: tuple[str, ...]) -> str:
    """What is likely to be wrong with a user's function that cannot be traced."""
    text = str(error)
    if isinstance(error, AttributeError) and len(names) == 1 and "Tracer" in text:
        return (
            f" (with one coordinate the point is the plain number {names[0]}: write at, not"
            f" at.{names[0]})"
        )
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return " (write jnp.where(condition, a, b) in place of if)"
    if isinstance(
        error, jax.errors.TracerArrayConversionError | jax.errors.ConcretizationTypeError
    ):
        return " (use functions of jax.numpy, such as jnp.exp, in place of those of numpy or math)"
    if "callable" in text.lower():
        return " (give derivatives the field itself, derivative(u, x), not its value u(x))"
    if "NoneType" in text or "None" in text:
        return " (does it return its value?)"
    return ""
