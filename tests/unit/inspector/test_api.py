"""The interface: what the page asks for, and what scripts can."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import layers
from contextfold.domain import Appended, Sent, decode
from contextfold.inspector import ROUTES, Access, Inspector, OpenStores, description

from .visitor import PORT, Visitor, inspector_of

THREAD = "/threads/shop%2Frefunds"


async def test_sessions_are_listed_newest_first_in_pages_with_forks_named(visitor: Visitor) -> None:
    first = (await visitor.get("/threads", limit=1)).json
    second = (await visitor.get("/threads", limit=1, after=first["after"])).json
    names = [page["sessions"][0]["name"] for page in (first, second)]
    assert sorted(names) == ["shop/refunds", "shop/refunds/try"]
    fork = next(page["sessions"][0] for page in (first, second) if page["sessions"][0]["name"].endswith("try"))
    assert fork["origin"] == "shop/refunds"


async def test_a_digest_tells_the_first_words_the_fill_and_the_money(visitor: Visitor) -> None:
    digest = (await visitor.get(f"{THREAD}/digest")).json
    assert digest["first"]
    assert 0 < digest["used"] <= digest["usable"] < 12_000
    assert digest["unit"] == "USD"
    assert digest["spent"] > 0
    assert len(digest["spark"]) > 2


async def test_the_parts_of_the_gauge_add_up_to_what_is_used(visitor: Visitor) -> None:
    gauge = (await visitor.get(f"{THREAD}/gauge")).json
    assert abs(sum(part["tokens"] for part in gauge["parts"]) - gauge["used"]) <= len(gauge["parts"])
    assert gauge["used"] + gauge["reserve"] <= gauge["window"]
    assert 0 < gauge["threshold"] <= gauge["usable"]
    assert {"system", "tools", "stand_in", "result"} <= {part["part"] for part in gauge["parts"]}
    assert 0 < gauge["newest"] < gauge["used"]


async def test_the_gauge_tells_layers_from_other_notes(visitor: Visitor, store_path: Path) -> None:
    with cf.open(store_path) as store:
        held = cf.Session.on(store, "layered", "claude-sonnet-5-5", window=12_000)
        seq = held.append({"role": "user", "content": "Where were we?"})
        held.note(layers.Fact("Refunds are made in cents.", source=seq))
        held.prepare()
        held.close()
    parts = {part["part"]: part["tokens"] for part in (await visitor.get("/threads/layered/gauge")).json["parts"]}
    assert parts["layer"] > 5
    assert "note" not in parts


async def test_folded_messages_are_listed_under_their_card_once_it_is_open(visitor: Visitor) -> None:
    closed = (await visitor.get(f"{THREAD}/rows", limit=200)).json
    card = next(row for row in closed["rows"] if row["kind"] == "fold" and row["facts"]["messages"])
    opened = (await visitor.get(f"{THREAD}/rows", open=card["seq"], limit=200)).json
    hidden = [row for row in opened["rows"] if row.get("fold") == card["seq"]]
    assert len(hidden) == card["facts"]["messages"] == opened["total"] - closed["total"]
    assert {row["state"] for row in hidden} == {"folded"}


@pytest.mark.parametrize("listing", ["said", "people", "tools", "shown", "hidden", "everything"])
async def test_pages_of_a_list_are_the_list(visitor: Visitor, listing: str) -> None:
    whole = (await visitor.get(f"{THREAD}/rows", listing=listing, limit=200)).json
    pages = [
        row
        for start in range(0, min(whole["total"], 200), 7)
        for row in (await visitor.get(f"{THREAD}/rows", listing=listing, start=start, limit=7)).json["rows"]
    ]
    assert whole["rows"]
    assert pages[:200] == whole["rows"]


async def test_the_end_of_a_conversation_is_told_without_opening_it(visitor: Visitor) -> None:
    newest = (await visitor.get(f"{THREAD}/newest", limit=5)).json
    whole = (await visitor.get(f"{THREAD}/rows", limit=200)).json
    assert newest["rows"] == whole["rows"][-5:]
    assert (newest["is_whole"], newest["last"]) == (False, whole["last"])
    assert (await visitor.get(f"{THREAD}/newest", limit=200)).json["is_whole"]
    assert (await visitor.get("/threads/nobody/newest")).status == 404


async def test_lists_and_ends_never_wait_for_a_session_that_is_being_read(store_path: Path) -> None:
    is_asked, may_go_on = threading.Event(), threading.Event()

    def open_slowly(store: cf.Store, name: str) -> cf.Session:
        is_asked.set()
        assert may_go_on.wait(60)
        return cf.Session.on(store, name)

    access = Access(port=PORT)
    stores = OpenStores(lambda space: cf.open(store_path, space=space), open_session=open_slowly)
    visitor = await Visitor(Inspector(stores, access), access).come_in()
    slow = asyncio.create_task(visitor.get(f"{THREAD}/gauge"))
    await asyncio.to_thread(is_asked.wait, 30)
    for path in ("/about", "/threads", f"{THREAD}/newest"):
        assert (await visitor.get(path)).status == 200
    assert not slow.done()
    may_go_on.set()
    assert (await slow).status == 200
    await visitor.inspector.close()


async def test_a_list_follows_what_is_said_folded_and_rewound_by_others(visitor: Visitor, store_path: Path) -> None:
    listings = ("said", "people", "tools", "shown", "hidden", "everything")
    before = {name: (await visitor.get(f"{THREAD}/rows", listing=name)).json["total"] for name in listings}
    with cf.open(store_path) as store:
        thread = store.thread("shop/refunds")
        seq = thread.append({"role": "user", "content": "One more thing."})
        grown = (await visitor.get(f"{THREAD}/rows", listing="people", start=before["people"])).json
        assert [row["seq"] for row in grown["rows"]] == [seq]
        thread.rewind(before=seq)
    fresh = await inspector_of(store_path).come_in()
    for name in listings:
        for asked in (visitor, fresh):
            await asked.get(f"{THREAD}/rows", listing=name)
        assert (await visitor.get(f"{THREAD}/rows", listing=name, limit=200)).json == (
            await fresh.get(f"{THREAD}/rows", listing=name, limit=200)
        ).json
    await fresh.inspector.close()


async def test_an_event_is_found_in_a_list_or_behind_the_card_that_hides_it(visitor: Visitor) -> None:
    rows = (await visitor.get(f"{THREAD}/rows", limit=200)).json["rows"]
    card = next(row for row in rows if row["kind"] == "fold")
    place = (await visitor.get(f"{THREAD}/place", seq=3)).json
    assert rows[place["index"]]["seq"] == place["fold"] == card["seq"]
    opened = (await visitor.get(f"{THREAD}/place", seq=3, open=card["seq"])).json
    listed = (await visitor.get(f"{THREAD}/rows", open=card["seq"], start=opened["index"], limit=1)).json["rows"]
    assert listed[0]["seq"] == 3
    assert (await visitor.get(f"{THREAD}/place", seq=99_999)).json["index"] == len(rows) - 1


async def test_a_call_is_shown_with_its_result_and_a_message_with_its_bytes(visitor: Visitor) -> None:
    rows = (await visitor.get(f"{THREAD}/rows", listing="tools", limit=50)).json["rows"]
    calling = next(row for row in rows if row.get("calls"))
    shown = (await visitor.get(f"{THREAD}/messages/{calling['seq']}")).json
    call = next(piece for piece in shown["pieces"] if piece["kind"] == "call")
    assert call["name"] == calling["calls"][0]
    assert call["answer"][0]["text"]
    assert json.loads(shown["raw"])["role"] == "assistant"
    result = (await visitor.get(f"{THREAD}/messages/{call['other']}")).json
    assert result["pieces"][0]["name"] == call["name"]
    assert shown["request"] == calling["seq"] - 1


async def test_a_fold_tells_its_words_and_an_unknown_one_is_not_found(visitor: Visitor) -> None:
    rows = (await visitor.get(f"{THREAD}/rows", limit=200)).json["rows"]
    card = next(row for row in rows if row["kind"] == "fold")
    told = (await visitor.get(f"{THREAD}/folds/{card['seq']}")).json
    assert told["text"].startswith(card["text"][:80])
    assert told["is_live"]
    assert (await visitor.get(f"{THREAD}/folds/1")).status == 404


async def test_every_request_ever_sent_is_told_byte_for_byte(visitor: Visitor, store_path: Path) -> None:
    history = (await visitor.get(f"{THREAD}/requests")).json
    with cf.open(store_path, read_only=True) as store:
        thread = store.thread("shop/refunds")
        sent = [each.seq for each in thread.events if isinstance(each.event, Sent)]
        assert [each["seq"] for each in history["requests"]] == sent
        for request in history["requests"][-3:]:
            body = await visitor.get(f"{THREAD}/requests/{request['number']}/body")
            assert body.body == thread.request(request["seq"]).json
            assert decode(body.body)["messages"]
    assert history["spent"] > 0


async def test_what_the_model_saw_names_each_part_and_what_was_left_out(visitor: Visitor) -> None:
    last = (await visitor.get(f"{THREAD}/requests")).json["total"]
    shown = (await visitor.get(f"{THREAD}/requests/{last}")).json
    assert shown["is_exact"]
    kept = {part["seq"] for part in shown["parts"] if part["kind"] == "message"}
    left = sum(each["messages"] for each in shown["left_out"])
    said = sum(run["messages"] for run in shown["history"])
    assert left > 0
    assert len(kept) + left == said
    folded = [run for run in shown["history"] if run["fate"] == "folded"]
    assert sum(run["tokens"] for run in folded) == sum(each["tokens"] for each in shown["left_out"])
    assert {part["kind"] for part in shown["parts"]} >= {"message", "stand_in"}


async def test_two_requests_are_told_apart_part_by_part(visitor: Visitor) -> None:
    diff = (await visitor.get(f"{THREAD}/requests/4/against/3")).json
    assert (diff["same"], diff["new"], diff["gone"], diff["changed"]) == (5, 2, 0, 0)
    folded = next(
        each["number"] for each in (await visitor.get(f"{THREAD}/requests")).json["requests"] if each.get("folds")
    )
    diff = (await visitor.get(f"{THREAD}/requests/{folded}/against/{folded - 1}")).json
    assert diff["gone"] + diff["changed"] > 0
    assert (await visitor.get(f"{THREAD}/requests/9999/against/1")).status == 404


async def test_words_are_found_in_all_sessions_and_in_one(visitor: Visitor) -> None:
    everywhere = (await visitor.get("/search", words="warehouses nightly job")).json["passages"]
    here = (await visitor.get("/search", words="warehouses nightly job", thread="shop/refunds")).json["passages"]
    assert {passage["thread"] for passage in everywhere} >= {"shop/refunds"}
    assert any(passage["seq"] == 1 for passage in here)
    assert (await visitor.get("/search", words="")).status == 400


async def test_a_session_is_exported_as_it_is_and_comes_back(visitor: Visitor, tmp_path: Path) -> None:
    answer = await visitor.get(f"{THREAD}/export")
    assert answer.headers["content-disposition"].startswith("attachment")
    path = tmp_path / "session.jsonl"
    write(path, answer.body)
    with cf.open() as store:
        thread = store.import_(path)
        assert sum(isinstance(each.event, Appended) for each in thread.events) == 45


async def test_policies_are_compared_on_this_session(visitor: Visitor) -> None:
    report = (await visitor.get(f"{THREAD}/compare", policies="sliding_window")).json
    assert [total["policy"] for total in report["totals"]][:2] == ["sliding_window", "full"]
    assert report["rows"][0]["context"]
    assert (await visitor.get(f"{THREAD}/compare", policies="no_such")).status == 400


async def test_spaces_are_kept_apart_and_an_unknown_one_is_not_made(visitor: Visitor, store_path: Path) -> None:
    assert (await visitor.get("/about")).json["spaces"] == ["default", "other"]
    there = (await visitor.get("/threads", space="other")).json
    assert [row["name"] for row in there["sessions"]] == ["elsewhere"]
    assert (await visitor.get("/threads/elsewhere/rows")).status == 404
    assert (await visitor.get("/threads", space="nowhere")).status == 404
    assert (await visitor.get("/threads/nobody/rows")).status == 404
    with cf.open(store_path) as store:
        assert "nobody" not in store


async def test_wrong_questions_are_refused_with_what_to_do(visitor: Visitor) -> None:
    for target, query in (
        (f"{THREAD}/rows", {"limit": 100_000}),
        (f"{THREAD}/rows", {"listing": "nothing"}),
        (f"{THREAD}/rows", {"start": -1}),
        (f"{THREAD}/messages/abc", {}),
        (f"{THREAD}/messages/2", {}),
        (f"{THREAD}/nothing", {}),
    ):
        answer = await visitor.get(target, **query)
        assert answer.status in (400, 404)
        assert answer.error
    assert (await visitor.ask("POST", f"/api/v1{THREAD}/pin", b"[1")).status == 400
    assert (await visitor.ask("POST", f"/api/v1{THREAD}/pin", b"x" * (2 << 20))).status == 400


async def test_the_description_is_written_from_the_code_and_names_every_route(visitor: Visitor) -> None:
    told = json.loads((await visitor.ask("GET", "/api/v1/openapi.json")).body)
    assert told == json.loads(json.dumps(description(ROUTES, cf.__version__)))
    assert {(method.upper(), path) for path, each in told["paths"].items() for method in each} == {
        (route.method, f"/api/v1{route.path}") for route in ROUTES
    }
    assert all(each["summary"] for path in told["paths"].values() for each in path.values())
    refs = set(_references(told))
    assert refs <= {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for inner in value.values() for each in _references(inner)]
    return [each for inner in value for each in _references(inner)] if isinstance(value, list) else []


def test_a_store_in_memory_has_no_spaces_to_name() -> None:
    with cf.open() as store:
        assert store.spaces() == ()


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
