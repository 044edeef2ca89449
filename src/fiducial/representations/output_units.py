"""Outputs in the user's units, from numbers of size one that a representation computes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..posing.problem import Problem

_CONSTANT = 1e-6
"""Relative range below which observed values count as constant; they then say nothing
about how much the field varies.
"""


class OutputUnits(NamedTuple):
    """The outputs of a field: ``offset + unit * raw``, or ``unit * softplus(raw)`` for
    those that are positive.
    """

    offset: Any
    unit: Any


def units_of_outputs(problem: Problem) -> OutputUnits:
    """Return the offset and the size of each output, from direct observations of it."""
    assert isinstance(problem.outputs, Mapping)
    offsets = []
    units = []
    for name, output in problem.outputs.items():
        observed = [g.y for g in problem.groups if g.output == name]
        y = np.concatenate(observed) if observed else np.zeros(1)
        middle = 0.5 * float(y.min() + y.max())
        half_range = 0.5 * float(y.max() - y.min())
        size = float(np.abs(y).max())
        if half_range < _CONSTANT * size or output.positive:
            middle = 0.0
            half_range = size
        offsets.append(middle)
        units.append(output.scale or half_range or 1.0)
    return OutputUnits(offset=np.array(offsets), unit=np.array(units))


def in_user_units(
    problem: Problem, units: OutputUnits, raw: Float[Array, " outputs"], at: Any, p: dict[str, Any]
) -> Float[Array, " outputs"]:
    """Return outputs in the user's units, with the problem's constraint.

    Arguments:
        problem: the problem.
        units: offset and unit of each output.
        raw: numbers of size one.
        at: the point, as a user's function receives it.
        p: the constants.
    """
    assert isinstance(problem.outputs, Mapping)
    outputs = problem.outputs
    positive = np.array([output.positive for output in outputs.values()])
    unit = jnp.asarray(units.unit, raw.dtype)
    value = jnp.asarray(units.offset, raw.dtype) + unit * raw
    if positive.any():
        value = jnp.where(positive, unit * jax.nn.softplus(raw), value)
    constraint = problem.constraint
    if constraint is None:
        return value
    if len(outputs) == 1:
        return jnp.reshape(constraint(value[0], at, p), (1,))
    changed = constraint({n: value[i] for i, n in enumerate(outputs)}, at, p)
    return jnp.stack([jnp.asarray(changed[n]) for n in outputs])
