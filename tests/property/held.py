"""A thread in a real store as the subject of the machine: said by bytes, read back by bytes.

What the public API has no verb for (attachments, notes, what was sent) is written the way another process would write
it: straight to the log, by another connection.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Protocol

import contextfold as cf
from contextfold import dialects, logs
from contextfold.domain import (
    Attached,
    Block,
    Document,
    Event,
    EventLog,
    Image,
    Message,
    NewEvent,
    Noted,
    Opaque,
    Reasoning,
    Sent,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    decode,
    encode,
)
from contextfold.testing.nasty_wire import WRITERS
from contextfold.tokens import counter_for
from tests.crash.disk import UNSYNCED
from tests.property.reference import Said

REMINDER = "The file src/app.py was changed from outside. ファイルが変更されました。"
MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-6-sol",
    "gemini": "gemini-2.5-pro",
}
# Where a wire has its messages, unless under that name.
MESSAGES: Mapping[str, str] = {"openai-responses": "input", "gemini": "contents"}
# Settled when a request is prepared, not in a view: whose turn it is.
LATER = frozenset({"ends-with-assistant", "ends-with-model"})
KINDS: Mapping[type[Block], str] = {
    Text: "text",
    Image: "image",
    Document: "document",
    ToolCall: "call",
    ToolResult: "result",
    Reasoning: "reasoning",
    Opaque: "opaque",
}


class Place(Protocol):
    """Where a store lives, and how it comes back after a crash."""

    def log(self) -> EventLog:
        """Another way into the same store."""
        ...

    def opened(self) -> cf.Store: ...

    def crashed(self) -> Place:
        """What is found after the process died: only what had been written."""
        ...

    def say_from_another_process(self, thread: str, raw: bytes) -> int: ...


def in_words(kind: str, message: Message) -> Said:
    """A message in the words of the reference."""
    return Said(kind, message.role, tuple((KINDS[type(each)], _call(each), _is_blank(each)) for each in message.blocks))


def _call(block: Block) -> str:
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call
        case _:
            return ""


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


class Held:
    """The subject: a thread, and every byte that was ever said in it."""

    def __init__(self, place: Place, dialect: str, random: Random) -> None:
        self.place, self.dialect, self.random = place, dialect, random
        self.store = place.opened()
        self.thread = self.store.thread("main", model=MODELS[dialect])
        self.raws: dict[int, bytes] = {}
        self.forks = itertools.count()

    @property
    def view(self) -> cf.View:
        return self.thread.view

    # -- saying ---------------------------------------------------------------------------------------------------

    def say(self, message: Message) -> Sequence[tuple[int, Said]]:
        return self.say_by(message, self.thread.append)

    def say_by(self, message: Message, append: Callable[[bytes], int]) -> Sequence[tuple[int, Said]]:
        said = []
        for wire in WRITERS[self.dialect](message, self.random):
            raw = json.dumps(wire, ensure_ascii=True, indent=self.random.choice((None, 1))).encode()
            seq = append(raw)
            self.raws[seq] = raw
            said.append((seq, in_words("message", self.thread.message(seq))))
        return said

    def say_from_another_connection(self, message: Message) -> Sequence[tuple[int, Said]]:
        with self.place.opened() as other:
            return self.say_by(message, other.thread(self.thread.name).append)

    def say_from_another_process(self, message: Message) -> Sequence[tuple[int, Said]]:
        return self.say_by(message, lambda raw: self.place.say_from_another_process(self.thread.name, raw))

    # -- what has no verb -----------------------------------------------------------------------------------------

    def write(self, event: Event, body: bytes) -> int:
        log = self.place.log()
        draft = NewEvent(event, self.view.head, 0.0, body)
        seq = log.append(self.thread.name, [draft], expected=len(self.thread.events))[-1].seq
        log.close()
        self.store, self.thread = self.reopened()
        return seq

    def reopened(self) -> tuple[cf.Store, cf.Thread]:
        """Only memory has to look again; a file tells that somebody else wrote."""
        return self.store, self.thread

    def attach(self) -> tuple[int, Said]:
        message = Message("user", (Text(REMINDER),))
        shape = counter_for(self.thread.model).shape(message)
        return self.write(Attached("reminder", shape), encode(REMINDER)), in_words("attachment", message)

    def note(self) -> int:
        return self.write(Noted("L2", Shape("user")), encode("a decision"))

    def happen_elsewhere(self) -> None:
        self.write(Sent(self.view.head, self.thread.model.id, self.dialect, 1), b"")

    # -- the verbs ------------------------------------------------------------------------------------------------

    def fold(self, seqs: Sequence[int], blocks: Sequence[tuple[int, int]], folds: Sequence[int]) -> int:
        return self.thread.fold([*seqs, *blocks, *folds], "[folded: 要約]")

    def fold_range(self, first: int, last: int, folds: Sequence[int]) -> int:
        return self.thread.fold(cf.Cover(((first, last),), folds=tuple(folds)), "[folded]", kind="window")

    def unfold(self, fold: int) -> int:
        self.thread.unfold(fold)
        return self.thread.view.head

    def pin(self, seq: int) -> int:
        self.thread.pin(seq)
        return self.thread.view.head

    def unpin(self, seq: int) -> int:
        self.thread.unpin(seq)
        return self.thread.view.head

    def rewind(self, to: int) -> None:
        assert self.thread.rewind(after=to).head == to

    def redo(self) -> None:
        self.thread.redo()

    def fork(self, at: int) -> Held:
        """The same bytes up to there; the fork is another thread of the same store."""
        twin = Held.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.thread = self.thread.fork(at=at, name=f"fork {next(self.forks)}")
        twin.raws = {seq: raw for seq, raw in self.raws.items() if seq <= at}
        return twin

    def again(self) -> Held:
        """After a crash: nothing is closed in good order, and only what had been written is there."""
        twin = Held.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.place = self.place.crashed()
        twin.store = twin.place.opened()
        twin.thread = twin.store.thread(self.thread.name)
        assert twin.store.verify() == []
        assert [(each.seq, each.event) for each in twin.thread.events] == [
            (each.seq, each.event) for each in self.thread.events
        ]
        twin.check_bytes(twin.raws)
        self.store.close()
        return twin

    # -- what always holds ----------------------------------------------------------------------------------------

    def check_nothing_lost(self) -> None:
        """A few bytes at every step, all of them after every crash; and often, a request its provider would take."""
        self.check_bytes(self.random.sample(sorted(self.raws), min(len(self.raws), 3)))
        if self.random.random() < 0.4:
            self.check_request()

    def check_bytes(self, seqs: Sequence[int] | Mapping[int, bytes]) -> None:
        for seq in seqs:
            assert self.thread.message(seq).raw == self.raws[seq]

    def check_request(self) -> None:
        """Nothing to say is no request: blank messages, or reasoning that nobody signed, are all there is."""
        body = decode(self.thread.body(dialect=self.dialect, model=self.thread.model.id))
        said = body[MESSAGES.get(self.dialect, "messages")]
        problems = dialects.find(self.dialect).check(body) if said else []
        allowed = LATER | {"unanswered-call"} if self.view.open_calls else LATER
        assert [problem for problem in problems if problem.rule not in allowed] == []


class InFile:
    """A SQLite file in a directory of its own."""

    def __init__(self, folder: Path, ask: Callable[[str, str, bytes], int], number: int = 0) -> None:
        self._folder, self._ask, self._number = folder, ask, number
        self.path = folder / f"{number}.db"

    def log(self) -> EventLog:
        return self._log()

    def _log(self) -> logs.SqliteLog:
        """Without fsyncs: a process dies here, no power is cut."""
        return logs.open_sqlite(self.path, vfs=UNSYNCED.name)

    def opened(self) -> cf.Store:
        return cf.Store(self._log())

    def crashed(self) -> InFile:
        """The file and its write-ahead log as they lie on the disk while the writer still has them open."""
        after = InFile(self._folder, self._ask, self._number + 1)
        for suffix in ("", "-wal"):
            part = Path(f"{self.path}{suffix}")
            if part.exists():
                shutil.copy(part, f"{after.path}{suffix}")
        return after

    def say_from_another_process(self, thread: str, raw: bytes) -> int:
        return self._ask(str(self.path), thread, raw)


class InMemory:
    """One log in memory. What was not written to it is gone with the store."""

    def __init__(self) -> None:
        self._log = logs.MemoryLog()

    def log(self) -> EventLog:
        return self._log

    def opened(self) -> cf.Store:
        return cf.Store(self._log)

    def crashed(self) -> InMemory:
        return self

    def say_from_another_process(self, thread: str, raw: bytes) -> int:
        raise AssertionError(f"memory is not shared between processes: {thread} {raw!r}")


class HeldInMemory(Held):
    """Two stores on one log in memory do not tell each other; a new store reads what is there."""

    def reopened(self) -> tuple[cf.Store, cf.Thread]:
        store = self.place.opened()
        return store, store.thread(self.thread.name)
