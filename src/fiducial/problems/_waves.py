"""A network whose inputs include a few cosines of one coordinate."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..posing.networks import MLP, Activation, tanh
from ..representations.taylor import Coefficients, Index, compose

_REACH = 3.0
"""Largest input: coordinates are scaled to [-3, 3]."""


class _WithWaves(eqx.Module):
    inner: Any
    waves: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " n_in"]) -> Float[Array, " n_out"]:
        return self.inner(jnp.concatenate([x, _wave(self._angle(x, 1.0))]))

    def series(
        self,
        x: Coefficients,
        indices: tuple[Index, ...],
        units: Float[Array, "u *points"] | None = None,
    ) -> Coefficients:
        """Return the Taylor coefficients of the outputs from those of the inputs."""
        zero = min(x)
        waves = compose(
            _wave, {index: self._angle(v, float(index == zero)) for index, v in x.items()}, indices
        )
        shown = {index: jnp.broadcast_to(x.get(index, 0.0), x[zero].shape) for index in waves}
        return self.inner.series(
            {index: jnp.concatenate([shown[index], v]) for index, v in waves.items()},
            indices,
            units,
        )

    def _angle(
        self, x: Float[Array, "n_in *points"], shift: float
    ) -> Float[Array, "waves *points"]:
        return jnp.multiply.outer(jnp.pi * jnp.arange(1, self.waves + 1), x[0] / _REACH + shift) / 2


def _wave(angle: Array) -> Array:
    return _REACH * jnp.cos(angle)


class MLPWithWaves(eqx.Module):
    """A fully connected network whose inputs are the coordinates and the first cosines
    of the first one over its range.

    A few narrow layers then follow a profile that rises and falls across the range, for
    which an MLP of the coordinates alone needs more of both, and many more steps.

    Arguments:
        hidden: widths of the hidden layers.
        waves: number of cosines.
        activation: as in ``MLP``.
    """

    hidden: tuple[int, ...]
    waves: int
    activation: Activation

    def __init__(self, hidden: Sequence[int], waves: int, activation: Activation = tanh):
        self.hidden, self.waves, self.activation = tuple(hidden), waves, activation

    def build(self, n_in: int, n_out: int, *, key: PRNGKeyArray) -> Callable[[Array], Array]:
        return _WithWaves(
            MLP(self.hidden, self.activation).build(n_in + self.waves, n_out, key=key), self.waves
        )
