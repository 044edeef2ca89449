"""From a problem to a model that methods can compute with."""

import equinox as eqx
import jax

from ..device import run_once
from ..posing.problem import Problem
from ..representations.ansatz import Ansatz
from .flat import unraveller
from .model import Model
from .scaling import output_scaling, residual_scales
from .start import build_network, start_tree

# Inputs are scaled to [-3, 3]: a fresh network with unit-sized weights then bends over
# the domain. On [-1, 1] it is nearly a straight line, and Adam hardly leaves that.
_INPUT_REACH = 3.0


def bind(problem: Problem) -> Model:
    """Make a problem computable, and check that it can be evaluated at its starting
    values.

    Call inside ``jax.enable_x64(True)``. Raises ``ValueError`` when the equation or an
    observed function is not finite for a fresh network at the guesses of the unknowns.
    """
    noise_unknowns = {g.name: g.noise_unknowns() for g in problem.groups if not g.exact}
    key = jax.random.key(0)
    _, static = eqx.partition(build_network(problem, key), eqx.is_inexact_array)
    template = run_once(lambda key: start_tree(problem, noise_unknowns, key), key)
    box, size = problem.domain, sum(v.size for v in jax.tree.leaves(template))
    ansatz = Ansatz(
        problem=problem,
        size=size,
        static=static,
        unravel=unraveller(template),
        input=((box.lower + box.upper) / 2, (box.upper - box.lower) / (2 * _INPUT_REACH)),
        output=output_scaling(problem),
    )
    model = Model(problem, problem.groups, size, ansatz, scales={}, _noise_unknowns=noise_unknowns)
    for group in model.groups:
        model._traced_quantity(
            group
        )  # finds out what the quantity uses, which cannot be done while something else is traced
    model.scales.update(residual_scales(model))
    return model
