"""The report as a page: needs nothing else, says what the JSON says, and takes no orders from a recording."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

from contextfold.replay import ReplayReport, as_html
from contextfold.replay.html import FIELDS
from contextfold.replay.html.looks import short, thinned


class Page(HTMLParser):
    """What stands in a page: tags with their attributes, and the cells that name a field."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[tuple[str, str], str] = {}
        self.text = ""
        self._policy = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if "data-policy" in given:
            self._policy = given["data-policy"] or ""
        if "data-field" in given:
            self.cells[self._policy, given["data-field"] or ""] = given["data-value"] or ""
        if tag not in ("meta", "path", "rect", "line", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "rect", "line"):
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def close(self) -> None:
        super().close()
        assert self._open == []


@pytest.fixture(scope="module", params=["en", "ja"])
def page(request: pytest.FixtureRequest, report: ReplayReport) -> Page:
    return Page(as_html(report, request.param))


def test_the_page_needs_nothing_from_outside(page: Page) -> None:
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    for _, given in page.tags:
        assert not any(name.startswith("on") or name in ("src", "href", "action") for name in given)
    policies = [given["content"] for tag, given in page.tags if given.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0] is not None
    assert policies[0].startswith("default-src 'none'")


def test_the_page_says_what_the_json_says(page: Page, report: ReplayReport) -> None:
    for total in report.totals:
        for field in FIELDS:
            assert int(page.cells[total.policy, field]) == getattr(total, field)
        assert float(page.cells[total.policy, "cost"]) == (total.cost.total if total.cost else 0)
        assert float(page.cells[total.policy, "against_full"]) == total.against_full
        if total.kind != "full":
            told = page.cells[total.policy, "grounded"]
            assert (float(told) if told else None) == total.retained.grounded.value


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_language_of_the_page_is_declared(report: ReplayReport, lang: Any) -> None:
    page = Page(as_html(report, lang))
    assert next(given for tag, given in page.tags if tag == "html")["lang"] == lang
    assert ("折りたたみ" in page.text) == (lang == "ja")


def test_a_hostile_name_is_only_words(page: Page) -> None:
    assert "<img src=x onerror=alert(1)>" in page.text  # as text, not as a tag: see above
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text


def test_drawings_can_be_heard_and_tables_read(page: Page) -> None:
    drawings = [given for tag, given in page.tags if tag == "svg" and given.get("role") == "img"]
    assert len(drawings) >= 3
    assert all(given.get("aria-label") for given in drawings)
    assert all(given.get("scope") in ("col", "row") for tag, given in page.tags if tag == "th")
    assert len([tag for tag, _ in page.tags if tag == "caption"]) == len(
        [tag for tag, _ in page.tags if tag == "table"]
    )
    assert [tag for tag, _ in page.tags].count("h1") == 1


def test_each_fold_has_its_mark_and_its_reason(report: ReplayReport) -> None:
    text = as_html(report)
    foldings = [folding for row in report.rows if row.kind != "full" for folding in row.foldings]
    assert text.count("h9l-4.5 8z") == len(foldings)
    assert len(re.findall(r"[\d,]+ → [\d,]+", text)) == len(foldings)


def test_a_failed_check_is_said_in_words_and_not_only_by_colour(report: ReplayReport) -> None:
    bad = replace(report, totals=(replace(report.totals[0], lost=3), *report.totals[1:]))
    assert "✗" in as_html(bad)
    assert "✗" not in as_html(report)


def test_a_report_cut_short_or_empty_is_still_a_page(report: ReplayReport) -> None:
    assert "cut short" in Page(as_html(replace(report, complete=False))).text
    empty = replace(report, rows=(), totals=(), failures=(), files=0)
    assert "Replay report" in Page(as_html(empty)).text


def test_a_long_line_is_thinned_and_keeps_its_peaks() -> None:
    points = [(turn, 100 + turn % 97 + 5_000 * (turn == 6_543)) for turn in range(20_000)]
    kept = thinned(points)
    assert len(kept) <= 800
    assert (6_543, points[6_543][1]) in kept
    assert list(kept) == sorted(kept)
    assert thinned(points[:10]) == points[:10]


@pytest.mark.parametrize(("tokens", "said"), [(0, "0"), (999, "999"), (32_000, "32k"), (1_000_000, "1M")])
def test_axes_use_short_numbers(tokens: int, said: str) -> None:
    assert short(tokens) == said
