"""The limits of the diagnosis: the page that shows them, and what a check makes of them."""

import re
from pathlib import Path

import pytest

from fiducial import limits
from fiducial.extend import Limit

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


def test_the_page_of_limits_shows_the_table():
    assert limits.to_markdown() in PAGE.read_text(), (
        "docs/limits.md is out of date; put there what this prints:"
        " python -c 'from fiducial import limits; print(limits.to_markdown())'"
    )


@pytest.mark.parametrize(("name", "limit"), limits.table())
def test_every_limit_says_why_it_is_there_and_what_set_it(name, limit):
    assert limit.reason
    assert limit.source
    assert "|" not in limit.name + limit.reason + limit.source, f"{name}: the page is a table"


def test_every_limit_is_used():
    source = Path(limits.__file__).parent
    text = "".join(p.read_text() for p in source.rglob("*.py") if p.name != "limits.py")
    unused = [name for name, _ in limits.table() if not re.search(rf"limits\.{name}\b", text)]
    assert unused == []


@pytest.mark.parametrize(
    ("value", "ok", "severe"),
    [(0.1, True, False), (0.3, False, False), (0.6, False, True), (float("nan"), False, True)],
)
def test_a_value_passes_calls_for_caution_or_is_severe(value, ok, severe):
    upper = Limit(0.2, name="share of '{}'", reason="why", source="convention", severe=0.5)
    check = upper.check(value, "too much", "use less", of=("salt",))
    assert (check.ok, check.severe, check.name) == (ok, severe, "share of 'salt'")
    assert check.reason == "share of 'salt': too much; use less"


def test_a_lower_limit_is_passed_from_above():
    lower = Limit(400.0, name="draws", reason="why", source="us", severe=100.0, at_least=True)
    found = [lower.check(v, "few", "give more") for v in (500.0, 300.0, 50.0)]
    assert [(c.ok, c.severe) for c in found] == [(True, False), (False, False), (False, True)]


def test_a_limit_that_depends_on_the_data_takes_the_severe_one_with_it():
    limit = Limit(0.9, name="misfit", reason="why", source="us", severe=0.9)
    check = limit.check(1.4, "too far", "look", limit=2.3)
    assert (check.ok, check.severe, check.limit) == (True, False, 2.3)
