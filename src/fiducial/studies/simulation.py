"""Data sets simulated from a known truth, or from a fitted result in its place."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import run_once
from ..posing.fields import field_of_functions
from ..posing.groups import Group
from ..posing.problem import Problem
from ..posing.truth import Truth
from ..running.compiled import Compiled

if TYPE_CHECKING:
    from ..results.result import Result

_STREAM = 0x5EED
"""Number folded into the key of simulated data, so that their random numbers differ from
those of methods with the same seed."""


def simulate(
    problem: Problem, replicates: int, *, seed: int, first: int = 0
) -> dict[str, np.ndarray]:
    """Simulate data sets from the problem's truth.

    Exact groups keep their values. Data set i depends on the seed and on i alone.

    Arguments:
        problem: a problem with a truth.
        replicates: number of data sets.
        seed: seed of the errors.
        first: number of the first data set.

    Returns:
        Observed values by group, (data set, n).

    Example:
        >>> from fiducial import problem
        >>> simulate(problem("poisson"), 3, seed=0)["u"].shape
        (3, 20)
    """
    return Simulator(problem).draw(replicates, seed=seed, first=first)


class Simulator:
    """Simulates any number of batches of data sets of a problem, compiled once.

    Arguments:
        problem: a problem with a truth.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.seconds = {"compile": 0.0, "run": 0.0}
        with jax.enable_x64(True):
            means, sizes = true_means(problem), _noise_parameters(problem)
        noisy = [g for g in problem.groups if g.noise is not None]

        def one(seed: Any, i: Any) -> dict[str, Any]:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), _STREAM), i)
            made = {}
            for j, g in enumerate(noisy):
                z = jax.random.normal(jax.random.fold_in(key, j), (g.y.size,), jnp.float64)
                assert g.noise is not None
                made[g.name] = g.noise.push(jnp.asarray(means[g.name]), z, g.points, sizes[g.name])
            return made

        self._batch = Compiled(jax.vmap(one, (None, 0)), self.seconds, warm_up=True)

    def draw(self, replicates: int, *, seed: int, first: int = 0) -> dict[str, np.ndarray]:
        """Return observed values by group, (data set, n); see ``simulate``."""
        with jax.enable_x64(True):
            made = self._batch(np.asarray(seed), first + np.arange(replicates))
        return {
            g.name: np.asarray(made[g.name]) if g.name in made else np.tile(g.y, (replicates, 1))
            for g in self.problem.groups
        }


def true_means(problem: Problem) -> dict[str, np.ndarray]:
    """Return the error-free value of every observation, by group."""
    truth = _truth(problem)
    field = field_of_functions({n: truth.outputs[n] for n in problem.outputs}, problem.domain.names)
    unknowns = {n: jnp.asarray(v, float) for n, v in truth.unknowns.items()}
    missing = sorted(set(problem.unknowns) - set(unknowns))
    if missing:
        raise ValueError(
            f"the truth of problem '{problem.name}' does not say what {', '.join(missing)} is; add"
            " it to Truth(unknowns=...)"
        )

    def mean(group: Group) -> Any:
        return group.sites.map(lambda at: jnp.asarray(group.quantity(field, at, unknowns)))[
            group.index
        ]

    return {
        name: np.asarray(v)
        for name, v in run_once(lambda: {g.name: mean(g) for g in problem.groups}).items()
    }


def truth_from(result: "Result") -> Truth:
    """Return a fitted result as a truth, to simulate data from (parametric bootstrap)."""
    theta = np.asarray(result.tree["estimate"]["theta"])
    model = result.model

    def output(name: str) -> Any:
        # made an array when called, inside the float64 of the caller
        return lambda at: model.field(jnp.asarray(theta))[name](at)

    with jax.enable_x64(True):
        return Truth(
            outputs={name: output(name) for name in result.problem.outputs},
            unknowns={n: np.asarray(v) for n, v in model.unknowns(jnp.asarray(theta)).items()},
            noise={
                g: {n: float(v) for n, v in own.items()}
                for g, own in model.noise(jnp.asarray(theta)).items()
            },
        )


def _truth(problem: Problem) -> Truth:
    if problem.truth is None:
        raise ValueError(
            f"problem '{problem.name}' carries no truth to simulate from; give"
            " Problem(truth=Truth(...))"
        )
    return problem.truth


def _noise_parameters(problem: Problem) -> dict[str, dict[str, Any]]:
    known = _truth(problem).noise
    for g in problem.groups:
        missing = sorted(set(g.noise_unknowns()) - set(known.get(g.name, {})))
        if missing:
            raise ValueError(
                f"the truth of problem '{problem.name}' does not say what the {', '.join(missing)}"
                f" of '{g.name}' is; add it to Truth(noise={{'{g.name}': {{'{missing[0]}': ...}}}})"
            )
    return {
        g.name: {n: jnp.asarray(v, float) for n, v in known.get(g.name, {}).items()}
        for g in problem.groups
    }
