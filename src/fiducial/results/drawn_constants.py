"""The draws of the unknown constants side by side: which constants move together."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import limits

if TYPE_CHECKING:
    from .result import Result


class ConstantDraws(NamedTuple):
    """Draws of the unknown constants, a column for each component.

    Attributes:
        labels: name of each component, as in ``Result.parameters``.
        names: name of the unknown that it belongs to.
        values: the draws, (draw, component).
        positive: which components are positive by nature; these are compared by their
            logarithms.
    """

    labels: list[str]
    names: list[str]
    values: np.ndarray
    positive: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        """The draws, as logarithms where constants are positive."""
        logarithms = np.log(np.where(self.positive, self.values, 1.0))
        return np.where(self.positive, logarithms, self.values)

    @property
    def fixed(self) -> np.ndarray:
        """Which components have the same value in all draws."""
        scaled = self.scaled
        size = np.maximum(np.abs(scaled).max(axis=0), 1e-300)
        return ~(scaled.std(axis=0) > 1e-9 * size)


class Pair(NamedTuple):
    """Two components that move together.

    Attributes:
        first: number of one component.
        second: number of the other.
        correlation: of their scaled draws.
        slope: change of the first for a unit of the second.
    """

    first: int
    second: int
    correlation: float
    slope: float


def constant_draws(result: "Result") -> ConstantDraws | None:
    """Return the draws of the unknown constants; None without draws or unknowns."""
    draws, unknowns = result.draws, result.problem.unknowns
    if draws is None or not unknowns:
        return None
    labels: list[str] = []
    names: list[str] = []
    positive: list[bool] = []
    columns = []
    for name, unknown in unknowns.items():
        drawn = draws[name].values
        shape = drawn.shape[2:]
        columns.append(drawn.reshape(drawn.shape[0] * drawn.shape[1], -1))
        labels += [name + (f"[{','.join(map(str, i))}]" if i else "") for i in np.ndindex(shape)]
        count = columns[-1].shape[1]
        names += [name] * count
        positive += [unknown.kind == "positive"] * count
    return ConstantDraws(labels, names, np.concatenate(columns, axis=1), np.array(positive))


def correlated_pairs(found: ConstantDraws) -> list[Pair]:
    """Return all pairs of components that move, the most strongly correlated first."""
    scaled = found.scaled
    moving = np.flatnonzero(~found.fixed)
    if len(moving) < 2:
        return []
    correlation = np.corrcoef(scaled[:, moving].T)
    sd = scaled.std(axis=0)
    pairs = []
    for a, i in enumerate(moving):
        for b, j in enumerate(moving[:a]):
            r = float(correlation[b, a])
            pairs.append(Pair(int(j), int(i), r, float(np.sign(r) * sd[j] / sd[i])))
    pairs.sort(key=lambda pair: (pair.first, pair.second))
    return sorted(pairs, key=lambda pair: -abs(pair.correlation))


def poorly_determined(found: ConstantDraws) -> np.ndarray:
    """Return which components have a 95 % interval wider than their median."""
    quantiles = np.quantile(found.values, [0.025, 0.5, 0.975], axis=0, method="weibull")
    lower, middle, upper = quantiles
    return upper - lower > np.abs(middle)


def doubtful_pairs(found: ConstantDraws) -> list[Pair]:
    """Return the pairs of which both components are poorly determined.

    Constants that are each well determined may well depend on each other.
    """
    poor = poorly_determined(found)
    return [p for p in correlated_pairs(found) if poor[p.first] and poor[p.second]]


def describe_pair(found: ConstantDraws, pair: Pair) -> str:
    """Return in words which two constants move together, how, and over which range."""
    i, j = pair.first, pair.second
    one, other = found.labels[i], found.labels[j]
    if found.positive[i] and found.positive[j]:
        how = f"{one} goes as {other}^{pair.slope:.2g}"
    else:
        left, right = (f"log {n}" if found.positive[k] else n for k, n in ((i, one), (j, other)))
        how = f"{left} changes by {pair.slope:.2g} for each unit of {right}"
    spans = [np.quantile(found.values[:, k], [0.025, 0.975], method="weibull") for k in (i, j)]
    ranges = ", ".join(
        f"{n} from {low:.2g} to {high:.2g}"
        for n, (low, high) in zip((one, other), spans, strict=True)
    )
    together = f"{one} and {other} move together"
    return f"{together} (correlation {pair.correlation:.4f}; {how}), {ranges}"


def move_together(pair: Pair) -> bool:
    """Return whether two components are so correlated that they lie on a curve."""
    return abs(pair.correlation) > limits.CORRELATION.value
