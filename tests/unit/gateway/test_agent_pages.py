"""The lines for each agent: the addresses that `serve` prints, and the same in both languages."""

import re
from pathlib import Path

import pytest

from contextfold.cli.base_urls import BASE_URLS

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted(path for path in (DOCS / "agents").glob("*.md") if path.name != "README.md")
SAID = re.compile(r"([A-Z_]+)=http://127\.0\.0\.1:8787/<token>(\S*)")


def test_there_is_a_page_for_each_of_ten_agents_and_the_list_names_them() -> None:
    listed = (DOCS / "agents" / "README.md").read_text(encoding="utf-8")
    assert len(PAGES) >= 10
    assert [page.name for page in PAGES if f"({page.name})" not in listed] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_lines_of_an_agent_are_what_serve_prints_and_stand_in_japanese_too(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```\w+\n(.*?)```", text, re.DOTALL)
    assert blocks
    japanese = (DOCS / "ja" / "agents.md").read_text(encoding="utf-8")
    assert [block for block in blocks if block not in japanese] == []
    endings = {each.variable: each.ending for each in BASE_URLS}
    assert {name: ending for name, ending in SAID.findall(text) if endings[name] != ending} == {}
