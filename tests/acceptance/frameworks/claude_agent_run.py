"""The Claude Agent SDK's contracts for a session store, in memory and in a file: `python claude_agent_run.py DIR`."""

import asyncio
import json
import sys
from itertools import count
from pathlib import Path

from claude_agent_sdk.testing import run_session_store_conformance

import contextfold as cf
from contextfold.claude_agent import TranscriptStore

KEY = {"project_key": "proj", "session_id": "sess"}


async def main(directory: str) -> None:
    numbers = count()
    await run_session_store_conformance(TranscriptStore)
    await run_session_store_conformance(lambda: TranscriptStore(Path(directory) / f"{next(numbers)}.db"))
    path = Path(directory) / "again.db"
    entries = [{"type": "user", "uuid": "a", "n": 1}, {"type": "mode"}]
    for _ in range(2):  # the SDK sends a batch again when it does not know whether it came
        store = TranscriptStore(path)
        await store.append(KEY, entries)
        store.close()
    store = TranscriptStore(path)
    kept = await store.load(KEY)
    await store.delete(KEY)
    await store.append(KEY, entries)
    after = await store.load(KEY)
    store.close()
    with cf.open(path) as opened:
        problems = opened.verify()
    print(json.dumps({"kept": kept, "after": after, "problems": len(problems), "files": next(numbers)}))


asyncio.run(main(*sys.argv[1:]))
