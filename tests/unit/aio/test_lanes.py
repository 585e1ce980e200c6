"""Conversations in PostgreSQL, awaited beside each other: each in its own order, on as many connections as it has."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.errors import Conflict, StoreError

MODEL = "claude-sonnet-4-5"
LONGEST = 60  # seconds to wait for what should come at once


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


@pytest.fixture
async def store(postgres_tables: str, tmp_path: Path) -> AsyncIterator[aio.Store]:
    async with aio.open(postgres_tables, space=str(tmp_path)) as opened:
        yield opened


class Held:
    """Somebody else's transaction that writes to a thread, and is not over."""

    def __init__(self, address: str, space: str, thread: str) -> None:
        self._store = cf.open(address, space=space)
        self._thread = self._store.thread(thread)
        self._may_end = threading.Event()
        self._has_begun = threading.Event()
        self._running = threading.Thread(target=self._write)

    def __enter__(self) -> None:
        self._running.start()
        assert self._has_begun.wait(LONGEST)

    def __exit__(self, *_: object) -> None:
        self._may_end.set()
        self._running.join(LONGEST)
        self._store.close()

    def _write(self) -> None:
        with self._store.batch():
            self._thread.append(user("theirs"))
            self._has_begun.set()
            self._may_end.wait(LONGEST)


async def test_a_conversation_that_waits_for_another_machine_holds_up_no_other(
    store: aio.Store, postgres_tables: str, tmp_path: Path
) -> None:
    threads = {name: await store.thread(name) for name in ("held", *"abcdefgh")}
    with Held(postgres_tables, str(tmp_path), "held"):
        waiting = asyncio.ensure_future(threads["held"].append(user("ours")))
        others = [threads[name].append(user(f"{number}")) for number in range(3) for name in "abcdefgh"]
        assert await asyncio.wait_for(asyncio.gather(*others), LONGEST)
        assert not waiting.done()
    assert await asyncio.wait_for(waiting, LONGEST) == 2
    assert [each.text for each in (await threads["held"].view).messages] == ["theirs", "ours"]


async def test_appends_of_one_conversation_land_in_the_order_they_were_asked_for(store: aio.Store) -> None:
    one, other = await store.thread("one"), await store.thread("other")
    said = [thread.append(user(str(number))) for number in range(40) for thread in (one, other)]
    assert await asyncio.gather(*said) == [seq for seq in range(1, 41) for _ in "12"]
    for thread in (one, other):
        assert [each.text for each in (await thread.view).messages] == [str(number) for number in range(40)]


async def test_an_error_is_its_caller_s_and_the_conversation_goes_on(store: aio.Store) -> None:
    thread = await store.thread("a")
    told = await asyncio.gather(
        thread.append(user("good")),
        thread.append(user("stale"), expected=99),
        thread.append(user("also good")),
        return_exceptions=True,
    )
    assert (told[0], told[2]) == (1, 2)
    assert isinstance(told[1], Conflict)


async def test_a_cancelled_caller_leaves_the_commit_whole(
    store: aio.Store, postgres_tables: str, tmp_path: Path
) -> None:
    thread = await store.thread("a")
    with Held(postgres_tables, str(tmp_path), "a"):
        asked = [asyncio.ensure_future(thread.append(user(str(number)))) for number in range(3)]
        await asyncio.sleep(0)  # each has asked
        for each in asked:
            each.cancel()
        assert all(
            isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*asked, return_exceptions=True)
        )
    assert await asyncio.wait_for(thread.append(user("next")), LONGEST) == 5
    assert await store.verify() == []


async def test_an_open_store_has_no_thread_of_its_own_and_a_used_one_at_most_its_connections(
    postgres_tables: str, tmp_path: Path
) -> None:
    before = _working()
    stores = [aio.open(f"{postgres_tables}&pool_size=2", space=str(tmp_path)) for _ in range(4)]
    assert _working() <= before
    turns = [_turn(stores[0], f"t{number}") for number in range(12)]
    assert await asyncio.gather(*turns) == [2] * 12
    assert 1 <= len(_working() - before) <= 2
    for each in stores:
        await each.close()
    assert _working() <= before  # somebody else's may have ended meanwhile


def _working() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("contextfold")}


async def _turn(store: aio.Store, name: str) -> int:
    session = await aio.Session.on(store, name, MODEL)
    await session.append(user(f"from {name}"))
    await session.prepare(system="Be brief.")
    await session.append({"role": "assistant", "content": [{"type": "text", "text": "so"}]})
    return len((await session.view).messages)


async def test_verbs_of_the_store_and_of_a_renamed_thread_see_what_conversations_wrote(
    store: aio.Store, tmp_path: Path
) -> None:
    thread = await store.thread("a", model=MODEL)
    await thread.append(user("The cellar key hangs behind the clock."))
    await store.rename("a", "b")
    await (await store.thread("b")).append(user("by its new name"))
    await thread.append(user("by its old one"))
    assert [row.messages for row in await store.threads()] == [3]
    assert "clock" in (await store.recall("where is the cellar key?", "a"))[0].text
    await store.export("a", tmp_path / "a.jsonl")
    copy = await store.import_(tmp_path / "a.jsonl", name="copy")
    await copy.append(user("more"))
    assert await store.forget("b", 1) == 1
    assert "clock" not in str(await thread.body())
    fork = await thread.fork(at=2)
    await fork.append(user("another way"))
    assert len(await fork.view) == 3


async def test_a_session_of_its_own_store_closes_both(postgres_tables: str, tmp_path: Path) -> None:
    address = f"{postgres_tables}&pool_size=2"
    session = await aio.Session.open(address, thread=str(tmp_path), model=MODEL)
    await session.append(user("hello"))
    child = await session.child("helper")
    await child.append(user("do this"))
    await session.close()
    with pytest.raises(StoreError, match="closed"):
        await session.append(user("too late"))


async def test_conversations_that_nobody_holds_leave_memory_when_there_is_no_room(
    postgres_tables: str, tmp_path: Path
) -> None:
    async with aio.open(postgres_tables, space=str(tmp_path), keep_bytes=20_000) as store:
        for number in range(12):
            await _turn(store, f"t{number}")
        assert await _turn(store, "t0") == 4
        lane = store.worker.lane("t0")
        assert lane is store.worker.lane("t0")
        assert len(list(_lanes(store))) < 12


def _lanes(store: aio.Store) -> Iterator[str]:
    yield from store.worker._kept  # type: ignore[attr-defined]
