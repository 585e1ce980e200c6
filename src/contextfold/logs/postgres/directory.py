"""Threads: found by any name they ever had, made once, renamed, put away, listed in pages, and followed.

Names may be longer than an index takes, so they are found by their digests and ordered by their beginnings. What is
known of a thread's newest event is remembered, so that the next append needs no look first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, LiteralString

from msgspec import Struct

from contextfold.domain import GENESIS, Origin, ThreadRow, decode, encode
from contextfold.errors import Corrupt, StoreError
from contextfold.logs.entries import name_taken, no_place_to_fork, no_thread

from .connections import Connections, Row, TakenMeanwhile
from .schema import MOMENT_BITS, NEW_SPACE, SPACE, refuse_other_versions

_MOST_KEPT: Final = 4096  # threads whose place is remembered; one that was let go is looked up again
_PAST_ALL: Final = b"\xff"  # no UTF-8 holds it, so whatever begins with a prefix stands before the prefix and this
_NO_END: Final = 2**62
_SAME_START: Final = 200  # bytes of a name that its order is looked up by

_OPENED: LiteralString = (
    "SELECT (SELECT max(version) FROM {schema}.migrations), s.id, s.base,"
    " (SELECT max(changed) FROM {schema}.threads AS t WHERE t.space = s.id),"
    " pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    " FROM (SELECT 1) AS one LEFT JOIN {schema}.spaces AS s ON sha256(s.name) = sha256(%s)"
)
_SPACES: LiteralString = (
    "SELECT name FROM {schema}.spaces AS s WHERE EXISTS (SELECT 1 FROM {schema}.threads AS t WHERE t.space = s.id)"
    " ORDER BY id"
)
THREAD: LiteralString = (
    "SELECT t.id, t.name, t.last, t.link, t.start, t.base, t.origin, o.name, t.created, t.settings, t.title,"
    " t.sealed_by, t.erased"
)
_BY_NAME: LiteralString = (
    THREAD + " FROM {schema}.names AS n JOIN {schema}.threads AS t ON t.space = n.space AND t.id = n.thread"
    " LEFT JOIN {schema}.threads AS o ON o.space = t.space AND o.id = t.origin"
    " WHERE n.space = %s AND n.digest = %s"
)
_BY_NUMBER: LiteralString = (
    THREAD + " FROM {schema}.threads AS t"
    " LEFT JOIN {schema}.threads AS o ON o.space = t.space AND o.id = t.origin WHERE t.space = %s AND t.id = %s"
)
_ALL: LiteralString = (
    THREAD + " FROM {schema}.threads AS t"
    " LEFT JOIN {schema}.threads AS o ON o.space = t.space AND o.id = t.origin WHERE t.space = %s ORDER BY t.id"
)
_STANDING: LiteralString = "SELECT id, last, erased FROM {schema}.threads WHERE space = %s AND id = ANY(%s::bigint[])"
_CREATE: LiteralString = (
    "WITH made AS ("
    " INSERT INTO {schema}.threads"
    " (space, name, title, origin, start, base, created, at, settings, last, link, changed, sealed_by)"
    " SELECT %(space)s, %(name)s, %(name)s, %(origin)s, %(start)s, %(link)s, %(created)s, %(created)s, %(settings)s,"
    " %(start)s, %(link)s, {moment}, %(sealed_by)s WHERE NOT EXISTS"
    " (SELECT 1 FROM {schema}.names WHERE space = %(space)s AND digest = %(digest)s)"
    " RETURNING id, changed"
    "), named AS ("
    " INSERT INTO {schema}.names (space, digest, name, thread, is_title)"
    " SELECT %(space)s, %(digest)s, %(name)s, id, true FROM made"
    "), happened AS ("
    " INSERT INTO {schema}.happenings (space, moment, thread) SELECT %(space)s, changed, id FROM made"
    ") SELECT id, changed FROM made"
)
_HAPPENED: LiteralString = (
    "INSERT INTO {schema}.happenings (space, moment, thread) SELECT %(space)s, {moment}, %(thread)s RETURNING moment"
)
_TAKE_NAME: LiteralString = (
    "INSERT INTO {schema}.names (space, digest, name, thread, is_title) VALUES (%s, %s, %s, %s, true)"
    " ON CONFLICT (space, digest) DO UPDATE SET is_title = true WHERE names.thread = excluded.thread RETURNING thread"
)
_LEAVE_NAMES: LiteralString = (
    "UPDATE {schema}.names SET is_title = false WHERE space = %s AND thread = %s AND is_title AND digest <> %s"
)
_TITLE: LiteralString = "UPDATE {schema}.threads SET title = %s WHERE space = %s AND id = %s"
_ARCHIVE: LiteralString = "UPDATE {schema}.threads SET archived = %s WHERE space = %s AND id = %s"
_FORKS: LiteralString = "SELECT name FROM {schema}.threads WHERE space = %s AND origin = %s ORDER BY id"


class ThreadPlace(Struct, frozen=True):
    """A thread by its number. `start` is the seq it was forked at, `base` the link there."""

    number: int
    name: str
    start: int = 0
    base: bytes = GENESIS
    origin: int | None = None
    is_sealed: bool = False


def blob_of(text: str) -> bytes:
    """A caller's string as it is kept: NUL and lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def text_of(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")


def _digest(text: str) -> bytes:
    return sha256(blob_of(text)).digest()


class ThreadDirectory:
    """The threads of one space."""

    def __init__(self, connections: Connections, space: str) -> None:
        self._connections = connections
        self._name = space
        self._space: int | None = None
        self.base = 0
        self._places: OrderedDict[str, ThreadPlace] = OrderedDict()
        self._tips: OrderedDict[int, tuple[int, bytes]] = OrderedDict()
        self._lock = threading.Lock()  # of what is remembered; never held during a trip
        self.opened_at, self.own = 0, set[int]()  # the moments of our own changes
        self._own = threading.local()
        connections.tell_rollbacks(self.clear)

    def clear(self) -> None:
        """After a rollback nothing that was learnt in it holds."""
        with self._lock:
            self._places.clear()
            self._tips.clear()
            self._space = None

    # -- the space ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Look at the version of the store and for the space, in one trip."""
        (found,) = self._connections.read(_OPENED, (blob_of(self._name),))
        version, space, base, changed, now, least = found
        refuse_other_versions(version, self._connections.where)
        if changed is not None and changed >> MOMENT_BITS > base + now:
            raise StoreError(
                f"{self._connections.where} was restored from a dump of another server. Run `contextfold migrate`."
            )
        self._space, self.base = space, base or 0
        self.opened_at = (self.base + least) << MOMENT_BITS

    @property
    def space(self) -> int:
        """The number of the space; 0 before its first thread."""
        known = self._space
        if known is None:
            found = self._connections.read(SPACE, (blob_of(self._name),))
            if found:
                known, self.base = found[0]
                self._space = known
        return known or 0

    def spaces(self) -> list[str]:
        """The spaces that have a thread and that this role may see, in the order they were made."""
        return [text_of(name) for (name,) in self._connections.read(_SPACES)]

    def _space_for_writing(self) -> int:
        if not self.space:
            self._connections.read(NEW_SPACE, (blob_of(self._name),))
        return self.space

    # -- one thread ---------------------------------------------------------------------------------------------------

    def place(self, thread: str) -> ThreadPlace:
        """The thread of this name; raises `NotFound`."""
        known = self._places.get(thread)
        if known is None:
            found = self._found(thread)
            if found is None:
                raise no_thread(thread)
            known = self._learnt(thread, found)
        return known

    def row(self, thread: str) -> ThreadRow | None:
        """What is known of a thread, under any of its names; one trip."""
        found = self._found(thread)
        if found is None:
            return None
        self._learnt(thread, found)
        return thread_row(found)

    def _found(self, thread: str) -> Row | None:
        space = self.space
        found = self._connections.read(_BY_NAME, (space, _digest(thread))) if space else []
        return found[0] if found else None

    def rows(self) -> list[ThreadRow]:
        """All of them, in the order they were made."""
        return [thread_row(found) for found in self._connections.read(_ALL, (self.space,))]

    def origin_of(self, place: ThreadPlace) -> ThreadPlace:
        """The place of the thread that this one was forked from."""
        found = self._connections.read(_BY_NUMBER, (self.space, place.origin))
        if not found:
            raise Corrupt(f"The row of the thread that {place.name!r} was forked from is lost.", thread=place.name)
        return _place(found[0])

    def _learnt(self, thread: str, found: Row) -> ThreadPlace:
        place = self._keep(thread, _place(found))
        self.reached(place, found[2], found[3])
        if getattr(self._own, "seen", None) is not None:
            self._own.seen[place.number] = found[2], found[-1]
        return place

    def _keep(self, thread: str, place: ThreadPlace) -> ThreadPlace:
        with self._lock:
            self._places[thread] = place
            while len(self._places) > _MOST_KEPT:
                self._places.popitem(last=False)
        return place

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Inside, what was learnt of threads by this Python thread is not asked for again."""
        outer = getattr(self._own, "seen", None)
        self._own.seen = {} if outer is None else outer
        try:
            yield
        finally:
            self._own.seen = outer

    def standing(self, places: Sequence[ThreadPlace]) -> tuple[int, int]:
        """The newest seq of the last of these, and how many events of all were forgotten."""
        known: dict[int, tuple[int, int]] = getattr(self._own, "seen", None) or {}
        numbers = [place.number for place in places]
        if not all(number in known for number in numbers):
            found = self._connections.read(_STANDING, (self.space, numbers))
            known = {number: (last, erased) for number, last, erased in found}
            if getattr(self._own, "seen", None) is not None:
                self._own.seen.update(known)
        return known[numbers[-1]][0], sum(known[number][1] for number in numbers)

    def reached(self, place: ThreadPlace, last: int, link: bytes) -> None:
        """The newest event of a thread and its link, as they were seen last."""
        seen = getattr(self._own, "seen", None)
        if seen and place.number in seen:
            seen[place.number] = last, seen[place.number][1]
        with self._lock:
            self._tips[place.number] = last, link
            self._tips.move_to_end(place.number)
            while len(self._tips) > _MOST_KEPT:
                self._tips.popitem(last=False)

    def tip(self, place: ThreadPlace, expected: int | None = None) -> tuple[int, bytes]:
        """The newest seq and its link: as remembered if that is the one expected, else as the server has them."""
        known = self._tips.get(place.number)
        if known is not None and known[0] == expected:
            return known
        found = self._connections.read(_BY_NUMBER, (self.space, place.number))
        if not found:
            raise Corrupt(f"The row of thread {place.name!r} is lost. Restore a backup.", thread=place.name)
        self.reached(place, found[0][2], found[0][3])
        return found[0][2], found[0][3]

    def wrote(self, moment: int) -> None:
        """Know a change for our own. Many are let go where nobody asks; they then look like somebody else's."""
        with self._lock:
            if len(self.own) >= _MOST_KEPT:
                self.own.clear()
            self.own.add(moment)

    def made_all_of(self, moments: set[int], since: int) -> bool:
        """Whether these changes are all our own. What is older than `since` is asked about no more, and let go."""
        with self._lock:
            is_ours = moments <= self.own
            self.own = {moment for moment in moments | self.own if moment >= since}
        return is_ours

    # -- making and changing ------------------------------------------------------------------------------------------

    def create(self, new: ThreadRow, link: bytes = GENESIS, sealed_by: bytes = b"") -> ThreadRow | None:
        """Make the thread; None where somebody has this name. `link` is the one that a fork begins on."""
        origin = self.place(new.origin.thread) if new.origin else None
        start = new.origin.seq if new.origin else 0
        values = {
            "space": self._space_for_writing(),
            "name": blob_of(new.name),
            "digest": _digest(new.name),
            "origin": None if origin is None else origin.number,
            "start": start,
            "link": link,
            "sealed_by": sealed_by,
            "created": float(new.created),
            "settings": encode(dict(new.settings)),
            "base": self.base,
            "place": self._connections.numbered(1),
        }
        try:
            found = self._made(values)
        except TakenMeanwhile:
            return None
        if not found:
            return None
        number, moment = found[0]
        self.wrote(moment)
        made_from = None if new.origin is None or origin is None else Origin(origin.name, start)
        number_of_origin = None if origin is None else origin.number
        place = self._keep(new.name, ThreadPlace(number, new.name, start, link, number_of_origin, bool(sealed_by)))
        self.reached(place, start, link)
        if getattr(self._own, "seen", None) is not None:
            self._own.seen[number] = start, 0
        return ThreadRow(new.name, start, made_from, float(new.created), dict(new.settings))

    def _made(self, values: dict[str, object]) -> list[Row]:
        if self._connections.batched is None:
            return self._connections.once(_CREATE, values)
        with self._connections.transaction():
            return self._connections.once(_CREATE, values)

    def check_origin(self, origin: Origin) -> int:
        """The number of the thread to fork from, if it holds the place."""
        place = self.place(origin.thread)
        last, _ = self.tip(place)
        if not 0 <= origin.seq <= last:
            raise no_place_to_fork(origin)
        return place.number

    def rename(self, place: ThreadPlace, to: str) -> None:
        name = blob_of(to)
        with self._connections.transaction() as connection:
            text = self._connections.text
            taken = connection.execute(text(_TAKE_NAME), (self.space, _digest(to), name, place.number)).fetchall()
            if not taken:
                raise name_taken(to)
            connection.execute(text(_LEAVE_NAMES), (self.space, place.number, _digest(to)))
            connection.execute(text(_TITLE), (name, self.space, place.number))
            self.happened(place)

    def archive(self, place: ThreadPlace, is_archived: bool) -> None:
        with self._connections.transaction() as connection:
            connection.execute(self._connections.text(_ARCHIVE), (is_archived, self.space, place.number))
            self.happened(place)

    def happened(self, place: ThreadPlace) -> None:
        """Something became of the thread as a whole: tell whoever follows."""
        values = {"space": self.space, "thread": place.number, "base": self.base}
        ((moment,),) = self._connections.once(_HAPPENED, {**values, "place": self._connections.numbered(1)})
        self.wrote(moment)

    def forks(self, place: ThreadPlace) -> list[str]:
        return [text_of(name) for (name,) in self._connections.read(_FORKS, (self.space, place.number))]


def _place(found: Row) -> ThreadPlace:
    number, name, _, _, start, base, origin, *_ = found
    return ThreadPlace(number, text_of(name), start, bytes(base), origin, found[11] != b"")


def thread_row(found: Row) -> ThreadRow:
    _, name, last, _, start, _, _, origin, created, settings, title, *_ = found
    made_from = None if origin is None else Origin(text_of(origin), start)
    alias = "" if title == name else text_of(title)
    return ThreadRow(text_of(name), last, made_from, created, decode(settings), alias)
