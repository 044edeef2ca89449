"""What identifies a run, so that a checkpoint is continued by the same run only."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from ..methods.base import AbstractMethod
from ..model.model import Data, Model


def run_identity(
    model: Model, method: AbstractMethod, data: Data, seed: int, first: int
) -> dict[str, Any]:
    """Return everything that must agree between a run and its resumption, by name.

    Arguments:
        model: the problem made computable.
        method: the method.
        data: observed values by group, (data set, n).
        seed: seed of the run.
        first: number of the first data set.
    """
    one = {name: y[0] for name, y in data.items()}
    return {
        "problem": problem_digest(model, one),
        "data": digest(*(np.asarray(data[name]).tobytes() for name in sorted(data))),
        "method": method.name,
        "settings": json.loads(json.dumps(method.settings())),
        "seed": seed,
        "first": first,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
    }


def differences(stored: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Return in words what differs between a stored identity and the wanted one; an empty
    text if nothing does.

    Example:
        >>> differences({"seed": 1, "first": 0}, {"seed": 2, "first": 0})
        'seed (1 then, 2 now)'
    """
    changed = [key for key in wanted if stored.get(key) != wanted[key]]
    return ", ".join(f"{key} ({stored.get(key)} then, {wanted[key]} now)" for key in changed)


def problem_digest(model: Model, data: Data) -> str:
    """Return a short text that differs between problems with another equation, noise,
    points or network.
    """
    program = jax.make_jaxpr(lambda theta: model.residuals(theta, data))(jnp.zeros(model.size))
    text = re.sub(r"0x[0-9a-f]+", "", str(program))  # without addresses of Python objects
    points = [np.asarray(a).tobytes() for g in model.groups for a in (g.points.array, g.index)]
    return digest(text.encode(), *points, *_constants_of(program))


def digest(*parts: bytes) -> str:
    """Return a short text that differs between different parts.

    Example:
        >>> digest(b"a", b"b") == digest(b"ab")
        False
    """
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _constants_of(program: Any) -> Iterator[bytes]:
    """Yield the numbers in a traced program, which its text leaves out where arrays are
    large.
    """
    if isinstance(program, ClosedJaxpr | Jaxpr):
        # newer versions of JAX have one class for both, with constants and equations
        yield from (np.asarray(c).tobytes() for c in getattr(program, "consts", ()))
        for eqn in program.eqns:
            yield from (np.asarray(v.val).tobytes() for v in eqn.invars if isinstance(v, Literal))
            for inner in jax.tree.leaves(
                list(eqn.params.values()), is_leaf=lambda v: isinstance(v, ClosedJaxpr | Jaxpr)
            ):
                yield from _constants_of(inner)
