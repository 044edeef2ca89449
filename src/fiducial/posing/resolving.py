"""From a user's observations to groups that methods compute with."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from .collocation import Collocation, Filling, default
from .coordinates import Box, Points
from .groups import Group
from .observations import Observed
from .trial import Equation, describe_shapes, parts_of, returned_shapes


class Resolver:
    """Resolves observations against the equation, the domain and the outputs.

    Arguments:
        equation: the equation, or None.
        domain: the domain.
        outputs: names of the outputs.
        guesses: the guess of each unknown constant.
    """

    def __init__(
        self,
        equation: Equation | None,
        domain: Box,
        outputs: tuple[str, ...],
        guesses: Mapping[str, np.ndarray],
    ):
        self.equation = equation
        self.domain = domain
        self.outputs = outputs
        self.guesses = guesses

    def groups(
        self, observations: Sequence[Observed], collocation: Collocation | None
    ) -> tuple[Group, ...]:
        """Return a group for each observation and each equation of a system.

        Collocation points become a group of exact values of the equation. Where two
        observations have the same name, noisy ones keep it and the others are
        numbered.
        """
        every = list(observations)
        rule = collocation or default
        for i, observed in enumerate(every):
            if not isinstance(observed, Observed):
                raise TypeError(
                    f"observations[{i}] = {observed!r}: give Observed(...), such as"
                    " Observed('u', x=[0.0], y=[1.0])"
                )
        stated = any(o.what == "equation" for o in every)
        if self.equation is not None and (collocation is not None or not stated):
            name = "collocation" if stated else "equation"
            every.append(Observed("equation", x=np.asarray(rule(self.domain)), name=name))
        names = _distinct_names(every)
        groups: list[Group] = []
        for i, (observed, name) in enumerate(zip(every, names, strict=True)):
            collocated = i == len(observations)
            groups += [
                dataclasses.replace(
                    group,
                    filling=collocated and isinstance(rule, Filling),
                    observation=None if collocated else i,
                )
                for group in self._groups_of(observed, name)
            ]
        return tuple(groups)

    def _groups_of(self, observed: Observed, name: str) -> list[Group]:
        points = self.domain.points(observed.x, label=f"observations of '{name}'")
        what = observed.what
        if what == "equation":
            return self._equation_groups(observed, name, points)
        assert isinstance(observed.y, np.ndarray)
        if isinstance(what, str):
            if what not in self.outputs:
                raise ValueError(
                    f"Observed('{what}', ...): the outputs are {', '.join(self.outputs)}; give"
                    " one of them, 'equation', or a function (field, at, p)"
                )
            output = what
            quantity: Equation = lambda f, at, p: f[output](at)  # noqa: E731
            return [Group.resolve(name, quantity, points, observed.y, observed.noise, output=what)]
        shapes = self._shapes(what, f"the function observed as '{name}'")
        if shapes != [()]:
            raise ValueError(
                f"the function observed as '{name}' must return one number per point; it returns"
                f" {describe_shapes(shapes)}"
            )
        return [Group.resolve(name, what, points, observed.y, observed.noise)]

    def _equation_groups(self, observed: Observed, name: str, points: Points) -> list[Group]:
        equation, y = self.equation, observed.y
        if equation is None:
            raise ValueError(
                "there are observations of 'equation', but the problem has no equation; give"
                " equation=..."
            )
        shapes = self._shapes(equation, "the equation")
        if not shapes or any(shape != () for shape in shapes):
            raise ValueError(
                "the equation must return one number per point, or a tuple of numbers for a"
                f" system; it returns {describe_shapes(shapes)}"
            )
        values = y if isinstance(y, tuple) else (y,) * len(shapes)
        label = f"observations of '{name}'"
        if isinstance(y, np.ndarray) and y.ndim and len(shapes) > 1:
            raise ValueError(
                f"{label}: the equation has {len(shapes)} parts; give y as a tuple with values"
                " for each"
            )
        if len(values) != len(shapes):
            raise ValueError(
                f"{label}: values for {len(values)} parts were given, the equation has"
                f" {len(shapes)}"
            )

        def part(i: int) -> Equation:
            return lambda f, at, p: parts_of(equation(f, at, p))[i]

        names = [name] if len(shapes) == 1 else [f"{name}.{i}" for i in range(len(shapes))]
        return [
            Group.resolve(n, part(i), points, v, observed.noise, physics=True)
            for i, (n, v) in enumerate(zip(names, values, strict=True))
        ]

    def _shapes(self, fn: Equation, label: str) -> list[tuple[int, ...]]:
        return returned_shapes(
            fn,
            label,
            coordinates=self.domain.names,
            outputs=self.outputs,
            guesses=self.guesses,
        )


def _distinct_names(observations: list[Observed]) -> list[str]:
    """Return a different name for each observation, numbers added where needed."""
    names: dict[int, str] = {}
    for i in sorted(range(len(observations)), key=lambda i: observations[i].noise is None):
        name = observations[i].name
        number = 1
        while name in names.values():
            number += 1
            name = f"{observations[i].name}_{number}"
        names[i] = name
    return [names[i] for i in range(len(observations))]
