"""The asynchronous twin: the same thread, awaited; commits shared and never cancelled half-way."""

import asyncio
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import Conflict, NotFound, StoreError


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


async def test_every_verb_has_an_awaited_twin(tmp_path: Path) -> None:
    async with cf.aio.open(tmp_path / "a.db") as store:
        thread = await store.thread("t", model="gpt-6-sol")
        for text in "abcd":
            await thread.append(user(text))
        fold = await thread.fold([1, 2], "folded")
        assert [info.id for info in await thread.folds] == [fold]
        await thread.unfold(fold)
        await thread.pin(1)
        await thread.unpin(1)
        assert (await thread.rewind(before=4)).head == 3
        await thread.redo()
        fork = await thread.fork(at=2)
        assert fork.name != thread.name
        assert fork.model.id == thread.model.id
        assert len(await fork.view) == 2
        assert (await thread.message(1)).text == "a"
        assert b'"content":"a"' in await thread.body(model="m")
        assert len(await thread.events) == 10
        await store.export("t", tmp_path / "t.jsonl")
        copy = await store.import_(tmp_path / "t.jsonl", name="copy")
        assert len(await copy.view) == 4
        await store.backup(tmp_path / "copy.db")
        assert await store.forget("copy", 1) >= 1
        assert {row.name for row in await store.threads()} >= {"t", "copy"}
        assert await store.verify() == []


async def test_appends_that_wait_together_all_land_in_order(tmp_path: Path) -> None:
    async with cf.aio.open(tmp_path / "a.db") as store:
        thread = await store.thread("t")
        seqs = await asyncio.gather(*(thread.append(user(str(number))) for number in range(200)))
        assert seqs == list(range(1, 201))
        assert [message.text for message in (await thread.view).messages] == [str(number) for number in range(200)]


async def test_one_failure_in_a_batch_is_its_own(tmp_path: Path) -> None:
    async with cf.aio.open(tmp_path / "a.db") as store:
        thread = await store.thread("t")
        await thread.append(user("x"))
        results = await asyncio.gather(
            thread.append(user("good")),
            thread.append(user("stale"), expected=99),
            thread.unfold(77),
            thread.append(user("also good")),
            return_exceptions=True,
        )
        assert isinstance(results[1], Conflict)
        assert isinstance(results[2], NotFound)
        assert [message.text for message in (await thread.view).messages] == ["x", "good", "also good"]


async def test_a_cancelled_caller_leaves_the_commit_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with cf.aio.open(path) as store:
        thread = await store.thread("t")
        tasks = [asyncio.ensure_future(thread.append(user(str(number)))) for number in range(50)]
        await asyncio.wait(tasks[:1])
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        acknowledged = [seq for seq in done if isinstance(seq, int)]
        assert acknowledged
    with cf.open(path) as again:
        assert again.verify() == []
        assert {message.seq for message in again.thread("t").view.messages} >= set(acknowledged)


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = cf.aio.open(tmp_path / "a.db")
    thread = await store.thread("t")
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await thread.append(user("x"))


@pytest.mark.parametrize("is_awaited", [True, False])
async def test_a_batch_waits_for_the_disk_once_and_for_nobody_else(tmp_path: Path, is_awaited: bool) -> None:
    async with cf.aio.open(tmp_path / "a.db") as store:
        ours, theirs = await store.thread("ours", model="gpt-6-sol"), await store.thread("theirs", model="gpt-6-sol")

        async def append() -> None:
            await ours.append(user("one"))
            await asyncio.gather(*(ours.append(user(text)) for text in "abc"))
            await asyncio.wait_for(other, 60)

        other = asyncio.create_task(theirs.append(user("beside")))  # in no batch, and needed by the one in it
        if is_awaited:
            async with store.batch():
                await append()
        else:
            with store.batch():
                await append()
        assert len(await ours.view) == 4
        assert len(await theirs.view) == 1
        assert await store.verify() == []


async def test_what_a_failed_batch_appended_stays(tmp_path: Path) -> None:
    async with cf.aio.open(tmp_path / "a.db") as store:
        thread = await store.thread("t", model="gpt-6-sol")

        async def fail() -> None:
            async with store.batch():
                await thread.append(user("said"))
                raise LookupError

        with pytest.raises(LookupError):
            await fail()
    with cf.open(tmp_path / "a.db") as again:
        assert len(again.thread("t").view) == 1
