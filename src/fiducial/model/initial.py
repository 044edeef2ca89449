"""Initial values of the parameters: a random network, and unknowns at their guesses."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown


def build_network(problem: Problem, key: PRNGKeyArray) -> Any:
    """Return a random network of the kind that the problem asks for."""
    return problem.recipe.build(len(problem.domain.names), len(problem.outputs), key=key)


def initial_tree(
    problem: Problem,
    noise_unknowns: Mapping[str, Mapping[str, AbstractUnknown]],
    key: PRNGKeyArray,
) -> dict[str, Any]:
    """Return the parameters of a random network, and the unknown constants and noise
    parameters at their guesses, unconstrained.
    """
    network = eqx.filter(build_network(problem, key), eqx.is_inexact_array)
    return {
        "network": jax.tree.map(lambda v: v.astype(jnp.float64), network),
        "unknowns": {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in problem.unknowns.items()},
        "noise": {
            g: {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in own.items()}
            for g, own in noise_unknowns.items()
        },
    }
