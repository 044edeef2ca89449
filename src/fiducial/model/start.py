"""Where every chain starts: a fresh network, and unknowns at their guesses."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..posing.problem import Problem
from ..posing.unknowns import AbstractUnknown


def parameter_count(problem: Problem) -> int:
    """The length of ``theta``, found without computing."""
    noise_unknowns = {g.name: g.noise_unknowns() for g in problem.groups if not g.exact}
    with jax.enable_x64(True):
        tree = eqx.filter_eval_shape(start_tree, problem, noise_unknowns, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def build_network(problem: Problem, key: PRNGKeyArray) -> Any:
    """A fresh network of the problem's kind."""
    return problem.recipe.build(len(problem.domain.names), len(problem.outputs), key=key)


def start_tree(
    problem: Problem, noise_unknowns: dict[str, dict[str, AbstractUnknown]], key: PRNGKeyArray
) -> dict[str, Any]:
    """A fresh network with the unknowns and the noise parameters at their guesses,
    unconstrained.
    """
    network = eqx.filter(build_network(problem, key), eqx.is_inexact_array)
    return {
        "network": jax.tree.map(lambda v: v.astype(jnp.float64), network),
        "unknowns": {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in problem.unknowns.items()},
        "noise": {
            g: {n: u.unconstrain(jnp.asarray(u.guess)) for n, u in us.items()}
            for g, us in noise_unknowns.items()
        },
    }
