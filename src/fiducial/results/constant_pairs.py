"""The unknown constants beside each other: which of them the data cannot tell apart."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .result import Result

TOGETHER = 0.99
"""Constants whose correlation is larger than this lie on a curve."""


class Constants(NamedTuple):
    """Draws of the unknown constants, vectors taken apart.

    Attributes:
        labels: name of each component, as in ``Result.parameters``.
        names: name of the unknown it belongs to.
        values: the draws, (draw, component).
        positive: which of them are positive by nature, and compared by their
            logarithms.
    """

    labels: list[str]
    names: list[str]
    values: np.ndarray
    positive: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        """The draws, logarithms where constants are positive."""
        return np.where(
            self.positive, np.log(np.where(self.positive, self.values, 1.0)), self.values
        )

    @property
    def still(self) -> np.ndarray:
        """Which of them do not move at all."""
        scaled = self.scaled
        return ~(scaled.std(axis=0) > 1e-9 * np.maximum(np.abs(scaled).max(axis=0), 1e-300))


class Pair(NamedTuple):
    """Two constants that move together, by their numbers; ``slope`` says how the
    first follows the second.
    """

    first: int
    second: int
    correlation: float
    slope: float


def constants(result: "Result") -> Constants | None:
    """The draws of a result's unknown constants; None without draws or without
    unknowns.
    """
    draws, unknowns = result.draws, result.problem.unknowns
    if draws is None or not unknowns:
        return None
    labels, names, columns, positive = [], [], [], []
    for name, unknown in unknowns.items():
        drawn = draws[name].values
        shape = drawn.shape[2:]
        columns.append(drawn.reshape(drawn.shape[0] * drawn.shape[1], -1))
        labels += [name + (f"[{','.join(map(str, i))}]" if i else "") for i in np.ndindex(shape)]
        count = columns[-1].shape[1]
        names += [name] * count
        positive += [unknown.kind == "positive"] * count
    return Constants(labels, names, np.concatenate(columns, axis=1), np.array(positive))


def pairs(found: Constants) -> list[Pair]:
    """All pairs, the most strongly correlated first."""
    scaled = found.scaled
    moving = np.flatnonzero(~found.still)
    if len(moving) < 2:
        return []
    correlation = np.corrcoef(scaled[:, moving].T)
    sd = scaled.std(axis=0)
    every = [
        Pair(
            int(i),
            int(j),
            float(correlation[a, b]),
            float(np.sign(correlation[a, b]) * sd[i] / sd[j]),
        )
        for a, i in enumerate(moving)
        for b, j in enumerate(moving)
        if a < b
    ]
    return sorted(every, key=lambda pair: -abs(pair.correlation))


def hardly_known(found: Constants) -> np.ndarray:
    """Which constants have a 95 % interval that is wider than their median is large;
    a mean need not exist.
    """
    lower, middle, upper = np.quantile(found.values, [0.025, 0.5, 0.975], axis=0, method="weibull")
    return upper - lower > np.abs(middle)


def describe(found: Constants, pair: Pair) -> str:
    """Which two constants move together, how, and how far."""
    i, j = pair.first, pair.second
    one, other = found.labels[i], found.labels[j]
    if found.positive[i] and found.positive[j]:
        how = f"{one} goes as {other}^{pair.slope:.2g}"
    else:
        left, right = (f"log {n}" if found.positive[k] else n for k, n in ((i, one), (j, other)))
        how = f"{left} changes by {pair.slope:.2g} for each unit of {right}"
    spans = [np.quantile(found.values[:, k], [0.025, 0.975], method="weibull") for k in (i, j)]
    far = ", ".join(
        f"{n} from {low:.2g} to {high:.2g}"
        for n, (low, high) in zip((one, other), spans, strict=True)
    )
    return f"{one} and {other} move together (correlation {pair.correlation:.4f}; {how}), {far}"
