"""What every log does alike, whatever keeps the events: sealing them, knowing a retry, counting, why they refuse, and
what forgetting leaves.

A sealed event is what verifying, exporting and restoring work on. Every log of this room can hand its events out in
this form and take them back, so that there is one way of checking a chain and one file format.

A caller whose acknowledgement was lost appends again with the same idempotency key. The answer is then what was written
the first time, judged by bytes. Anything that would drop a message silently is refused instead.

Of a forgotten event its place and its sizes are left, and none of the words in its outline: names of tools, call ids,
digests and details go with the body; of a key a hash is left. The file of an output that was put aside is named until
the output's own message is forgotten. The id of a call stays where a message that was not
forgotten still holds the other half: it is in the bytes of that message anyway, and a view must find the pair.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import (
    Appended,
    Attached,
    BlockShape,
    Checkpointed,
    Detail,
    Event,
    EventLog,
    Folded,
    Logged,
    NewEvent,
    Noted,
    Origin,
    Problem,
    Rewound,
    Sent,
    ThreadPage,
    ThreadRow,
    ToolsProjected,
    commitment,
    decode_event,
    encode_event,
    link,
)
from contextfold.errors import BadConfiguration, BadMessage, Conflict, Corrupt, KeyConflict, NotFound

_GONE: Final = "forgotten"
_KEY: Final = "forgotten:"
_FILE: Final = ("directory", "artifact")  # details of a fold that name the file of an output


def holds_words(event: Event, key: str, *, is_whole: bool) -> bool:
    """Whether something in the event itself goes with its body; `is_whole` where all of its thread is forgotten."""
    if isinstance(event, Appended):  # told by looking: nearly all events are messages
        return bool(key) or any(block.call or block.name for block in event.shape.blocks)
    return bool(key) or Redaction(frozenset()).of(0, event, is_whole=is_whole) != event


def lasting(entries: Iterable[tuple[int, Event]]) -> set[int]:
    """The seqs of messages among these events."""
    return {seq for seq, event in entries if isinstance(event, Appended)}


def calls_of(events: Iterable[Event]) -> set[str]:
    """The ids of calls in these events' outlines."""
    said = (event.shape for event in events if isinstance(event, Appended))
    return {block.call for shape in said for block in shape.blocks if block.call}


def forgotten_key(key: str) -> str:
    """What stands for a key that is gone, so that a retry with it is still known for one."""
    if not key or key.startswith(_KEY):
        return key
    return _KEY + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class Redaction:
    """Takes words out of events of one thread, and gives the same new id to both halves of a call."""

    def __init__(self, kept: Set[str], lasting: Set[int] = frozenset()) -> None:
        self._kept = kept  # ids that stay
        self._lasting = lasting  # seqs of messages that are not forgotten
        self._ids: dict[str, str] = {}

    def of(self, seq: int, event: Event, *, is_whole: bool) -> Event:
        match event:
            case Appended():
                blocks = enumerate(event.shape.blocks)
                left = tuple(self._block(f"{_GONE}_{seq}_{place}", block) for place, block in blocks)
                return replace(event, shape=replace(event.shape, blocks=left))
            case Folded():
                return replace(event, details={**_numbers(event.details), **self._file(event)})
            case Attached() | Noted():
                return replace(event, details=_numbers(event.details))
            case Checkpointed() if is_whole:
                return replace(event, name=_GONE, snapshot="", details={})
            case Sent():  # digests are not salted: whoever guesses what was said could try it
                details = _numbers(event.details) if is_whole else event.details
                return replace(event, details=details, system="", tools="", settings="", body="")
            case Rewound() if is_whole:
                return replace(event, details=_numbers(event.details))
            case ToolsProjected() if is_whole:
                return replace(event, visible=(), details=_numbers(event.details))
            case _:
                return event

    def _file(self, event: Folded) -> dict[str, Detail]:
        """Where an output was put aside, as long as its message lasts: once that is forgotten, the file goes too."""
        covered = {seq for seq, _ in event.cover.blocks}
        if not covered or not covered <= self._lasting:
            return {}
        return {name: event.details[name] for name in _FILE if name in event.details}

    def _block(self, new: str, block: BlockShape) -> BlockShape:
        call = block.call
        if call and call not in self._kept and not call.startswith(f"{_GONE}_"):
            call = self._ids.setdefault(call, new)
        return replace(block, call=call, name=_GONE if block.name and block.kind == "call" else "")


def _numbers(details: dict[str, Detail]) -> dict[str, Detail]:
    return {name: value for name, value in details.items() if not isinstance(value, str)}


Salts: TypeAlias = Callable[[int], bytes]  # so many random bytes; `os.urandom` unless a test wants the same every time


class Sealed(Struct, frozen=True):
    """One event as it stands in the chain.

    A forgotten body is None and leaves its commitment; that is empty where words of the event went too, and otherwise.
    """

    seq: int
    parent: int
    at: float
    key: str
    stored: bytes
    salt: bytes
    body: bytes | None
    committed: bytes
    link: bytes

    @property
    def logged(self) -> Logged:
        return Logged(self.seq, self.parent, self.at, decode_event(self.stored), self.key)


class SealedLog(EventLog, Protocol):
    """An event log that can be copied event by event, links included."""

    def sealed(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Sealed]:
        """The thread's own events in order, with bodies, salts and links."""
        ...

    def link_at(self, thread: str, seq: int) -> bytes:
        """The link after this seq, found along the thread's lineage."""
        ...

    def restore(self, row: ThreadRow, entries: Iterable[Sealed | bytes]) -> ThreadRow:
        """Make a thread that holds exactly these events, and the blobs among them; the name must be free."""
        ...

    def resume(self, thread: str, entries: Iterable[Sealed | bytes]) -> None:
        """Write events behind those that a thread has, links included, and the blobs among them: all or nothing."""
        ...


def seal(previous: bytes, seq: int, draft: NewEvent, salts: Salts, size: int) -> Sealed:
    """The draft as the next event. A body that is empty has nothing to hide and gets no salt."""
    at = float(draft.at)
    if not math.isfinite(at):
        raise BadConfiguration(f"An event's time must be a finite number, not {draft.at!r}. Pass seconds since 1970.")
    try:
        stored = encode_event(draft.event)
    except UnicodeEncodeError as error:
        raise BadMessage(
            f"A {type(draft.event).__name__} event holds a text that has no UTF-8 ({error.reason}). Escape it first."
        ) from error
    salt = salts(size) if draft.body else b""
    committed = commitment(salt, draft.body)
    sealed = link(previous, seq, draft.parent, at, draft.key, stored, committed)
    return Sealed(seq, draft.parent, at, draft.key, stored, salt, draft.body, b"", sealed)


def following(thread: str, last: int, previous: bytes, entries: Iterable[Sealed | bytes]) -> Iterator[Sealed | bytes]:
    """Events, and blobs among them, as long as each follows the one before it; raises at one that does not."""
    for entry in entries:
        if not isinstance(entry, bytes):
            if entry.seq != last + 1:
                raise moved_on(thread, entry.seq - 1, last)
            if not is_linked(previous, entry):
                raise Corrupt(f"Event {entry.seq} does not continue thread {thread!r}. {RESCUE}", thread=thread)
            last, previous = entry.seq, entry.link
        yield entry


def broken(thread: str, first: int, previous: bytes, entries: Iterable[Sealed]) -> Iterator[Problem]:
    """What does not verify in one thread. Checking goes on from the kept link, so one damaged event is one problem."""
    expected = first
    for entry in entries:
        place = f"{thread}/{entry.seq}"
        if entry.seq != expected:
            yield Problem(
                f"{thread}/{expected}", "sequence", f"Events before {entry.seq} are missing. Restore a backup."
            )
        if not is_linked(previous, entry):
            yield Problem(place, "chain", "The event or its body was changed after it was written. Restore a backup.")
        elif not is_readable(entry.stored):
            yield Problem(
                place, "event", "The event cannot be read by this version. Open it with the one that wrote it."
            )
        previous, expected = entry.link, entry.seq + 1


def next_link(previous: bytes, entry: Sealed) -> bytes:
    committed = entry.committed if entry.body is None else commitment(entry.salt, entry.body)
    return link(previous, entry.seq, entry.parent, entry.at, entry.key, entry.stored, committed)


def is_linked(previous: bytes, entry: Sealed) -> bool:
    """Whether the entry is what its link says. One whose outline was forgotten too has nothing left to be proven by:
    its link is kept, and what follows is proven by that."""
    return (entry.body is None and not entry.committed) or next_link(previous, entry) == entry.link


def is_readable(stored: bytes) -> bool:
    try:
        decode_event(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True


class Written(Struct, frozen=True):
    """An event of an earlier append, and its body; None when it was forgotten."""

    logged: Logged
    body: bytes | None


FindKey: TypeAlias = Callable[[str], int | None]
AppendOf: TypeAlias = Callable[[int], Sequence[Written]]


def earlier_append(drafts: Sequence[NewEvent], find: FindKey, append_of: AppendOf) -> tuple[Logged, ...] | None:
    """The events of the same append made earlier, None if there was none; raises `KeyConflict` for another one.

    `find` gives the seq a key was used at, `append_of` all events that were written together with a seq.
    """
    keys = [draft.key for draft in drafts if draft.key]
    if not keys:
        return None
    if len(set(keys)) < len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        raise KeyConflict(f"The key {twice!r} stands twice in one append. Give each message its own key.")
    known = (found for key in keys for found in (find(key), find(forgotten_key(key))))
    used = [seq for seq in known if seq is not None]
    if not used:
        return None
    then = append_of(used[0])
    _refuse_others(drafts, then)
    return tuple(written.logged for written in then)


def _refuse_others(drafts: Sequence[NewEvent], then: Sequence[Written]) -> None:
    by_key = {written.logged.key: written for written in then if written.logged.key}
    for draft in drafts:
        if not draft.key:
            # Whatever accompanied a message (a fold at the door, a measurement) may come out differently in a retry,
            # but a message must be found again, or answering would lose it.
            if isinstance(draft.event, Appended) and not any(_is_same(draft, written) for written in then):
                raise KeyConflict(
                    "A message without a key came with a key that was used before, in an append without that message. "
                    "Append the message alone, or give it its own key.",
                    actual=then[0].logged.seq,
                )
            continue
        written = by_key.get(draft.key) or by_key.get(forgotten_key(draft.key))
        if written is None or not _is_same(draft, written):
            raise KeyConflict(
                f"The key {draft.key!r} was used before for something else (near seq {then[0].logged.seq}). "
                f"Use a new key for a new message.",
                actual=then[0].logged.seq,
            )


def _is_same(draft: NewEvent, written: Written) -> bool:
    """Same fact, same bytes. Measures may have changed with a newer version; forgotten bytes are taken at their key."""
    if written.body is not None and draft.body != written.body:
        return False
    now, then = draft.event, written.logged.event
    match now:
        case Appended() | Noted() | Attached():
            return type(now) is type(then)
        case Folded():
            return isinstance(then, Folded) and now.kind == then.kind and now.cover == then.cover
        case _:
            return now == then


RESCUE = "Restore a backup, or save what verifies with `contextfold doctor --rescue NEW.db`; other threads can be read."
_APPENDED, _FOLDED = b'["appended"', b'["folded"'


def stored_kind(stored: bytes) -> str:
    """The kind of an event as it is stored, also of one that this version does not know: its first text."""
    return stored.split(b'"', 2)[1].decode()


def counted(written: Iterable[tuple[bytes, bytes | None]]) -> tuple[int, int, int]:
    """Messages, folds and bytes among stored events with their bodies."""
    messages = folds = size = 0
    for stored, body in written:
        messages += stored.startswith(_APPENDED)
        folds += stored.startswith(_FOLDED)
        size += len(body or b"")
    return messages, folds, size


def no_thread(name: str) -> NotFound:
    return NotFound(f"There is no thread {name!r} in this store. Create it first.")


def no_event(thread: str, seq: int) -> NotFound:
    return NotFound(f"Thread {thread!r} has no event {seq} of its own. Name the thread the event was written in.")


def no_blob(digest: str) -> NotFound:
    return NotFound(f"Nothing is kept under {digest!r}. It was forgotten, or never stored here.")


def no_place_to_fork(origin: Origin) -> NotFound:
    return NotFound(f"Thread {origin.thread!r} has no event {origin.seq} to fork at. Fork at a seq it holds.")


def name_taken(name: str) -> Conflict:
    return Conflict(f"There is a thread {name!r} already. Choose another name.")


def bad_page(page: ThreadPage) -> BadConfiguration:
    return BadConfiguration(
        f"Threads in the order {page.order!r} cannot go on after {page.after!r}. Order by name and pass the last "
        f"title, or by activity and pass the last row's `changed`."
    )


def moved_on(thread: str, expected: int, actual: int) -> Conflict:
    return Conflict(
        f"Thread {thread!r} is at seq {actual}, not at {expected}: somebody else wrote to it. Read on and decide anew.",
        expected=expected,
        actual=actual,
    )


def damaged(thread: str, seq: int) -> Corrupt:
    return Corrupt(f"Event {seq} of thread {thread!r} is damaged in the file. {RESCUE}", thread=thread, seq=seq)
