"""Checks of a result: a number against a limit, and what a failure means."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One number against its limit.

    Attributes:
        name: what was checked.
        value: what was found, or None where there is no number.
        limit: the largest value that passes (the smallest with ``at_least``), or None.
        ok: whether it passed.
        severe: whether a failure means that the answer must not be trusted.
        meaning: what a failure means.
        advice: what to do about a failure.
        at_least: whether the limit is a lower one.
    """

    name: str
    value: float | None
    limit: float | None
    ok: bool
    severe: bool
    meaning: str
    advice: str
    at_least: bool = False

    @property
    def reason(self) -> str:
        """What a failure means and what to do, in one line."""
        parts = [text for text in (self.meaning, self.advice) if text]
        return f"{self.name}: {'; '.join(parts)}"

    def __str__(self) -> str:
        value = "" if self.value is None else f" {self.value:.3g}"
        least = "at least" if self.at_least else "limit"
        limit = "" if self.limit is None else f" ({least} {self.limit:.3g})"
        return f"[{'ok' if self.ok else '!!'}] {self.name}{value}{limit}"


@dataclass(frozen=True)
class Limit:
    """A limit of the diagnosis.

    Attributes:
        value: the limit.
        reason: why there is such a limit.
        source: the experiment or the publication that set its value.
        severe: values beyond this mean that the answer must not be trusted; None for a
            limit whose failure calls for caution only.
        at_least: whether the limit is a lower one.
    """

    value: float
    reason: str
    source: str
    severe: float | None = None
    at_least: bool = False

    def check(
        self, name: str, value: float, meaning: str, advice: str, *, limit: float | None = None
    ) -> Check:
        """Return the check of a value; ``limit`` replaces the value of the limit where that
        depends on the data. A value that is not a number fails.
        """
        most = self.value if limit is None else limit
        severe = most if self.severe == self.value else self.severe
        return Check(
            name=name,
            value=value,
            limit=most,
            ok=not self._beyond(value, most),
            severe=severe is not None and self._beyond(value, severe),
            meaning=meaning,
            advice=advice,
            at_least=self.at_least,
        )

    def _beyond(self, value: float, limit: float) -> bool:
        if math.isnan(value):
            return True
        return value < limit if self.at_least else value > limit


def statement(name: str, *, ok: bool, severe: bool, meaning: str, advice: str = "") -> Check:
    """Return a check that has no number."""
    return Check(
        name=name, value=None, limit=None, ok=ok, severe=severe, meaning=meaning, advice=advice
    )
