"""Whatever a message, a name or a tool holds stays text; and a long session stays a short page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import pytest

import contextfold as cf
from contextfold.domain import Appended
from contextfold.inspector import Access

from .house import chromium, served, visiting

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "\"><iframe src='http://evil.example'></iframe>",
    "<style>*{display:none}</style>",
    "<base href='http://evil.example/'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "<a href='javascript:alert(1)'>click</a>",
    "\u202eevil\u202c \u0007 \x1b[31m \u2066",
    "</textarea></title></script><script>alert(1)</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "' onfocus=alert(1) autofocus='",
)
MANY = 3_000
SPOILED = "<b>everything</b>"
SCROLL = "share => { const list = document.querySelector('.list'); list.scrollTop = share * list.scrollHeight; }"
FORBIDDEN = "iframe, script:not([src]), main style, main link, base, main script"


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=alert(1)>.db"
    with cf.open(path) as store:
        for words in HOSTILE:
            store.thread(words, model=words).append({"role": "user", "content": words})
        spoil(cf.Session.on(store, SPOILED, HOSTILE[1]))
        long = store.thread("long", model="claude-sonnet-5-5")
        with store.batch():
            for number in range(MANY):
                long.append({"role": ("user", "assistant")[number % 2], "content": f"message number {number}"})
    return path


def spoil(held: cf.Session) -> None:
    """Every one of these words in every field that a page shows."""
    for number, words in enumerate(HOSTILE):
        held.append({"role": "user", "content": words})
        tool = {"name": f"tool{number}", "description": words, "input_schema": {"type": "object"}}
        held.prepare(system=words, tools=[tool])
        call = {"type": "tool_use", "id": f"{words}{number}", "name": words, "input": {words: words}}
        thought = {"type": "thinking", "thinking": words, "signature": words}
        held.append({"role": "assistant", "content": [thought, {"type": "text", "text": words}, call]})
        answer = {"type": "tool_result", "tool_use_id": f"{words}{number}", "content": words}
        picture = {"type": "image", "source": {"type": "base64", "media_type": words, "data": "PHN2Zz4="}}
        held.append({"role": "user", "content": [answer, picture]})
        held.checkpoint(words)
    first = next(each.seq for each in held.thread.events if isinstance(each.event, Appended))
    held.thread.fold([first], "".join(HOSTILE), details={"reason": HOSTILE[0], "trigger": HOSTILE[1]})
    held.close()


@pytest.fixture(scope="module")
def place(store_path: Path) -> Iterator[tuple[Any, str, Access]]:
    with chromium() as browser, served(store_path) as (origin, access):
        yield browser, origin, access


def test_no_field_of_a_session_is_ever_interpreted(place: tuple[Any, str, Access]) -> None:
    with visiting(*place) as visit:
        page = visit.page
        page.locator("tr[data-name]").nth(len(HOSTILE)).wait_for()
        visit.thread(SPOILED)
        page.locator('.row[data-kind="fold"] .line').first.click()
        page.locator(".folding .detail pre").wait_for()
        seqs = page.evaluate("[...document.querySelectorAll('.row[data-kind=message]')].map(row => row.dataset.seq)")
        for seq in seqs[:12]:
            visit.go(f"t/{quote(SPOILED, safe='')}/at/{seq}", f'.row[data-seq="{seq}"] .detail .piece')
        visit.button("Every event").click()
        page.locator('.row[data-kind="checkpointed"]').first.wait_for()
        visit.thread(SPOILED, f"/saw/{len(HOSTILE)}")
        page.locator(".part summary").nth(3).click()
        visit.button("Exact body").click()
        assert HOSTILE[0] in page.locator("pre.body").inner_text()
        visit.button("What changed").click()
        page.locator(".chip", has_text="same").wait_for()
        for words in HOSTILE[:3]:
            visit.thread(words)
            assert page.locator("h1").inner_text() == words
        visit.go("find/alert", ".passage, .card .soft")
        visit.check()
        assert page.evaluate(f"document.querySelectorAll({FORBIDDEN!r}).length") == 0


def test_signs_that_turn_the_reading_direction_are_spelled_out(place: tuple[Any, str, Access]) -> None:
    turning = HOSTILE[11]
    with visiting(*place) as visit:
        visit.thread(turning)
        shown = visit.page.locator("h1").inner_text()
        assert "\u202e" not in shown
        assert "\\u{202e}evil" in shown
        visit.check()


def test_a_long_session_is_a_short_page_whose_every_row_can_be_reached(place: tuple[Any, str, Access]) -> None:
    with visiting(*place) as visit:
        page = visit.page
        visit.thread("long")
        for share in (0.31, 0.77, 0.5, 1):
            page.evaluate(SCROLL, share)
            page.wait_for_function("() => !document.querySelector('.ghost')")
            assert page.locator(".row").count() < 80
        page.locator(".row .txt", has_text=f"message number {MANY - 1}").wait_for()
        visit.thread("long", "/at/1234")
        page.locator('.row.at[data-seq="1234"] .detail .words', has_text="message number 1233").wait_for()
        visit.check()


def test_a_session_whose_beginning_is_damaged_shows_what_is_wrong_and_what_to_do(
    place: tuple[Any, str, Access], store_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "agent.db"
    with cf.open(store_path, read_only=True) as store:
        store.backup(path)
    with closing(apsw.Connection(str(path))) as file:
        ((guard,),) = file.execute("SELECT sql FROM sqlite_schema WHERE name = 'events_stay'")
        file.execute("DROP TRIGGER events_stay; UPDATE events SET at = at + 1 WHERE seq = 5")
        file.execute(guard)
    with served(path) as (origin, access), visiting(place[0], origin, access) as visit:
        visit.page.goto(f"{origin}/#/t/long")
        visit.page.locator(".wrong").wait_for()
        assert "contextfold verify" in visit.page.locator(".wrong").inner_text()
