"""The page in a real browser, where there is one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from contextfold.replay import ReplayReport, as_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CELLS = """() => [...document.querySelectorAll('tr[data-policy] td[data-field]')].map(cell => [
  cell.parentElement.dataset.policy, cell.dataset.field, cell.dataset.value, cell.textContent.trim()])"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT_OFF = """() => { const table = document.querySelector('.scroll');
  const hint = getComputedStyle(document.querySelector('.hint')).display !== 'none';
  return table.scrollWidth > table.clientWidth || hint; }"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.mark.finding("N15")
@pytest.mark.parametrize(("lang", "scheme", "width"), [("en", "light", 1280), ("ja", "dark", 390)])
def test_the_report_opens_without_an_error_and_shows_the_numbers_of_the_json(
    report: ReplayReport, tmp_path: Path, lang: Any, scheme: Any, width: int
) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    page_file = tmp_path / "report.html"
    page_file.write_text(as_html(report, lang), "utf-8")
    told: list[str] = []
    asked: list[str] = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.goto(page_file.as_uri())
        cells = page.evaluate(CELLS)
        overflow = page.evaluate(OVERFLOW)
        cut_off = page.evaluate(CUT_OFF)
        drawn = page.locator("svg[role=img]").count()
        declared = page.evaluate("() => document.documentElement.lang")
        browser.close()
    assert told == []
    assert asked == [page_file.as_uri()]
    assert (declared, overflow) == (lang, 0)
    assert drawn >= 3
    assert cut_off is (width == 390)  # a whole table on a desk; on a phone it scrolls by itself, and a line says so
    _agree(cells, report)


def _agree(cells: list[list[str]], report: ReplayReport) -> None:
    shown = {(policy, field): (value, text) for policy, field, value, text in cells}
    for total in report.totals:
        for field in ("requests", "invalid", "unfit", "lost", "folds", "tokens", "peak"):
            number = getattr(total, field)
            assert shown[total.policy, field] == (str(number), f"{number:,}")
        value, text = shown[total.policy, "cost"]
        assert total.cost is not None
        assert float(value) == total.cost.total
        assert float(text.removeprefix("$").replace(",", "")) == pytest.approx(total.cost.total, abs=0.005)
