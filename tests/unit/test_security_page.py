"""The page on security names tests that exist, for every row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]


def test_the_page_has_all_twenty_rows_in_order() -> None:
    assert [int(row[0].strip("| ")) for row in ROWS] == list(range(1, 21))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("| "))
def test_every_row_names_its_tests(row: list[str]) -> None:
    assert "`test_" in row[-1]


def test_every_test_that_is_named_exists() -> None:
    folders = (ROOT / "tests", ROOT / "src" / "contextfold" / "testing" / "log_contract")
    written = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    there = set(re.findall(r"def (test_\w+)", written))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 60
    assert named - there == set()


def test_the_door_to_the_page_stands_where_people_look() -> None:
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text()
