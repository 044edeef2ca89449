"""The true answer of a simulated problem, for judging intervals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..device import jit
from .coordinates import Points


@dataclass(frozen=True)
class Truth:
    """The true answer of a simulated problem.

    Arguments:
        outputs: for each output, its true value as a function of a point.
        unknowns: the true constants.
        noise: for each group whose noise is unknown, its true parameters, such as
            ``{"u": {"sd": 0.1}}``.
    """

    outputs: Mapping[str, Callable[[Any], Any]]
    unknowns: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def at(self, points: Points) -> dict[str, np.ndarray]:
        """Return the true values of every output at the given points."""
        with jax.enable_x64(True):
            return {name: np.asarray(v) for name, v in self._evaluator(points).items()}

    @cached_property
    def _evaluator(self) -> Callable[[Points], dict[str, Any]]:
        def evaluate(points: Points) -> dict[str, Any]:
            shape = (len(points),)
            return {n: jnp.broadcast_to(points.map(f), shape) for n, f in self.outputs.items()}

        return jit(evaluate)
