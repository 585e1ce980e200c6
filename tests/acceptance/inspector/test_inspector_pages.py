"""The inspector as people use it, in a real browser: every screen and every act, in both languages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Appended, Sent, decode
from contextfold.inspector import Access
from contextfold.testing import session
from tests.unit.inspector.visitor import make_store

from .house import Visit, chromium, served, visiting

REFUNDS = "shop/refunds"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCREENS = {
    "sessions": ("", "tr[data-name] .spark"),
    "thread": ("t/shop%2Frefunds", ".legend b"),
    "saw": ("t/shop%2Frefunds/saw/9", ".part"),
    "compare": ("t/shop%2Frefunds/compare", "figure svg"),
    "find": ("find/warehouse", ".passage"),
}

PARTS = """() => [...document.querySelector('.legend').querySelectorAll('b')]
  .map(b => Number(b.textContent.replaceAll(',', '')))"""
PRESSED = """name => [...document.querySelectorAll('.tabs button[aria-pressed=true]')]
  .some(button => button.textContent === name)"""
AT_END = """() => { const row = document.querySelector('.row.at');
  return row && row.getAttribute('aria-posinset') === row.getAttribute('aria-setsize'); }"""
ENGLISH = """() => [...document.querySelectorAll('button')].map(button => button.textContent)
  .filter(words => /^(Fold|Fork|Rename|Archive|Compare|Export|Tools|You)/.test(words))"""
HEADED = "words => document.querySelector('aside h2')?.innerText === words"
FOCUSED = "document.activeElement.id || document.activeElement.className || document.activeElement.textContent"


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspected") / "agent.db"
    make_store(path)
    with cf.open(path) as store:
        thread = store.thread("to watch", model="claude-sonnet-5-5")
        for message in session(5, tokens=4_000, language="en"):
            thread.append(message)
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}}
        shown = [{"type": "text", "text": "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new"}, picture]
        store.thread("pictured", model="claude-sonnet-5-5").append({"role": "user", "content": shown})
    return path


@pytest.fixture(scope="module")
def place(store_path: Path) -> Iterator[tuple[Any, str, Access]]:
    with chromium() as browser, served(store_path) as (origin, access):
        yield browser, origin, access


@pytest.fixture
def visit(place: tuple[Any, str, Access]) -> Iterator[Visit]:
    with visiting(*place) as found:
        yield found
        found.check()


@pytest.fixture(params=["en", "ja"])
def spoken(place: tuple[Any, str, Access], request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A visit in each language."""
    with visiting(*place, locale=request.param) as found:
        yield found
        found.check()


@pytest.mark.parametrize(("locale", "words"), [("en", "Sessions"), ("ja", "セッション")])
def test_sessions_are_listed_with_their_fill_and_money_and_found_by_words(
    place: tuple[Any, str, Access], locale: str, words: str
) -> None:
    with visiting(*place, locale=locale) as visit:
        page = visit.page
        assert page.locator("h1").inner_text() == words
        row = page.locator(f'tr[data-name="{REFUNDS}"]')
        row.locator(".spark path").wait_for()
        assert "$" in row.inner_text()
        assert "warehouses" in row.inner_text()
        child = page.locator(f'tr[data-name="{REFUNDS}/try"]')
        assert "inner" in child.get_attribute("class")
        visit.shot(f"sessions-{locale}")
        page.keyboard.press("/")
        page.keyboard.type("nightly job")
        page.keyboard.press("Enter")
        page.locator(".passage mark").first.wait_for()
        page.locator(".passage", has_text=REFUNDS).first.click()
        page.locator(".row .detail .words, .row .detail pre").first.wait_for()
        assert page.evaluate("document.documentElement.lang") == locale
        visit.check()


def test_what_a_fold_hides_is_listed_under_it_and_a_call_stands_with_its_result(
    spoken: Visit, store_path: Path
) -> None:
    visit, page = spoken, spoken.page
    visit.thread(REFUNDS)
    card = page.locator('.row[data-kind="fold"]').first
    fold = int(card.get_attribute("data-seq"))
    card.locator(".line").click()
    page.locator(".folding .detail pre").wait_for()
    with cf.open(store_path, read_only=True) as store:
        info = next(each for each in store.thread(REFUNDS).folds if each.id == fold)
    assert page.locator(".folding .detail pre").first.inner_text()[:200] == info.stand_in.text[:200].strip()
    card.locator(".line").click()
    card.get_by_role("button", name=visit.say("openFold")).click()
    page.locator(".row.dim").first.wait_for()
    visit.go("t/shop%2Frefunds/at/3", ".row .detail .box")
    box = page.locator(".row .detail .box").first
    assert "search" in box.inner_text()
    assert box.locator(".inner").count() >= 1
    page.get_by_role("button", name=visit.say("raw")).first.click()
    raw = page.locator(".detail > pre:not([hidden])", has_text='"role"').last.inner_text()
    assert json.loads(raw)["role"] == "assistant"
    visit.shot(f"timeline-{visit.language}")
    for listing in map(visit.say, ("l_people", "l_tools", "l_shown", "l_hidden", "l_everything", "l_said")):
        visit.button(listing).click()
        page.wait_for_function(PRESSED, arg=listing)
        page.locator(".row[data-seq]").first.wait_for()
    visit.button(visit.say("l_everything")).click()
    page.locator('.row[data-kind="sent"]').first.wait_for()


def test_pictures_are_shown_and_diffs_are_coloured(visit: Visit) -> None:
    page = visit.page
    visit.thread("pictured", "/at/1")
    page.locator("img.picture").wait_for()
    page.wait_for_function("() => document.querySelector('img.picture').naturalWidth === 1")
    assert page.locator(".detail .minus").inner_text() == "-old"
    assert page.locator(".detail .plus").inner_text() == "+new"


def test_the_gauge_adds_up_and_requests_are_walked_by_keyboard(spoken: Visit) -> None:
    visit, page = spoken, spoken.page
    visit.thread(REFUNDS)
    page.locator(".legend b").first.wait_for()
    parts = page.evaluate(PARTS)
    assert abs(sum(parts) - 12_000) <= len(parts)
    heading = page.locator("aside h2")
    total = int(heading.inner_text().split()[-1])
    page.locator("main").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(HEADED, arg=f"{visit.say('request')} {total - 1} {visit.say('of')} {total}")
    for tab in ("costs", "predicted", "over"):
        visit.button(visit.say(tab)).click()
        page.locator("svg.chart path").first.wait_for(state="attached")
    page.locator("svg.chart").click(position={"x": 80, "y": 60})
    page.wait_for_function(
        "most => parseInt(document.querySelector('aside h2').textContent.trim().split(/\\s+/)[1]) < most",
        arg=total // 2,
    )
    visit.shot(f"thread-{visit.language}")


def test_what_the_model_saw_is_what_was_sent_and_two_requests_are_told_apart(spoken: Visit, store_path: Path) -> None:
    visit, page = spoken, spoken.page
    visit.thread(REFUNDS)
    visit.button(visit.say("saw")).click()
    page.locator(".part").first.wait_for()
    number = int(page.locator(".head .soft").inner_text().split()[1])
    visit.shot(f"saw-{visit.language}")
    page.locator(".chip.good", has_text=visit.say("proven")).first.wait_for()
    visit.button(visit.say("body")).click()
    shown = json.loads(page.locator("pre.body").inner_text())
    with cf.open(store_path, read_only=True) as store:
        thread = store.thread(REFUNDS)
        sent = [each.seq for each in thread.events if isinstance(each.event, Sent)]
        assert shown == decode(thread.request(sent[number - 1]).json)
    visit.button(visit.say("difference")).click()
    page.locator(".chip", has_text=visit.say("same")).wait_for()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("n => document.querySelector('.head .soft')?.textContent.includes(` ${n} `)", arg=number - 1)
    page.locator(".part").nth(3).wait_for()


def test_what_another_process_writes_appears_by_itself(visit: Visit, store_path: Path) -> None:
    page = visit.page
    visit.thread("to watch")
    page.locator("#live:not(.off)").wait_for()
    program = (
        "import sys, contextfold as cf\n"
        "with cf.open(sys.argv[1]) as store:\n"
        "    store.thread('to watch').append({'role': 'user', 'content': 'news from elsewhere'})\n"
    )
    visit.button("↓ Newest").click()
    subprocess.run([sys.executable, "-c", program, str(store_path)], check=True, timeout=60)
    page.locator(".row .txt", has_text="news from elsewhere").wait_for()
    with cf.open(store_path) as store:
        thread = store.thread("to watch")
        thread.rewind(before=max(each.seq for each in thread.events if isinstance(each.event, Appended)))
    page.locator(".row.gone .txt", has_text="news from elsewhere").wait_for()
    visit.go("", 'tr[data-name="to watch"]')
    with cf.open(store_path) as store:
        store.thread("brand new").append({"role": "user", "content": "hello"})
    page.locator('tr[data-name="brand new"]').wait_for()


def test_policies_are_compared_on_a_session(spoken: Visit) -> None:
    visit, page = spoken, spoken.page
    visit.thread(REFUNDS, "/compare")
    page.locator("figure svg").first.wait_for()
    page.locator("tbody tr").nth(3).wait_for()
    assert page.locator("h1").inner_text() == visit.say("compare")
    visit.shot(f"compare-{visit.language}")


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit.page
    visit.thread(REFUNDS)
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("k")
    page.locator('.row.at[aria-posinset="2"]').wait_for()
    page.keyboard.press("Enter")
    page.locator(".row.at .detail").wait_for()
    page.keyboard.press("?")
    page.locator("dialog[open] kbd").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    page.keyboard.press("G")
    page.wait_for_function(AT_END)
    page.keyboard.press("s")
    page.locator("table.sessions").wait_for()
    page.reload()
    page.locator("table.sessions").wait_for()
    order = []
    for _ in range(7):
        page.keyboard.press("Tab")
        order.append(page.evaluate(FOCUSED))
    assert order[:2] == ["skip", "mark"]
    assert order.index("find") < order.index("theme") < order.index("language")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_no_screen_breaks_a_rule_of_accessibility_or_runs_out_of_a_phone(
    place: tuple[Any, str, Access], screen: str, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    with visiting(*place, color_scheme=scheme) as visit:
        address, wait = SCREENS[screen]
        visit.go(address, wait)
        found = axe.run(visit.page, options={"resultTypes": ["violations"]}).response["violations"]
        bad = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in bad] == []
        visit.page.set_viewport_size({"width": 390, "height": 844})
        visit.page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
        if scheme == "light":
            visit.shot(f"{screen}-phone")
        visit.check()


def test_the_page_speaks_japanese_and_turns_dark_when_asked(visit: Visit) -> None:
    page = visit.page
    page.locator("#language").click()
    page.wait_for_function("() => document.querySelector('h1')?.textContent === 'セッション'")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    visit.thread(REFUNDS)
    page.locator(".legend b").first.wait_for()
    visit.shot("thread-ja-dark")
    english = page.evaluate(ENGLISH)
    assert english == []


def test_nothing_can_be_changed_where_the_store_is_read_only(
    place: tuple[Any, str, Access], store_path: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(store_path, tmp_path / "agent.db"))
    with served(path, read_only=True) as (origin, access), visiting(place[0], origin, access) as visit:
        visit.page.locator("#live", has_text="read only").wait_for()
        visit.thread(REFUNDS)
        assert visit.button("Rename…").count() == 0
        visit.button("Fold now…").click()
        visit.page.locator("dialog .turn b, dialog .bad").first.wait_for()
        assert visit.button("Do it").is_disabled()
        visit.check()


@pytest.mark.finding("N13")
def test_a_forgotten_session_has_no_sizes_and_nothing_saved_is_not_called_a_saving(
    place: tuple[Any, str, Access], tmp_path: Path
) -> None:
    path = tmp_path / "agent.db"
    with cf.Session.open(path, thread="short", model="claude-sonnet-5-5") as held:
        first = held.append({"role": "user", "content": "Which file holds the parser?"})
        held.prepare(max_tokens=100)
        held.append({"role": "assistant", "content": "src/parser.py."})
        held.thread.fork(at=first, name="tried")
    with cf.open(path) as store:
        store.forget("tried")
    with served(path) as (origin, access), visiting(place[0], origin, access) as visit:
        rows = visit.page.locator("tr[data-name]")
        visit.page.locator('tr[data-name="short"] .bar').wait_for()
        assert "%" not in rows.nth(0).inner_text()
        assert "forgotten" in visit.page.locator('tr[data-name="tried"]').inner_text()
        assert "parser" not in visit.page.locator('tr[data-name="tried"]').inner_text()
        assert visit.page.locator('tr[data-name="tried"] .bar').count() == 0
        visit.check()


def test_a_damaged_store_shows_what_is_wrong_and_what_to_do(
    place: tuple[Any, str, Access], store_path: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(store_path, tmp_path / "agent.db"))
    damaged = bytearray(path.read_bytes())
    for at in range(16_384, len(damaged), 997):
        damaged[at] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with served(path) as (origin, access), visiting(place[0], origin, access) as visit:
        visit.page.locator(".wrong").wait_for()
        told = visit.page.locator(".wrong").inner_text()
        assert "contextfold verify" in told
        assert len(told) > 80
        visit.shot("damaged")
