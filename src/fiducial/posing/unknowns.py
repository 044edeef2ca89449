"""The unknown constants of an equation: their allowed values and their guesses.

Optimisers and samplers work with an unconstrained, dimensionless number (``raw``), the
equation with the value in the user's units. The guess sets the scale, so that a
diffusivity near 1e-9 needs no special care.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class AbstractUnknown(eqx.Module):
    """An unknown scalar or vector with its constraint and its guess."""

    guess: eqx.AbstractVar[np.ndarray]
    kind: eqx.AbstractClassVar[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value: ``()`` for a scalar."""
        return self.guess.shape

    @abc.abstractmethod
    def constrain(self, raw: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Return the value in the user's units."""

    @abc.abstractmethod
    def unconstrain(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Return the unconstrained number that represents ``value``."""


def _guess(value: float | Sequence[float] | np.ndarray, kind: str) -> np.ndarray:
    guess = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(guess)):
        raise ValueError(f"{kind}(guess={value}): the guess must be finite; give a number")
    return guess


class Real(AbstractUnknown):
    """An unknown that may take any real value.

    Arguments:
        guess: initial value; a sequence makes the unknown a vector.
        scale: typical size of the value; by default that of the guess, or 1 when the
            guess is 0.

    Example:
        >>> Real(guess=0.5).shape
        ()
    """

    guess: np.ndarray
    scale: np.ndarray
    kind: ClassVar[str] = "real"

    def __init__(self, guess: float | Sequence[float] = 0.0, scale: float | None = None):
        self.guess = _guess(guess, "Real")
        if scale is not None and not (np.isfinite(scale) and scale > 0):
            raise ValueError(
                f"Real(scale={scale}): the scale must be positive; leave it out to take the guess's"
            )
        size = np.abs(self.guess)
        self.scale = (
            np.where(size > 0, size, 1.0) if scale is None else np.full(size.shape, float(scale))
        )

    def constrain(self, raw: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return raw * self.scale

    def unconstrain(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return value / self.scale


class Positive(AbstractUnknown):
    """An unknown greater than zero, represented by its logarithm.

    Arguments:
        guess: initial value, positive; a sequence makes the unknown a vector.

    Example:
        >>> float(Positive(guess=2.0).constrain(0.0))
        1.0
    """

    guess: np.ndarray
    kind: ClassVar[str] = "positive"

    def __init__(self, guess: float | Sequence[float] = 1.0):
        self.guess = _guess(guess, "Positive")
        if not np.all(self.guess > 0):
            raise ValueError(
                f"Positive(guess={guess}): the guess must be greater than 0; use Real for other"
                " values"
            )

    def constrain(self, raw: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.exp(raw)

    def unconstrain(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.log(value)


class Interval(AbstractUnknown):
    """An unknown between two known limits, represented by its logit.

    Arguments:
        lower: lower limit.
        upper: upper limit.
        guess: initial value strictly between them; by default the middle.

    Example:
        >>> float(Interval(0.0, 4.0).guess)
        2.0
    """

    guess: np.ndarray
    lower: float
    upper: float
    kind: ClassVar[str] = "interval"

    def __init__(self, lower: float, upper: float, guess: float | Sequence[float] | None = None):
        if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
            raise ValueError(
                f"Interval({lower}, {upper}): the limits must be finite and in increasing order"
            )
        self.lower = float(lower)
        self.upper = float(upper)
        self.guess = _guess(0.5 * (lower + upper) if guess is None else guess, "Interval")
        if not np.all((self.guess > lower) & (self.guess < upper)):
            raise ValueError(
                f"Interval({lower}, {upper}, guess={guess}): the guess must lie strictly between"
                " the limits; leave it out to take the middle"
            )

    def constrain(self, raw: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.lower + (self.upper - self.lower) * jax.nn.sigmoid(raw)

    def unconstrain(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        share = (value - self.lower) / (self.upper - self.lower)
        return jnp.log(share) - jnp.log1p(-share)


def known_constants(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return known constants as arrays.

    Raises:
        ValueError: when one is not a finite number or an array of these.
    """
    found = {}
    for name, value in values.items():
        try:
            found[name] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"known['{name}'] = {value!r}: give a number") from None
        if not np.isfinite(found[name]).all():
            raise ValueError(f"known['{name}'] = {value!r}: give a finite number")
    return found
