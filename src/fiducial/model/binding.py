"""From a problem to a model that methods can compute with."""

import dataclasses

import jax

from ..posing.problem import Problem
from ..representations import representation_of
from .layout import Layout
from .model import Model
from .scaling import residual_scales


def bind(problem: Problem) -> Model:
    """Return a model of the problem, for methods to compute with.

    Raises:
        ValueError: when the equation or an observed function is not finite for a random
            network with the unknowns at their guesses.
    """
    with jax.enable_x64(True):
        kind = representation_of(problem.recipe)
        layout = Layout.of(problem)
        held = kind.held(problem)
        model = Model(
            problem=problem,
            groups=tuple(g for g in problem.groups if g.name not in held),
            layout=layout,
            representation=kind.of(problem, size=layout.size, parts=layout.parts),
            scales={},
        )
        return dataclasses.replace(model, scales=residual_scales(model))
