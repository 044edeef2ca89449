"""Initial values of the parameters: a start of the representation, and unknowns at
their guesses.
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown
from ..representations import representation_of


def initial_tree(
    problem: Problem,
    noise_unknowns: Mapping[str, Mapping[str, AbstractUnknown]],
    key: PRNGKeyArray,
) -> dict[str, Any]:
    """Return parameters of the representation to start from, and the unknown constants
    and noise parameters at their guesses, unconstrained.
    """
    return {
        "field": representation_of(problem.recipe).initial(problem, key),
        "unknowns": {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in problem.unknowns.items()},
        "noise": {
            g: {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in own.items()}
            for g, own in noise_unknowns.items()
        },
    }
