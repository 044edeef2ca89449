"""The version, and what changed in it, are stated once and agree."""

import re
from pathlib import Path

import fiducial

PROJECT = Path(__file__).parents[1]
CHANGELOG = (PROJECT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, flags=re.MULTILINE)


def test_version_citation_and_changelog_agree():
    cited = re.search(r"^version: (\S+)$", (PROJECT / "CITATION.cff").read_text(), re.MULTILINE)
    released = [heading.split(" - ")[0] for heading in HEADINGS if heading != "Unreleased"]
    assert cited is not None
    assert cited[1] == fiducial.__version__ == released[0]


def test_headings_of_the_changelog_have_a_version_and_a_date():
    assert HEADINGS[0] == "Unreleased"
    for heading in HEADINGS[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", heading), heading


def test_later_changes_are_sorted_by_kind():
    unreleased = CHANGELOG.split("## Unreleased")[1].split("\n## ")[0]
    kinds = re.findall(r"^### (.+)$", unreleased, flags=re.MULTILINE)
    known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Faster", "Security"]
    assert kinds == [kind for kind in known if kind in kinds]
