"""Transcripts of the Claude Agent SDK in a store: sub-agents, which need nothing of the SDK itself."""

import asyncio
from pathlib import Path

import contextfold as cf
from contextfold.claude_agent import TranscriptStore

SESSION = {"project_key": "a/b", "session_id": "s"}
FIRST, SECOND = {**SESSION, "subpath": "subagents/1"}, {**SESSION, "subpath": "subagents/2"}
ENTRY, MODE = {"type": "user", "uuid": "u1", "text": "hello"}, {"type": "mode"}


def test_a_transcript_is_kept_in_order_and_an_entry_with_an_identity_once(tmp_path: Path) -> None:
    async def kept() -> object:
        for _ in range(2):
            store = TranscriptStore(tmp_path / "agent.db")
            await store.append(FIRST, [ENTRY, MODE])
            await store.append(FIRST, [])
            store.close()
        store = TranscriptStore(tmp_path / "agent.db")
        found = await store.load(FIRST), await store.load(SECOND), await store.list_subkeys(SESSION)
        store.close()
        return found

    assert asyncio.run(kept()) == ([ENTRY, MODE, MODE], None, ["subagents/1"])
    with cf.open(tmp_path / "agent.db") as store:
        assert store.verify() == []


def test_what_is_deleted_is_erased_and_its_neighbours_stay(tmp_path: Path) -> None:
    async def left() -> object:
        store = TranscriptStore(tmp_path / "agent.db")
        for key in (FIRST, SECOND, {**FIRST, "project_key": "a"}):
            await store.append(key, [ENTRY])
        await store.delete(FIRST)
        one = await store.load(FIRST), await store.list_subkeys(SESSION)
        await store.append(FIRST, [ENTRY])
        again = await store.load(FIRST)
        await store.delete(SESSION)
        found = one, again, await store.list_subkeys(SESSION), await store.list_subkeys({**SESSION, "project_key": "a"})
        listed = await store.list_sessions("a/b")
        store.close()
        return *found, listed

    assert asyncio.run(left()) == ((None, ["subagents/2"]), [ENTRY], [], ["subagents/1"], [])
    assert b"hello" in (tmp_path / "agent.db").read_bytes(), "of the neighbour"
