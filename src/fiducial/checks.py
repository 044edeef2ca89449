"""Checks of a result: a number compared with a limit, and the meaning of a failure."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """The comparison of one number with its limit.

    Attributes:
        name: what was checked.
        value: the number, or None where there is none.
        limit: the largest value that passes (the smallest with ``at_least``), or None.
        ok: whether the check passed.
        severe: whether the answer must not be trusted if it failed.
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
        mark = "ok" if self.ok else "!!"
        value = "" if self.value is None else f" {self.value:.3g}"
        side = "at least" if self.at_least else "limit"
        limit = "" if self.limit is None else f" ({side} {self.limit:.3g})"
        return f"[{mark}] {self.name}{value}{limit}"


@dataclass(frozen=True)
class Limit:
    """A limit of the diagnosis.

    Attributes:
        value: the limit.
        name: name of the check, with braces in place of names that are known later, such
            as ``"misfit of '{}'"``.
        reason: why there is such a limit.
        source: the experiment or the publication that set its value.
        severe: the value beyond which the answer must not be trusted; None if a failure
            calls for caution only.
        at_least: whether the limit is a lower one.

    Example:
        >>> limit = Limit(0.05, name="share of lost moves", reason="...", source="...")
        >>> print(limit.check(0.2, "many moves were lost", "give smaller steps"))
        [!!] share of lost moves 0.2 (limit 0.05)
    """

    value: float
    name: str
    reason: str
    source: str
    severe: float | None = None
    at_least: bool = False

    def check(
        self,
        value: float,
        meaning: str,
        advice: str,
        *,
        of: tuple[object, ...] = (),
        limit: float | None = None,
    ) -> Check:
        """Return the check of a value. A value that is not a number fails.

        Arguments:
            value: the number to check.
            meaning: what a failure means.
            advice: what to do about a failure.
            of: what to put in place of the braces in the name.
            limit: a limit that depends on the data, in place of the limit's own value.
        """
        bound = self.value if limit is None else limit
        severe = bound if self.severe == self.value else self.severe
        return Check(
            name=self.name.format(*of),
            value=value,
            limit=bound,
            ok=not self._beyond(value, bound),
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
