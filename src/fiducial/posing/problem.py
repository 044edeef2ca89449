"""The problem: an equation, its domain, unknown constants, and observations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .collocation import Collocation
from .coordinates import Box
from .groups import Group
from .names import check_group_names, check_names, check_units
from .networks import MLP, as_recipe
from .observations import Observed
from .resolving import Resolver
from .trial import Equation
from .truth import Truth
from .unknowns import AbstractUnknown, known_constants

ExactLimits = Callable[[Mapping[str, np.ndarray], Any, float], Mapping[str, tuple[Any, Any]]]
"""A function ``(data, x, level) -> {name: (lower, upper)}``; see ``Problem``."""


@dataclass(frozen=True)
class Output:
    """Known properties of one output of the field.

    Arguments:
        positive: whether the output cannot be negative; a softplus then keeps it
            positive.
        scale: its typical size; by default that of its observations.
    """

    positive: bool = False
    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None and not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"Output(scale={self.scale!r}): the scale must be positive; leave it out to take"
                " it from the observations"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """A differential equation with data.

    Arguments:
        equation: ``(field, at, p) -> residual`` for one point, or a tuple of residuals
            for a system; None for a regression without physics.
        domain: the ranges of the coordinates.
        observations: the measured and the prescribed values.
        unknowns: the unknown constants by name, such as ``{"k": Positive(1.0)}``.
        outputs: names of the field's outputs, or a mapping from name to ``Output``.
        collocation: where the equation must equal zero. If left out, a default set of
            points is used unless there are observations of ``"equation"``.
        known: known constants by name, such as ``{"dose": 2.0}``; the equation reads
            them as ``p["dose"]``.
        network: the network that represents the solution: ``MLP(...)``, a recipe, or
            an Equinox module.
        representation: what represents the solution in place of a network.
        constraint: ``(u, at, p) -> u``, a transform of the outputs that makes a
            condition hold exactly, such as ``lambda u, t, p: 1.0 + t * u``. With
            several outputs, ``u`` and the returned value are dictionaries.
        units: units by name of coordinate, output or unknown, for tables and figures.
        truth: the true answer, where it is known.
        exact: ``(data, x, level) -> {name: (lower, upper)}``, the exact interval of
            each output at ``x`` and of each unknown, where theory gives it. ``data``
            holds the observed values by group; ``x`` is a vector for one coordinate,
            else a mapping.
        name: name of the problem.
        options: the options with which the catalogue made the problem, so that a saved
            result can be loaded by name.

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
    known: Mapping[str, Any] = field(default_factory=dict)
    network: Any = field(default_factory=MLP)
    representation: Any = None
    constraint: Callable[[Any, Any, Any], Any] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    truth: Truth | None = None
    exact: ExactLimits | None = None
    name: str = "problem"
    options: Mapping[str, Any] | None = None
    groups: tuple[Group, ...] = field(init=False, repr=False)
    recipe: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if not isinstance(self.domain, Box):
            raise TypeError(f"domain={self.domain!r}: give a Box, such as Box(x=(0, 1))")
        put("outputs", _named_outputs(self.outputs))
        put("recipe", self.representation or as_recipe(self.network))
        put("known", known_constants(self.known))
        for name, unknown in self.unknowns.items():
            if not isinstance(unknown, AbstractUnknown):
                raise TypeError(
                    f"unknowns['{name}'] = {unknown!r}: give Real(guess), Positive(guess) or"
                    " Interval(lower, upper)"
                )
        check_names(self.domain.names, self.outputs, [*self.unknowns, *self.known])
        check_units(self.units, self.domain.names, self.outputs, self.unknowns, self.known)
        given = self.observations
        put("observations", (given,) if isinstance(given, Observed) else tuple(given))
        if not self.observations:
            raise ValueError(
                "a problem needs observations; give at least one, such as"
                " observations=[Observed('u', x=[0.0], y=[1.0])]"
            )
        trial = {**self.guesses(), **self.known}
        resolver = Resolver(self.equation, self.domain, tuple(self.outputs), trial)
        put("groups", resolver.groups(self.observations, self.collocation))
        check_group_names(g.name for g in self.groups)
        sizes = {f"{n}_{g.name}" for g in self.groups for n in g.noise_unknowns()}
        taken = sizes & {*self.unknowns, *self.known}
        if taken:
            raise ValueError(
                f"unknowns: {', '.join(taken)} is the name of an inferred"
                " noise size; choose another name"
            )

    def __repr__(self) -> str:
        unknown = ", ".join(self.unknowns) or "none"
        data = ", ".join(f"{g.name} ({g.y.size})" for g in self.groups)
        return (
            f"Problem({self.name}: {', '.join(self.outputs)} on {self.domain!r}; unknowns:"
            f" {unknown}; observations: {data})"
        )

    def replace(self, **changes: Any) -> "Problem":
        """Return a problem with some arguments changed.

        The catalogue does not know the new problem by its options.

        Example:
            ``problem.replace(network=MLP(hidden=(100, 100)))``
        """
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        stray = set(changes) - set(given)
        if stray:
            raise TypeError(
                f"a problem has no {', '.join(sorted(stray))}; it has {', '.join(given)}"
            )
        return Problem(**{**given, "options": None, **changes})

    def with_data(self, values: Mapping[str, np.ndarray]) -> "Problem":
        """Return the problem with other observed values.

        Arguments:
            values: the new values by group; other groups keep theirs.
        """
        observations = list(self.observations)
        known = [g.name for g in self.groups if g.observation is not None]
        stray = set(values) - set(known)
        if stray:
            raise ValueError(
                f"there are no observations called {', '.join(sorted(stray))}; there are"
                f" {', '.join(known)}"
            )
        for i, observed in enumerate(observations):
            own = [g for g in self.groups if g.observation == i]
            if any(g.name in values for g in own):
                y = tuple(_new_values(g, values.get(g.name, g.y)) for g in own)
                observations[i] = observed.with_values(y if len(y) > 1 else y[0])
        return self.replace(observations=observations)

    def constrain(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the unknowns in the user's units from their unconstrained values."""
        return {name: unknown.constrain(raw[name]) for name, unknown in self.unknowns.items()}

    def guesses(self) -> dict[str, np.ndarray]:
        """Return the starting values of the unknowns."""
        return {name: unknown.guess for name, unknown in self.unknowns.items()}


def _named_outputs(outputs: Any) -> dict[str, Output]:
    if isinstance(outputs, str):
        raise TypeError(
            f"outputs={outputs!r}: give a sequence of names, such as outputs=('{outputs}',)"
        )
    return dict(outputs) if isinstance(outputs, Mapping) else {n: Output() for n in outputs}


def _new_values(group: Group, values: Any) -> np.ndarray:
    """Return new values in the shape of the group's own."""
    y = np.asarray(values, dtype=float)
    if y.size != group.y.size:
        raise ValueError(
            f"group '{group.name}' has {group.y.size} observations, {y.size} values were given;"
            " give one for each"
        )
    if not np.isfinite(y).all():
        raise ValueError(
            f"group '{group.name}': {np.sum(~np.isfinite(y))} of the values are not finite;"
            " remove the points or correct the values"
        )
    return y.reshape(group.shape)
