"""Writing events: the few statements between a caller and a durable commit.

Kept short on purpose: what stands here is what `append` costs beside the commit itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, TypeAlias
from zlib import DEFLATED, compressobj

import apsw
from msgspec import Struct

from contextfold.domain import SALT_BYTES, Logged, NewEvent
from contextfold.errors import Corrupt
from contextfold.logs.entries import RESCUE, Salts, Sealed, Written, earlier_append, moved_on, seal

from . import catalogue
from .database import Address, checksum_of, row, rows, value
from .directory import DIGESTS, NAME, blob_of, find
from .read import EVENTS, NO_END, Following, bodies, link_at, telling, unpacked
from .schema import INLINE_LIMIT

_TIP = "SELECT seq, link FROM events WHERE space = ? AND thread = ? ORDER BY seq DESC LIMIT 1"
_BODY = "INSERT INTO bodies (space, thread, seq, blob, salt, bytes, unpacked) VALUES (?, ?, ?, ?, ?, ?, ?)"
_BLOB = "INSERT INTO bodies (space, bytes, unpacked) VALUES (?, ?, ?)"
_NO_BODY = "INSERT INTO bodies (space, thread, seq) VALUES (?, ?, ?)"
_EVENT = (
    "INSERT INTO events (space, thread, seq, parent, step, body, at, key, event, link, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
FORGOTTEN = "INSERT INTO forgotten (space, thread, seq, committed) VALUES (?, ?, ?, ?)"
_FIRST_OF = "SELECT seq - step FROM events WHERE space = ? AND thread = ? AND seq = ?"
_END_OF = "SELECT min(seq) - 1 FROM events WHERE space = ? AND thread = ? AND seq > ? AND step = 0"
_KEPT = "SELECT bytes, unpacked FROM bodies WHERE id = ? AND space = ?"
_LEAST_PACKED: Final = 512  # bytes: of fewer it takes 10 µs to save 100
_LONG: Final = 16_384  # bytes; of longer ones …
_TRIED: Final = 4_096  # … so many tell whether they pack
_WINDOW_BITS: Final = 12  # and a little memory: with what zlib takes by itself, a message of 2 KB packs …
_MEMORY: Final = 5  # … in 70 µs instead of 30, most of it to clear that
_MOST_TIPS: Final = 4096  # threads; one that was let go is looked up again
_MOST_BLOBS: Final = 64  # systems, lists of tools, settings, …
_MOST_BLOB: Final = 2**18  # … each of so many bytes
_MOST_BOUND: Final = 2**18  # bytes that are handed over at once


class Tip(Struct, frozen=True, gc=False):
    """A thread that this process wrote to, and its end then.

    Events never change and are never taken away, so its link holds for good; whether it still is the end, the insertion
    of the next event tells, since no two have one seq.
    """

    seq: int
    link: bytes
    address: Address


class Tips:
    """The ends of the threads this process wrote to, and the blobs it knows to be whole."""

    def __init__(self) -> None:
        self._tips: dict[str, Tip] = {}
        self.blobs: dict[bytes, tuple[bytes, int]] = {}  # their digest and number
        self.counted = 0  # up to this number in `bodies` the list of threads knows everything

    def on(self, thread: str, expected: int) -> Tip | None:
        """The end that is expected, if this process wrote it."""
        tip = self._tips.get(thread)
        return tip if tip is not None and tip.seq == expected else None

    def keep(self, thread: str, tip: Tip) -> None:
        if len(self._tips) >= _MOST_TIPS:
            self._tips.clear()
        self._tips[thread] = tip

    def clear(self) -> None:
        """Something was taken back: what was written last may not be there."""
        self._tips.clear()
        self.blobs.clear()
        self.counted = 0


class Packed(Struct, frozen=True, gc=False):
    """Bytes as the file keeps them: packed, with the size they have unpacked, where that is a good deal shorter."""

    kept: bytes
    unpacked: int | None = None


def packed(body: bytes) -> Packed:
    """The bytes packed, if they are not too few; a long one, as with an image, is tried by a piece of its middle."""
    size, middle = len(body), len(body) // 2
    if size < _LEAST_PACKED or (size > _LONG and packed(body[middle : middle + _TRIED]).unpacked is None):
        return Packed(body)
    packing = compressobj(1, DEFLATED, _WINDOW_BITS, _MEMORY)
    kept = packing.compress(body) + packing.flush()
    return Packed(kept, size) if len(kept) <= size * 3 // 4 else Packed(body)


def sealed_on(tip: Tip, drafts: Sequence[NewEvent], salts: Salts) -> list[tuple[Sealed, Packed]]:
    """The drafts as the next events of a thread that ends so: done before the lock is taken, while others write."""
    entries: list[tuple[Sealed, Packed]] = []
    before: Tip | Sealed = tip
    for draft in drafts:
        before = seal(before.link, before.seq + 1, draft, salts, SALT_BYTES)
        entries.append((before, packed(draft.body)))
    return entries


Ready: TypeAlias = tuple[Tip, Sequence[tuple[Sealed, Packed]]]
"""The end of a thread, and what is sealed on it."""


class Appending:
    """One append inside its transaction."""

    def __init__(self, connection: apsw.Connection, address: Address, tips: Tips | None = None) -> None:
        self._connection, self._address, self._tips = connection, address, tips or Tips()

    def write(
        self, drafts: Sequence[NewEvent], expected: int, salts: Salts, ready: Ready | None
    ) -> tuple[tuple[Logged, ...], bool]:
        """The events written, and True; or those of the same append made earlier, and False.

        `ready` is the end that this process knows and the drafts sealed on it.
        """
        owner = self._address.space, self._address.thread
        done = earlier_append(drafts, lambda key: find(self._connection, *owner, blob_of(key)), self._append_of)
        if done is not None:
            return done, False
        tip, entries = ready or self._sealed(drafts, expected, salts)
        number, previous = 0, tip.link
        try:
            for step, (entry, content) in enumerate(entries):
                number = self.insert(entry, content, step, previous)
                previous = entry.link
        except apsw.ConstraintError:
            last = self.tip()[0]
            if last == expected:
                raise  # of another kind
            raise moved_on(self._address.name, expected, last) from None
        if entries:
            self._tips.keep(self._address.name, Tip(entries[-1][0].seq, previous, self._address))
        if number - self._tips.counted >= catalogue.STRIDE:
            self._tips.counted = catalogue.counted_to(self._connection, number)
        logged = [
            Logged(entry.seq, entry.parent, entry.at, draft.event, entry.key)
            for (entry, _), draft in zip(entries, drafts, strict=True)
        ]
        return tuple(logged), True

    def _sealed(self, drafts: Sequence[NewEvent], expected: int, salts: Salts) -> Ready:
        """The end of the thread as the file has it, and the drafts sealed on it."""
        tip = Tip(*self.tip(), self._address)
        if tip.seq != expected:
            raise moved_on(self._address.name, expected, tip.seq)
        catalogue.shown(self._connection, self._address)  # nothing more is written where its list is damaged
        return tip, sealed_on(tip, drafts, salts)

    def restore(self, entries: Iterable[Sealed | bytes]) -> None:
        """Write events as they were sealed elsewhere, and the blobs they name."""
        space, thread = self._address.space, self._address.thread
        _, previous = self.tip()
        for entry in entries:
            if isinstance(entry, bytes):
                self.keep_blob(entry)
                continue
            self.insert(entry, packed(entry.body or b""), 0, previous)
            previous = entry.link
            if entry.body is None:
                self._connection.execute(FORGOTTEN, (space, thread, entry.seq, entry.committed))
        catalogue.count(self._connection)

    def tip(self) -> tuple[int, bytes]:
        """The newest seq and its link."""
        tip = row(self._connection, _TIP, (self._address.space, self._address.thread))
        if tip is not None:
            return tip[0], tip[1]
        return self._address.start, link_at(self._connection, self._address, self._address.start)

    def insert(self, entry: Sealed, content: Packed, step: int, previous: bytes) -> int:
        """Write one event; its number among everything in the file."""
        connection, address, body = self._connection, self._address, entry.body
        key = blob_of(entry.key) if entry.key else None
        place = address.space, address.thread, entry.seq
        if not body:
            connection.execute(_NO_BODY, place)
        elif len(body) <= INLINE_LIMIT:
            connection.execute(_BODY, (*place, None, entry.salt, content.kept, content.unpacked))
        else:
            connection.execute(_BODY, (*place, self.keep_blob(body, content), entry.salt, None, None))
        number = connection.last_insert_rowid()
        facts = (entry.seq, entry.parent, step, number if body else None, entry.at, key, entry.stored, entry.link)
        checksum = checksum_of(address.before(entry.seq, previous), facts)
        connection.execute(_EVENT, (address.space, address.thread, *facts, checksum))
        if key is not None:
            connection.execute(NAME, (address.space, address.thread, key, entry.seq))
        return number

    def keep_blob(self, blob: bytes, ready: Packed | None = None) -> int:
        """The number of these bytes in the space, kept once. What was found whole before is only looked for by name."""
        connection, space = self._connection, self._address.space
        known = self._tips.blobs.get(blob) if len(blob) <= _MOST_BLOB else None  # a long one costs time to look up
        name, whole = known or (sha256(blob).digest(), 0)
        number = find(connection, space, DIGESTS, name)
        if number is None:
            ready = ready or packed(blob)
            number = self._write_blob(ready)
            connection.execute(NAME, (space, DIGESTS, name, number))
        elif number != whole and not self._is_kept(blob, number):
            raise Corrupt(f"The bytes kept under {name.hex()!r} are damaged, so nothing can share them. {RESCUE}")
        if number != whole and len(blob) <= _MOST_BLOB:
            if len(self._tips.blobs) >= _MOST_BLOBS:
                self._tips.blobs.clear()
            self._tips.blobs[blob] = name, number
        return number

    def _write_blob(self, ready: Packed) -> int:
        """Write the bytes of a blob; a long one into its place, piece by piece: bound to a statement it is copied."""
        connection, space, size = self._connection, self._address.space, len(ready.kept)
        kept = ready.kept if size <= _MOST_BOUND else apsw.zeroblob(size)
        connection.execute(_BLOB, (space, kept, ready.unpacked))
        number = connection.last_insert_rowid()
        if size > _MOST_BOUND:
            view = memoryview(ready.kept)
            with connection.blob_open("main", "bodies", "bytes", number, True) as place:
                for at in range(0, size, _MOST_BOUND):
                    place.write(view[at : at + _MOST_BOUND])
        return number

    def _is_kept(self, blob: bytes, number: int) -> bool:
        found = row(self._connection, _KEPT, (number, self._address.space))
        return found is not None and unpacked(*found) == blob

    def _append_of(self, seq: int) -> list[Written]:
        """All events that were written in one append with this one."""
        connection, space, thread = self._connection, self._address.space, self._address.thread
        first = value(connection, _FIRST_OF, (space, thread, seq))
        last = value(connection, _END_OF, (space, thread, first)) or NO_END
        with telling(self._address, seq):
            found = rows(connection, EVENTS, (space, thread, first - 1, last, -1))
            events = Following(self._address, first - 1).take(connection, found)
        kept = bodies(connection, self._address, [event.seq for event in events])
        return [Written(event, kept.get(event.seq)) for event in events]
