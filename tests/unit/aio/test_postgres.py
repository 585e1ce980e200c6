"""The asynchronous twins over PostgreSQL."""

import asyncio
from pathlib import Path

import contextfold as cf
from contextfold import aio

MODEL = "claude-sonnet-4-5"


async def test_turns_of_many_threads_are_awaited_together(postgres_tables: str, tmp_path: Path) -> None:
    async with aio.open(postgres_tables, space=str(tmp_path)) as store:

        async def turn(name: str) -> int:
            session = await aio.Session.on(store, name, MODEL)
            await session.append({"role": "user", "content": f"from {name}"})
            request = await session.prepare(system="Be brief.")
            assert len(request.body["messages"]) == 1
            return await session.append({"role": "assistant", "content": [{"type": "text", "text": "so"}]})

        assert all(await asyncio.gather(*(turn(f"t{number}") for number in range(6))))
        assert await store.verify() == []
    with cf.open(postgres_tables, space=str(tmp_path)) as again:
        assert [row.messages for row in again.threads()] == [2] * 6


async def test_two_gateways_crossing_threads_do_not_wait_for_each_other(postgres_tables: str, tmp_path: Path) -> None:
    """In one commit for all that waits, they would lock the same threads in another order."""
    first, second = (aio.open(postgres_tables, space=str(tmp_path)) for _ in range(2))
    async with first, second:
        names = ("a", "b", "c")
        for name in names:
            await first.thread(name)
        ours = [await first.thread(name) for name in names]
        theirs = [await second.thread(name) for name in reversed(names)]
        for number in range(8):
            said = {"role": "user", "content": f"{number}"}
            await asyncio.gather(*(thread.append(said) for pair in zip(ours, theirs, strict=True) for thread in pair))
    with cf.open(postgres_tables, space=str(tmp_path)) as again:
        assert [row.messages for row in again.threads()] == [16] * 3
        assert again.verify() == []


def test_a_batch_that_fails_leaves_threads_as_the_log_has_them(postgres_tables: str, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=str(tmp_path)) as store:
        thread = store.thread("a")
        thread.append({"role": "user", "content": "kept"})
        try:
            with store.batch():
                thread.append({"role": "user", "content": "lost"})
                store.thread("made in it").append({"role": "user", "content": "lost too"})
                raise LookupError
        except LookupError:
            pass
        assert len(thread.view) == 1
        assert [row.title for row in store.threads()] == ["a"]
        store.thread("made in it").append({"role": "user", "content": "again"})
        assert len(store.thread("made in it").view) == 1
        thread.append({"role": "user", "content": "next"})
        assert [each.seq for each in thread.events] == [1, 2]
