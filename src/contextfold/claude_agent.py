"""Claude Agent SDK: `ClaudeAgentOptions(session_store=TranscriptStore("agent.db"))` keeps its transcripts in a store.

Each session is a thread, and so is each of its sub-agents; entries are kept as they are, in the order they came, and an
entry that comes again is not written again. Nothing is folded here: what the agent asks its model is folded by the
gateway. The SDK itself is asked for one thing only, how it sums up a session for its lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from contextfold.conversations import Conversations, Place
from contextfold.domain import Message, NewEvent, Noted, Projection, Text, decode, encode
from contextfold.errors import MissingExtra
from contextfold.store import Store
from contextfold.thread import Thread

ENTRY, SUMMARY = "transcript", "transcript-summary"
_ROOT = "claude-agent"
Key = Mapping[str, str]
Entry = Mapping[str, Any]


class TranscriptStore:
    """What the SDK calls a `SessionStore`, over a store of contextfold's: a file, an open one, or memory."""

    def __init__(self, store: Place = None) -> None:
        self._conversations = Conversations(store)

    def close(self) -> None:
        """Let go of the store."""
        self._conversations.close()

    async def append(self, key: Key, entries: Sequence[Entry]) -> None:
        """Write entries of a transcript behind those there are."""
        if entries:
            await asyncio.to_thread(self._append, key, list(entries))

    async def load(self, key: Key) -> list[Any] | None:
        """All entries of a transcript; None where there is none."""
        return await asyncio.to_thread(self._load, key)

    async def list_sessions(self, project_key: str) -> list[Any]:
        """The sessions of a project, with the time of their last entry in milliseconds."""
        return await asyncio.to_thread(self._listed, project_key, lambda _: {})

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """The SDK's own summaries of the sessions of a project."""
        return await asyncio.to_thread(
            self._listed, project_key, lambda name: {"data": self._newest_summary(self._store.thread(name))}
        )

    async def list_subkeys(self, key: Key) -> list[str]:
        """The sub-agents of a session."""
        return await asyncio.to_thread(self._below, key)

    async def delete(self, key: Key) -> None:
        """Erase a session with its sub-agents, or one sub-agent, for good."""
        await asyncio.to_thread(self._delete, key)

    # -- the threads --------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        return self._conversations.store

    def _append(self, key: Key, entries: list[Entry]) -> None:
        name = _name(key)
        thread = self._store.thread(name)
        if self._is_put_away(name):
            self._store.unarchive(name)
        notes = [(ENTRY, encode(dict(entry)), str(entry.get("uuid") or "")) for entry in entries]
        if not key.get("subpath"):
            notes.append((SUMMARY, encode(_summed_up(self._newest_summary(thread), key, entries)), ""))
        thread.write(lambda now: _drafts(thread, now, notes))

    def _load(self, key: Key) -> list[Any] | None:
        name = _name(key)
        if name not in self._store or self._is_put_away(name):
            return None
        return [decode(body) for body in _bodies(self._store.thread(name), ENTRY)] or None

    def _listed(self, project: str, more: Callable[[str], Mapping[str, Any]]) -> list[Any]:
        front = f"{_ROOT}/{quote(project, safe='')}/"
        rows = self._store.threads(prefix=front, archived=False)
        sessions = [(row, row.title.removeprefix(front)) for row in rows]
        return [
            {"session_id": unquote(session), "mtime": int(row.at * 1000), **more(row.title)}
            for row, session in sessions
            if "/" not in session
        ]

    def _newest_summary(self, thread: Thread) -> dict[str, Any]:
        newest = next(iter(_bodies(thread, SUMMARY, newest_first=True)), b"{}")
        found: dict[str, Any] = decode(newest)
        return found

    def _below(self, key: Key) -> list[str]:
        front = f"{_name({**key, 'subpath': ''})}/"
        return [unquote(row.title.removeprefix(front)) for row in self._store.threads(prefix=front, archived=False)]

    def _delete(self, key: Key) -> None:
        below = [] if key.get("subpath") else self._below(key)
        for each in (key, *({**key, "subpath": path} for path in below)):
            if _name(each) in self._store:
                self._store.forget(_name(each))
                self._store.archive(_name(each))

    def _is_put_away(self, name: str) -> bool:
        return any(row.title == name for row in self._store.threads(prefix=name, archived=True))


def _name(key: Key) -> str:
    """A thread's name; of each part every slash is quoted, so that no key reaches into another's."""
    parts = [key["project_key"], key["session_id"], *([key["subpath"]] if key.get("subpath") else [])]
    return "/".join([_ROOT, *(quote(part, safe="") for part in parts)])


def _bodies(thread: Thread, layer: str, *, newest_first: bool = False) -> Iterable[bytes]:
    """What was written down under a layer and not forgotten since."""
    thread.catch_up()
    events = thread.branch.events
    for logged in reversed(events) if newest_first else events:
        if isinstance(logged.event, Noted) and logged.event.layer == layer:
            body = thread.lens.words(logged.seq)
            if body:
                yield body


def _drafts(thread: Thread, now: Projection, notes: Sequence[tuple[str, bytes, str]]) -> list[NewEvent]:
    kept = _unused_keys(thread, [key for _, _, key in notes if key])
    new = [(layer, body, kept.get(key, "")) for layer, body, key in notes if not key or key in kept]
    shape = thread.lens.counter.shape(Message("user", (Text(""),)))
    parents = (now.head, *range(now.last + 1, now.last + len(new)))[: len(new)]
    return [
        NewEvent(Noted(layer, shape), parent, thread.now(), body, key)
        for (layer, body, key), parent in zip(new, parents, strict=True)
    ]


def _unused_keys(thread: Thread, keys: Sequence[str]) -> Mapping[str, str]:
    """What entries are to be written under that are not there; one that was erased comes again under another key."""
    unused, asked = {}, {key: key for key in keys}
    while asked:
        found = thread.lens.keyed(list(asked.values()))
        unused.update({key: name for key, name in asked.items() if name not in found})
        taken = {key: (name, found[name]) for key, name in asked.items() if name in found}
        asked = {key: f"{name}~{seq}" for key, (name, seq) in taken.items() if not thread.lens.words(seq)}
    return unused


def _summed_up(before: dict[str, Any], key: Key, entries: Sequence[Entry]) -> dict[str, Any]:
    """The SDK's state of a session's summary; what stands in it is the SDK's business."""
    try:
        from claude_agent_sdk import fold_session_summary  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        raise MissingExtra("Claude Agent SDK", "claude-agent") from error
    previous = {"session_id": key["session_id"], "mtime": 0, "data": before} if before else None
    data: dict[str, Any] = fold_session_summary(previous, key, list(entries))["data"]
    return data
