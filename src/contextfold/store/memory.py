"""Long-term memory: what is to be known in every thread about a user, a project or an agent.

A memory is a message of a thread whose name begins with `memory:`, so that it is kept, searched, exported and forgotten
like anything else that was said. Nothing is overwritten: a newer memory about the same thing takes the older one's
place, and the older one is shown when history is asked for. No model is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import PERSON, Appended, EventLog, Provenance, ThreadPage, decode
from contextfold.errors import BadConfiguration, BadMessage, NotFound
from contextfold.layers import Decision, Fact, Item, Preference, Procedure
from contextfold.thread import Thread

from .harvest import harvested
from .library import Library

MEMORIES: Final = "memory:"  # how the names of such threads begin
Scope: TypeAlias = Literal["user", "project", "agent"]
Kind: TypeAlias = Literal["fact", "preference", "decision", "procedure"]
_FIELD = "memory"  # of the message that holds one


class MemoryEntry(Struct, frozen=True):
    """One thing that is remembered: where it was learned, until when it holds, and what took its place."""

    id: int
    text: str
    kind: Kind
    at: float
    about: str = ""  # what it is about: a newer memory about the same takes its place
    source: str = ""  # the thread it was learned in
    seq: int | None = None  # and the message there
    expires: float | None = None
    replaced_by: int | None = None
    speaker: Provenance | None = None  # who could have said it, where it was harvested from a conversation

    @property
    def item(self) -> Item:
        """The same for layer L3: `session.note(entry.item)`."""
        match self.kind:
            case "preference":
                return Preference(self.about or self.text, self.text if self.about else "")
            case "decision":
                return Decision(self.text)
            case "procedure":
                return Procedure(self.about or f"memory {self.id}", (self.text,))
            case "fact":
                return Fact(self.text, self.source or None)


class MemoryShelf(Protocol):
    """The store, as far as memories need it."""

    def thread(self, name: str) -> Thread: ...

    def forget(self, thread: str, seq: int | None = None) -> int: ...

    def archive(self, thread: str) -> None: ...

    def __contains__(self, thread: str) -> bool: ...


class Memory:
    """What is remembered about one user, project or agent."""

    def __init__(
        self,
        store: MemoryShelf,
        library: Library,
        name: str,
        scope: Scope,
        *,
        clock: Callable[[], float],
        made_as: Callable[[str], str],  # by the name a thread has now, the one that stays when it is renamed
    ) -> None:
        if scope not in get_args(Scope):
            raise BadConfiguration(f"There is no scope {scope!r}. Use one of: {', '.join(get_args(Scope))}.")
        if not name:
            raise BadConfiguration("A memory needs the name of whom it is about.")
        self._store, self._library, self._clock, self._made_as = store, library, clock, made_as
        self.name, self.scope = name, scope
        self.thread = f"{MEMORIES}{scope}:{name}"

    def __repr__(self) -> str:
        return f"<Memory of {self.scope} {self.name!r}>"

    def remember(
        self,
        text: str,
        kind: Kind = "fact",
        *,
        about: str = "",
        source: str = "",
        seq: int | None = None,
        expires: datetime | timedelta | float | None = None,
    ) -> MemoryEntry:
        """Keep something for good, or until it `expires`; with its `source`, it is forgotten when that message is.

        A newer memory of the same kind `about` the same, or with the same words, takes the older one's place.
        """
        return self._keep(text, kind, about, source, seq, self._until(expires))

    def _keep(
        self,
        text: str,
        kind: Kind,
        about: str,
        source: str,
        seq: int | None,
        until: float | None,
        speaker: Provenance | None = None,
    ) -> MemoryEntry:
        if kind not in get_args(Kind):
            raise BadConfiguration(f"There is no kind of memory {kind!r}. Use one of: {', '.join(get_args(Kind))}.")
        if not text.strip():
            raise BadMessage("A memory without words says nothing. Give it some.")
        learned = self._made_as(source) if source else ""
        fields = {"kind": kind, "about": about, "source": learned, "seq": seq, "expires": until}
        fields["speaker"] = speaker.kind if speaker is not None else None
        kept = {name: value for name, value in fields.items() if value not in ("", None)}
        is_new = self.thread not in self._store
        thread = self._store.thread(self.thread)
        number = thread.append({"role": "user", "content": text, _FIELD: kept})
        if is_new:
            self._store.archive(self.thread)  # no conversation: lists of threads leave it out
        return MemoryEntry(number, text, kind, thread.events[number - 1].at, about, learned, seq, until, None, speaker)

    def harvest(self, thread: str) -> tuple[MemoryEntry, ...]:
        """Remember what people said in a thread that holds beyond it, by rules: orders, preferences, decisions.

        Each names its message, so it is seen in `entries()`, taken back by `forget(id)`, and goes with that message.
        What is known already, or was replaced since, is not remembered again.
        """
        known = {_subject(entry) for entry in self.entries(history=True)}
        conversation = self._store.thread(thread)
        conversation.catch_up()
        found: list[MemoryEntry] = []
        is_first, tools = True, dict[str, str]()  # the names of the tools by the ids of their calls
        for logged in conversation.events:
            if not isinstance(logged.event, Appended) or not conversation.branch.is_on_path(logged.seq):
                continue
            shape = logged.event.shape
            is_first = is_first and shape.role != "assistant"
            tools |= {block.call: block.name for block in shape.blocks if block.kind == "call"}
            if shape.role == "user" and shape.spoken_by not in ("client", "tool"):
                for text, kind, speaker in harvested(conversation.message(logged.seq), tools, is_first=is_first):
                    subject = kind, _normal(text)
                    if subject not in known:
                        known.add(subject)
                        found.append(self._keep(text, kind, "", thread, logged.seq, None, speaker))
        return tuple(found)

    def retrieve(self, query: str, k: int = 5) -> tuple[MemoryEntry, ...]:
        """The memories in force that answer a question, best first."""
        known = {entry.id: entry for entry in self.entries()}
        if not known:
            return ()
        found = (seq for seq in self._library.holding(self.thread, query) if seq in known)
        return tuple(known[seq] for seq in islice(found, k))

    def entries(self, *, history: bool = False) -> tuple[MemoryEntry, ...]:
        """Everything in force, oldest first; with `history` also what was replaced or is over."""
        found = list(self._all())
        newest: dict[tuple[str, str], int] = {_subject(entry): entry.id for entry in found}
        now = self._clock()
        marked = [
            replace(entry, replaced_by=None if newest[_subject(entry)] == entry.id else newest[_subject(entry)])
            for entry in found
        ]
        if history:
            return tuple(marked)
        lasting = (each for each in marked if each.expires is None or each.expires > now)
        return tuple(each for each in lasting if each.replaced_by is None)

    def forget(self, id: int | None = None) -> int:  # the word it is shown under
        """Erase one memory, or all of them, for good; how many were erased."""
        entries = self.entries(history=True)
        if id is not None and all(entry.id != id for entry in entries):
            raise NotFound(f"There is no memory {id} of {self.scope} {self.name!r}. Its `entries()` has the ids.")
        return self._store.forget(self.thread, id) if entries else 0

    def export(self) -> list[dict[str, Any]]:
        """Every memory with its history, as plain data."""
        return [as_plain(entry) for entry in self.entries(history=True)]

    def _all(self) -> Iterator[MemoryEntry]:
        if self.thread not in self._store:
            return
        thread = self._store.thread(self.thread)
        thread.catch_up()
        for logged in thread.events:
            if isinstance(logged.event, Appended):
                body = thread.lens.words(logged.seq)
                if body:
                    yield _entry(logged.seq, logged.at, decode(body))

    def _until(self, expires: datetime | timedelta | float | None) -> float | None:
        match expires:
            case datetime():
                return expires.timestamp()
            case timedelta():
                return self._clock() + expires.total_seconds()
            case _:
                return expires


def as_plain(entry: MemoryEntry) -> dict[str, Any]:
    """A memory as plain data, without what it does not have."""
    fields = ("id", "text", "kind", "at", "about", "source", "seq", "expires", "replaced_by")
    plain = {name: value for name in fields if (value := getattr(entry, name)) not in ("", None)}
    return plain if entry.speaker is None else {**plain, "speaker": entry.speaker.kind}


def memories_from(log: EventLog, thread: str, seq: int | None, upto: int | None) -> list[tuple[str, int]]:
    """The memories, by thread and number, that were learned from a message, or from anything of a thread up to one."""
    found: list[tuple[str, int]] = []
    for row in log.page(ThreadPage(prefix=MEMORIES)):
        appended = [logged.seq for logged in log.read(row.name) if isinstance(logged.event, Appended)]
        for number, body in log.bodies(row.name, appended).items():
            fields = _fields(decode(body)) if body else {}
            if fields.get("source") == thread and _is_from(fields.get("seq"), seq, upto):
                found.append((row.name, number))
    return found


def _is_from(learned: object, seq: int | None, upto: int | None) -> bool:
    """Whether a memory may come from what is forgotten; one that names no message may come from any."""
    if not isinstance(learned, int):
        return True
    return (seq is None or learned == seq) and (upto is None or learned <= upto)


def _entry(number: int, at: float, message: Mapping[str, Any]) -> MemoryEntry:
    fields = _fields(message)
    kind: Kind = fields["kind"] if fields.get("kind") in get_args(Kind) else "fact"
    return MemoryEntry(
        number,
        str(message.get("content", "")),
        kind,
        at,
        str(fields.get("about", "")),
        str(fields.get("source", "")),
        fields.get("seq"),
        fields.get("expires"),
        speaker=PERSON if fields.get("speaker") == PERSON.kind else None,
    )


def _fields(message: Mapping[str, Any]) -> Mapping[str, Any]:
    found = message.get(_FIELD)
    return found if isinstance(found, dict) else {}


def _subject(entry: MemoryEntry) -> tuple[str, str]:
    return entry.kind, entry.about.casefold() or _normal(entry.text)


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())
