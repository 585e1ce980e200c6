"""Conversations that somebody else runs, each a session of one store: what frameworks and SDKs are adapted with.

An owner's list is followed, a request that fits is made of it, and the answer is written behind it. The owner's
messages are read and never changed. Safe from several threads: one conversation is one at a time, others go on.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock, RLock
from typing import Any, TypeAlias, TypeVar

from contextfold import dialects
from contextfold.dialects import elements, fields
from contextfold.folding import Policy
from contextfold.preferences import Chosen
from contextfold.session import Hook, Hooks, Request, Session, System, Tools
from contextfold.store import Store
from contextfold.store import open as open_store

_REFUSED = 400  # the status of a refusal that an error speaks of
MOST_OPEN = 64  # conversations that are held ready; one that was let go is opened again from its store

T = TypeVar("T")
Place: TypeAlias = str | os.PathLike[str] | Store | None  # a file, a store that is open, or memory


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """How conversations are folded: what `Session.open` takes, for all of them."""

    policy: Policy | str | None = None
    profile: Chosen = None
    window: int | None = None
    limit: int | None = None
    on_fold: Hook = None


class WrittenObjects:
    """An owner's objects as they were written last: only one that is another is written again."""

    def __init__(self) -> None:
        self._pairs: list[tuple[object, bytes]] = []

    def of(self, objects: Sequence[T], write: Callable[[T], bytes]) -> dict[bytes, list[T]]:
        """The objects under their bytes; those that are written alike in their order."""
        old = self._pairs
        same = (place for place, (pair, each) in enumerate(zip(old, objects, strict=False)) if pair[0] is not each)
        known = next(same, min(len(old), len(objects)))
        self._pairs = [*old[:known], *((each, write(each)) for each in objects[known:])]
        found: dict[bytes, list[T]] = {}
        for (_, raw), each in zip(self._pairs, objects, strict=True):
            found.setdefault(raw, []).append(each)
        return found

    @property
    def bytes(self) -> list[bytes]:
        """What the objects were written as, in order."""
        return [raw for _, raw in self._pairs]


class SentMessages:
    """The messages of the last request one by one; while requests only grow, only what is new is looked at."""

    def __init__(self) -> None:
        self._body, self._messages = b"", [b""]

    def of(self, request: Request, field: str = "messages") -> list[bytes]:
        """The messages of a request, as they are written in it."""
        body, before = request.json, self._body[:-2]
        if before and body.startswith(before + b","):
            self._messages += _listed(b"[" + body[len(before) + 1 : -1])
        else:
            self._messages = _listed(bytes(fields(body)[field]))
        self._body = body
        return self._messages


def _listed(messages: bytes) -> list[bytes]:
    return [bytes(raw) for raw in elements(messages)]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: its session, and whoever holds the lock may use it."""

    session: Session
    lock: RLock = field(default_factory=RLock)
    written: WrittenObjects = field(default_factory=WrittenObjects)
    sent: SentMessages = field(default_factory=SentMessages)

    def turn(
        self,
        messages: Iterable[object],
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        cache: bool | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Request:
        """Follow the owner's list, and make the request that is to be sent."""
        with self.lock:
            self.session.follow(messages)
            return self.session.prepare(
                system=system, tools=tools, max_tokens=max_tokens, cache=cache, **dict(settings or {})
            )

    def answered(self, message: object, usage: Mapping[str, Any] | None = None, dialect: str | None = None) -> int:
        """Write what came back, and what it was billed."""
        with self.lock:
            return self.session.append(message, usage=usage, dialect=dialect)

    def overflowed(self, error: BaseException) -> bool:
        """Whether a provider's error says that the request was too long; then the next one is shorter."""
        told = str(error).encode("utf-8", "replace")
        endpoints = [dialect.endpoint for dialect in dialects.all_known() if dialect.endpoint is not None]
        if not any(endpoint.overflows(_REFUSED, told) for endpoint in endpoints):
            return False
        with self.lock:
            self.session.overflowed(error)
        return True


def given_back(messages: Sequence[bytes], owned: Mapping[bytes, list[T]], make: Callable[[bytes], T]) -> list[T]:
    """The owner's own objects wherever nothing was changed, the newest of those that are alike; else a new one."""
    found = [stack.pop() if (stack := owned.get(raw)) else make(raw) for raw in reversed(messages)]
    return found[::-1]


class Conversations:
    """The conversations of one store by the names of their threads; a file is opened when the first one begins."""

    def __init__(self, place: Place, folding: FoldSettings | None = None) -> None:
        self._place, self._folding = place, folding or FoldSettings()
        self._store = place if isinstance(place, Store) else None
        self._open: OrderedDict[tuple[str, str, str], Conversation] = OrderedDict()
        self._lock = Lock()

    @property
    def store(self) -> Store:
        """The store, opened by now."""
        if self._store is None:
            assert not isinstance(self._place, Store)  # noqa: S101  # it would be open
            self._store = open_store(self._place)
        return self._store

    def of(self, thread: str, model: str, dialect: str) -> Conversation:
        """The conversation of this name, begun or gone on with."""
        key = (thread, model, dialect)
        with self._lock:
            found = self._open.get(key)
            if found is None:
                how = self._folding
                session = Session.on(
                    self.store,
                    thread,
                    model or None,
                    how.policy,
                    Hooks(on_fold=how.on_fold),
                    dialect=dialect,
                    profile=how.profile,
                    window=how.window,
                    limit=how.limit,
                )
                found = self._open[key] = Conversation(session)
            self._open.move_to_end(key)
            idle = self._open.popitem(last=False)[1] if len(self._open) > MOST_OPEN else None
        if idle is not None:
            _let_go(idle)
        return found

    def close(self) -> None:
        """Let go of every conversation, and of the store if it was opened here."""
        with self._lock:
            held, self._open = list(self._open.values()), OrderedDict()
            for each in held:
                _let_go(each)
            if self._store is not None and not isinstance(self._place, Store):
                self._store.close()
                self._store = None


def _let_go(conversation: Conversation) -> None:
    with conversation.lock:
        conversation.session.close()


def name_of(first: bytes, prefix: str, digest: Callable[[bytes], Any] = sha256) -> str:
    """A name for a conversation that has none: by what it begins with."""
    return f"{prefix}-{digest(first).hexdigest()[:12]}"
