"""What the page can change: told before, done once, and taken back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.inspector.changes import Changes

from .visitor import Visitor, inspector_of

THREAD = "/threads/shop%2Frefunds"


async def view_of(visitor: Visitor) -> list[tuple[int, str]]:
    rows = (await visitor.get(f"{THREAD}/rows", listing="shown", limit=200)).json["rows"]
    return [(row["seq"], row.get("text", "")) for row in rows if row["kind"] != "fold"]


async def last_of(visitor: Visitor) -> int:
    return int((await visitor.get(f"{THREAD}/rows", limit=1)).json["last"])


async def undone(visitor: Visitor, outcome: Any) -> None:
    assert outcome["undo"]
    for undo in outcome["undo"]:
        thread = undo["values"].pop("thread", "shop/refunds").replace("/", "%2F")
        answer = await visitor.post(f"/threads/{thread}/{undo['act']}", **undo["values"])
        assert answer.status == 200, answer.body


async def card_of(visitor: Visitor) -> int:
    rows = (await visitor.get(f"{THREAD}/rows", limit=200)).json["rows"]
    return int(next(row["seq"] for row in rows if row["kind"] == "fold"))


@pytest.mark.parametrize(
    ("act", "values"),
    [
        ("fold", {"instructions": "keep names", "to": 3_000}),
        ("unfold", {"fold": "card", "make_room": True}),
        ("pin", {"seq": 40}),
        ("unpin", {"seq": 1}),
        ("rewind", {"after": 40}),
    ],
)
async def test_an_act_tells_what_it_would_do_then_does_it_and_is_taken_back(
    visitor: Visitor, act: str, values: dict[str, Any]
) -> None:
    values = {name: await card_of(visitor) if value == "card" else value for name, value in values.items()}
    before, last = await view_of(visitor), await last_of(visitor)
    foreseen = (await visitor.post(f"{THREAD}/{act}", **values, preview=True)).json
    assert foreseen["is_preview"]
    assert foreseen["before"] > 0
    assert await last_of(visitor) == last
    done = (await visitor.post(f"{THREAD}/{act}", **values)).json
    assert (done["before"], done["after"]) == (foreseen["before"], foreseen["after"])
    assert await last_of(visitor) > last
    if act == "unfold":
        return  # what made room for it stays folded
    await undone(visitor, done)
    assert await view_of(visitor) == before


async def test_a_fold_that_was_taken_back_hides_the_same_again(visitor: Visitor) -> None:
    made = (await visitor.post(f"{THREAD}/fold", to=2_500)).json
    folded = await view_of(visitor)
    await undone(visitor, made)
    assert await view_of(visitor) != folded
    again = (await visitor.post(f"{THREAD}/refold", fold=made["folds"][0])).json
    assert again["after"] < again["before"]
    assert await view_of(visitor) == folded
    assert (await visitor.post(f"{THREAD}/refold", fold=1)).status == 404


async def test_a_fork_a_name_and_an_archive_are_taken_back(visitor: Visitor) -> None:
    made = (await visitor.post(f"{THREAD}/fork", at=40, name="shop/another")).json
    assert made["thread"] == "shop/another"
    listed = (await visitor.get("/threads")).json["sessions"]
    assert "shop/another" in {row["name"] for row in listed}
    await undone(visitor, made)
    listed = (await visitor.get("/threads")).json["sessions"]
    assert "shop/another" not in {row["name"] for row in listed}
    put_away = (await visitor.get("/threads", archived=True)).json["sessions"]
    assert {row["name"] for row in put_away} == {"shop/another"}
    assert (await visitor.post("/threads/shop%2Fanother/unarchive")).status == 200
    renamed = (await visitor.post(f"{THREAD}/rename", to="shop/billing")).json
    assert (await visitor.get("/threads/shop%2Fbilling/rows")).status == 200
    await undone(visitor, renamed)
    assert "shop/refunds" in {row["name"] for row in (await visitor.get("/threads")).json["sessions"]}


async def test_a_rewind_names_one_place_and_is_redone(visitor: Visitor) -> None:
    assert (await visitor.post(f"{THREAD}/rewind", before=3, after=4)).status == 400
    assert (await visitor.post(f"{THREAD}/rewind", before=99_999)).status == 404
    before = await view_of(visitor)
    moved = (await visitor.post(f"{THREAD}/rewind", before=40)).json
    assert moved["messages"] > 0
    back = (await visitor.post(f"{THREAD}/redo")).json
    assert await view_of(visitor) == before
    await undone(visitor, back)
    assert await view_of(visitor) != before


async def test_forgetting_asks_for_the_name_and_cannot_be_taken_back(visitor: Visitor) -> None:
    refused = await visitor.post(f"{THREAD}/forget", confirm="yes")
    assert refused.status == 400
    one = (await visitor.post(f"{THREAD}/forget", seq=1, confirm="1")).json
    assert "undo" not in one
    shown = (await visitor.get(f"{THREAD}/messages/1")).json
    assert "forgotten" in shown["pieces"][0]["text"]
    await visitor.post(f"{THREAD}/forget", confirm="shop/refunds")
    rows = (await visitor.get(f"{THREAD}/rows", listing="people")).json["rows"]
    assert all("forgotten" in row["text"] for row in rows)


async def test_read_only_tells_and_previews_and_changes_nothing(store_path: Path) -> None:
    visitor = await inspector_of(store_path, read_only=True).come_in()
    assert (await visitor.get("/about")).json["is_read_only"]
    assert (await visitor.get(f"{THREAD}/gauge")).status == 200
    assert (await visitor.post(f"{THREAD}/rewind", before=40, preview=True)).status == 200
    last = await last_of(visitor)
    values: dict[str, dict[str, Any]] = {
        "fold": {},
        "unfold": {"fold": await card_of(visitor)},
        "refold": {"fold": 1},
        "pin": {"seq": 3},
        "unpin": {"seq": 1},
        "rewind": {"before": 40},
        "redo": {},
        "fork": {},
        "rename": {"to": "x"},
        "archive": {},
        "unarchive": {},
        "forget": {"confirm": "shop/refunds"},
    }
    for act, given in values.items():
        answer = await visitor.post(f"{THREAD}/{act}", **given)
        assert answer.status == 403, act
        assert "--read-only" in answer.error
    assert await last_of(visitor) == last
    await visitor.inspector.close()


async def test_a_picture_is_served_by_what_it_is_and_nothing_else_as_one(visitor: Visitor, store_path: Path) -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
    with cf.open(store_path) as store:
        blocks = [
            {"type": "image", "source": {"type": "base64", "media_type": "text/html", "data": png}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": svg}},
        ]
        seq = store.thread("pictures").append({"role": "user", "content": blocks})
    shown = (await visitor.get(f"/threads/pictures/messages/{seq}")).json
    assert [piece.get("image") for piece in shown["pieces"]] == [0, None]
    good = await visitor.get(f"/threads/pictures/messages/{seq}/pictures/0")
    assert (good.status, good.headers["content-type"]) == (200, "image/png")
    for number in (1, 2):
        assert (await visitor.get(f"/threads/pictures/messages/{seq}/pictures/{number}")).status == 404


async def test_a_page_hears_what_others_write_from_where_it_was(visitor: Visitor, store_path: Path) -> None:
    cursor = (await visitor.get("/about")).json["cursor"]
    inspector = visitor.inspector
    heard = inspector._changes.listen("", cursor)
    assert (await anext(heard)).startswith(b"retry")
    with cf.open(store_path) as store:
        seq = store.thread("shop/refunds").append({"role": "user", "content": "from elsewhere"})
        news = await asyncio.wait_for(anext(heard), 60)
        later = inspector._changes.listen("", cursor)
        await anext(later)
        missed = await asyncio.wait_for(anext(later), 60)
    for event in (news, missed):
        told = json.loads(event.partition(b"data: ")[2])
        assert told["threads"] == [{"thread": "shop/refunds", "seq": seq, "kinds": ["appended"]}]
        assert told["cursor"] > cursor
    for each in (heard, later):
        await closed(each)
    assert not inspector._changes._spaces


async def closed(events: AsyncIterator[bytes]) -> None:
    await events.aclose()  # type: ignore[attr-defined]


async def test_the_stream_of_changes_ends_when_the_page_is_left(visitor: Visitor) -> None:
    answer = await visitor.ask("GET", "/api/v1/changes?after=x")
    assert answer.headers["content-type"] == "text/event-stream"
    assert (await visitor.ask("GET", "/api/v1/changes?space=nowhere")).status == 404


async def test_a_slow_listener_loses_the_oldest_word_not_the_newest() -> None:
    from contextfold.domain import ThreadChange  # noqa: PLC0415

    cursors = iter(range(1, 10_000))

    async def look(_space: str, _after: int) -> list[ThreadChange]:
        at = next(cursors)
        return [ThreadChange(at, "t", at, "appended", 0.0)]

    changes = Changes(look)
    heard = changes.listen("", 0)
    await anext(heard)
    first = await asyncio.wait_for(anext(heard), 60)
    assert b'"thread":"t"' in first
    await closed(heard)


def damage(path: Path) -> None:
    damaged = bytearray(path.read_bytes())
    for at in range(16_384, len(damaged), 997):
        damaged[at] ^= 0xFF
    path.write_bytes(bytes(damaged))


async def test_a_store_that_is_damaged_says_so_and_what_to_do(store_path: Path) -> None:
    damage(store_path)
    visitor = inspector_of(store_path)
    cookie = (await visitor.ask("GET", visitor.access.new_link())).headers["set-cookie"].partition(";")[0]
    answer = await visitor.ask("GET", "/api/v1/threads", cookie=cookie)
    assert answer.status == 503
    assert "contextfold" in answer.error or "backup" in answer.error
    await visitor.inspector.close()
