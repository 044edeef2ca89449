"""From a problem to a model that methods can compute with."""

import dataclasses

import equinox as eqx
import jax

from ..posing.problem import Problem
from ..representations.ansatz import Ansatz, InputScaling
from .initial import build_network
from .layout import Layout
from .model import Model
from .scaling import output_scaling, residual_scales

_INPUT_REACH = 3.0
"""Inputs are scaled to [-3, 3], where a random network with weights of size one bends.

On [-1, 1] it is nearly a straight line, and Adam hardly leaves that.
"""


def bind(problem: Problem) -> Model:
    """Return a model of the problem, for methods to compute with.

    Raises:
        ValueError: when the equation or an observed function is not finite for a random
            network with the unknowns at their guesses.
    """
    with jax.enable_x64(True):
        layout = Layout.of(problem)
        ansatz = _ansatz(problem, layout)
        model = Model(
            problem=problem,
            groups=problem.groups,
            layout=layout,
            ansatz=ansatz,
            evaluations={g.name: ansatz.evaluation(g.quantity, g.sites) for g in problem.groups},
            scales={},
        )
        return dataclasses.replace(model, scales=residual_scales(model))


def _ansatz(problem: Problem, layout: Layout) -> Ansatz:
    _, static = eqx.partition(build_network(problem, jax.random.key(0)), eqx.is_inexact_array)
    box = problem.domain
    return Ansatz(
        problem=problem,
        size=layout.size,
        static=static,
        parts=layout.parts,
        input=InputScaling(
            middle=(box.lower + box.upper) / 2,
            unit=(box.upper - box.lower) / (2 * _INPUT_REACH),
        ),
        output=output_scaling(problem),
    )
