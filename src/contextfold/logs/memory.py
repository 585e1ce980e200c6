"""A log in memory: for tests, for one-off work, and as the plainest reading of the contract.

It keeps the same chain as a log on disk. It keeps nothing after the process, and serves one process only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock

from msgspec.structs import replace

from contextfold.domain import (
    GENESIS,
    SALT_BYTES,
    ListedThread,
    Logged,
    NewEvent,
    Origin,
    Problem,
    ThreadChange,
    ThreadPage,
    ThreadRow,
    blobs_of,
    commitment,
    decode_event,
    digest,
    encode_event,
)

from .entries import (
    Redaction,
    Salts,
    Sealed,
    Written,
    broken,
    calls_of,
    earlier_append,
    following,
    forgotten_key,
    holds_words,
    lasting,
    moved_on,
    name_taken,
    no_blob,
    no_event,
    no_place_to_fork,
    no_thread,
    seal,
)
from .register import Register


class _Thread:
    """One thread: its events, and where each append began."""

    def __init__(self, name: str, origin: Origin | None) -> None:
        self.name, self.origin = name, origin
        self.start = origin.seq if origin else 0
        self.entries: list[Sealed] = []
        self.events: list[Logged] = []
        self.first_of_append: list[int] = []
        self.keys: dict[str, int] = {}
        self.forgotten: set[int] = set()

    @property
    def last(self) -> int:
        return self.start + len(self.entries)

    def at(self, seq: int) -> Sealed:
        return self.entries[seq - self.start - 1]

    def write(self, entry: Sealed, logged: Logged, first: int) -> None:
        self.entries.append(entry)
        self.events.append(logged)
        self.first_of_append.append(first)
        if entry.body is None:
            self.forgotten.add(entry.seq)
        if entry.key:
            self.keys[entry.key] = entry.seq

    def cut(self, last: int) -> None:
        """Take back whatever was written after `last`."""
        keep = last - self.start
        for entry in self.entries[keep:]:
            self.keys.pop(entry.key, None)
        del self.entries[keep:], self.events[keep:], self.first_of_append[keep:]

    def append_of(self, seq: int) -> list[Written]:
        first = self.first_of_append[seq - self.start - 1]
        places = (place for place, begun in enumerate(self.first_of_append) if begun == first)
        return [Written(self.events[place], self.entries[place].body) for place in places]

    def erase(self, seq: int, *, is_whole: bool) -> int | None:
        """Forget a body; how many bytes it had, None if there is nothing to forget."""
        entry = self.at(seq)
        event = decode_event(entry.stored)
        words = holds_words(event, entry.key, is_whole=is_whole)
        says = bool(entry.body or blobs_of(event))
        if seq in self.forgotten or not (says or (words and is_whole)):
            return None
        committed = b"" if words else commitment(entry.salt, entry.body or b"")
        kept = replace(entry, salt=b"", body=None, committed=committed)
        self.entries[seq - self.start - 1] = kept
        self.forgotten.add(seq)
        return len(entry.body or b"") if says else None

    def redact(self, *, is_whole: bool) -> None:
        """Take the words of forgotten events out of their outlines, and their keys."""
        kept = {entry.seq: entry.event for entry in self.events if entry.seq not in self.forgotten and not is_whole}
        redaction = Redaction(calls_of(kept.values()), lasting(kept.items()))
        for place, (entry, logged) in enumerate(zip(self.entries, self.events, strict=True)):
            if entry.body is None and not entry.committed:
                left, key = redaction.of(entry.seq, logged.event, is_whole=is_whole), forgotten_key(entry.key)
                if self.keys.pop(entry.key, None) is not None:
                    self.keys[key] = entry.seq
                self.entries[place] = replace(entry, key=key, stored=encode_event(left))
                self.events[place] = replace(logged, key=key, event=left)


class MemoryLog:
    """An `EventLog` that lives as long as the object."""

    def __init__(self, *, salts: Salts = os.urandom) -> None:
        self._salts = salts
        self._threads: dict[str, _Thread] = {}
        self._register = Register()
        self._blobs: dict[str, bytes] = {}
        self._lock = RLock()
        self._undo: list[Callable[[], object]] | None = None

    def create(self, row: ThreadRow) -> ThreadRow:
        with self._lock:
            if row.name not in self._register:
                self._make(row)
            return self._register[row.name]

    def _make(self, new: ThreadRow) -> _Thread:
        origin = self._origin(new.origin) if new.origin else None
        thread = self._threads[new.name] = _Thread(new.name, origin)
        self._on_rollback(lambda: self._threads.pop(new.name))
        self._on_rollback(self._register.begin(replace(new, origin=origin)))
        return thread

    def _origin(self, origin: Origin) -> Origin:
        held = self._thread(origin.thread)
        if not 0 <= origin.seq <= held.last:
            raise no_place_to_fork(origin)
        return Origin(held.name, origin.seq)

    def row(self, thread: str) -> ThreadRow | None:
        with self._lock:
            return self._register.get(thread)

    def threads(self) -> Sequence[ThreadRow]:
        with self._lock:
            return list(self._register)

    def page(self, page: ThreadPage) -> Sequence[ListedThread]:
        with self._lock:
            return self._register.page(page)

    def forks(self, thread: str) -> Sequence[str]:
        with self._lock:
            return self._register.forks(self._thread(thread).name)

    def rename(self, thread: str, to: str) -> None:
        with self._lock:
            self._on_rollback(self._register.rename(self._thread(thread).name, to))

    def archive(self, thread: str, is_archived: bool) -> None:
        with self._lock:
            self._on_rollback(self._register.archive(self._thread(thread).name, is_archived))

    def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        with self._lock:
            return self._register.changes(after, limit)

    def append(
        self, thread: str, drafts: Sequence[NewEvent], *, expected: int, blobs: Sequence[bytes] = ()
    ) -> tuple[Logged, ...]:
        with self._lock:
            held = self._thread(thread)
            done = earlier_append(drafts, held.keys.get, held.append_of)
            if done is not None:
                return done
            if held.last != expected:
                raise moved_on(thread, expected, held.last)
            return self._write(held, self._seal(thread, drafts, held.last), blobs)

    def _seal(self, thread: str, drafts: Sequence[NewEvent], last: int) -> list[tuple[Sealed, Logged]]:
        previous, sealed = self.link_at(thread, last), []
        for seq, draft in enumerate(drafts, last + 1):
            entry = seal(previous, seq, draft, self._salts, SALT_BYTES)
            sealed.append((entry, Logged(seq, draft.parent, entry.at, draft.event, draft.key)))
            previous = entry.link
        return sealed

    def _write(
        self, held: _Thread, entries: Sequence[tuple[Sealed, Logged]], blobs: Iterable[bytes]
    ) -> tuple[Logged, ...]:
        last = held.last
        self._on_rollback(lambda: held.cut(last))
        for blob in blobs:
            self._blobs.setdefault(digest(blob), bytes(blob))
        for entry, logged in entries:
            held.write(entry, logged, last + 1)
        if entries:
            written = [entry for entry, _ in entries]
            if self._undo is None:
                self._register.note(held.name, written)
            else:
                self._on_rollback(self._register.take(held.name, written))
        return tuple(logged for _, logged in entries)

    def read(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Logged]:
        with self._lock:
            held = self._thread(thread)
            return iter(held.events[_places(held, after, upto)])

    def sealed(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Sealed]:
        with self._lock:
            held = self._thread(thread)
            return iter(held.entries[_places(held, after, upto)])

    def bodies(self, thread: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        with self._lock:
            held = self._thread(thread)
            found = ((seq, held.at(seq).body) for seq in seqs if held.start < seq <= held.last)
            return {seq: body for seq, body in found if body is not None}

    def keyed(self, thread: str, keys: Sequence[str]) -> Mapping[str, int]:
        with self._lock:
            held = self._thread(thread)
            found = ((key, held.keys.get(key) or held.keys.get(forgotten_key(key))) for key in keys)
            return {key: seq for key, seq in found if seq is not None}

    def blob(self, digest: str) -> bytes:
        with self._lock:
            if digest not in self._blobs:
                raise no_blob(digest)
            return self._blobs[digest]

    def is_current(self) -> bool:
        return True

    def heartbeat(self, *, room: int = 0) -> None:
        """Nothing: memory takes every write."""

    @contextmanager
    def batch(self) -> Iterator[None]:
        with self._lock:
            if self._undo is not None:
                yield
                return
            undo: list[Callable[[], object]] = []
            self._undo = undo
            try:
                yield
            except BaseException:
                for step in reversed(undo):
                    step()
                raise
            finally:
                self._undo = None

    def forget(self, thread: str, seqs: Sequence[int] | None = None) -> int:
        with self._lock:
            held = self._thread(thread)
            named = range(held.start + 1, held.last + 1) if seqs is None else sorted(set(seqs))
            for seq in named:
                if not held.start < seq <= held.last:
                    raise no_event(thread, seq)
            erased = [size for seq in named if (size := held.erase(seq, is_whole=seqs is None)) is not None]
            held.redact(is_whole=seqs is None)
            self._register.forget(held.name, None if seqs is None else sum(erased))
            self._drop_unused_blobs()
            return len(erased)

    def _drop_unused_blobs(self) -> None:
        used = {
            name
            for held in self._threads.values()
            for entry in held.events
            if entry.seq not in held.forgotten
            for name in blobs_of(entry.event)
        }
        self._blobs = {name: blob for name, blob in self._blobs.items() if name in used}

    def forgotten(self, thread: str) -> Sequence[int]:
        with self._lock:
            return sorted(self._thread(thread).forgotten)

    def verify(self) -> list[Problem]:
        with self._lock:
            return [
                problem
                for name, held in self._threads.items()
                for problem in broken(name, held.start + 1, self.link_at(name, held.start), held.entries)
            ]

    def link_at(self, thread: str, seq: int) -> bytes:
        held = self._thread(thread)
        while seq <= held.start and held.origin:
            held = self._thread(held.origin.thread)
        return held.at(seq).link if seq else GENESIS

    def restore(self, row: ThreadRow, entries: Iterable[Sealed | bytes]) -> ThreadRow:
        with self.batch():
            if row.name in self._register:
                raise name_taken(row.name)
            self._write_sealed(self._make(row), entries)
            return self._register[row.name]

    def resume(self, thread: str, entries: Iterable[Sealed | bytes]) -> None:
        held = self._thread(thread)
        last = held.last
        with self.batch():
            self._on_rollback(lambda: held.cut(last))
            self._write_sealed(held, following(thread, last, self.link_at(thread, last), entries))

    def _write_sealed(self, held: _Thread, entries: Iterable[Sealed | bytes]) -> None:
        for entry in entries:
            if isinstance(entry, bytes):
                self._blobs.setdefault(digest(entry), entry)
            else:
                held.write(entry, entry.logged, entry.seq)
                self._on_rollback(self._register.take(held.name, [entry]))

    def close(self) -> None:
        """Nothing is open."""

    def _thread(self, name: str) -> _Thread:
        made_as = self._register.name_of(name)
        if made_as is None:
            raise no_thread(name)
        return self._threads[made_as]

    def _on_rollback(self, step: Callable[[], object]) -> None:
        if self._undo is not None:
            self._undo.append(step)


def _places(held: _Thread, after: int, upto: int | None) -> slice:
    stop = held.last if upto is None else min(upto, held.last)
    return slice(max(after - held.start, 0), max(stop - held.start, 0))
