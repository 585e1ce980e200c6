"""What a list of threads shows, and what happened since a reader last looked.

Rows of `bodies` are numbered in the order in which everything was written, so their numbers are the cursors of both. A
page costs what it returns: each order has its index. A thread's row of the list counts its events up to one number;
what was written behind it is counted many at a time, and until then by whoever reads the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zlib import crc32

import apsw
from msgspec import Struct
from msgspec.structs import astuple, replace

from contextfold.domain import ListedThread, ThreadChange, ThreadPage, ThreadRow
from contextfold.errors import Corrupt
from contextfold.loggers import logger
from contextfold.logs.entries import RESCUE, bad_page, name_taken, stored_kind

from .database import Address, Row, row, rows, value
from .directory import NAME, THREADS, blob_of, find, text_of

STRIDE: Final = 16  # rows of `bodies` that are counted together: of twenty it takes six times as long as of these

_HAPPENED = "INSERT INTO bodies (space, thread, seq) VALUES (?, ?, 0)"
_BEGIN = "INSERT INTO activity (space, thread, changed, at, checksum) VALUES (?, ?, ?, ?, ?)"
_SHOWN = (
    "SELECT alias, changed, at, messages, folds, size, archived, forgotten, checksum FROM activity"
    " WHERE space = ? AND thread = ?"
)
_CHANGE = (
    "UPDATE activity SET alias = ?, changed = ?, at = ?, messages = ?, folds = ?, size = ?, archived = ?, "
    " forgotten = ?, checksum = ? WHERE space = ? AND thread = ?"
)
# Behind this number in `bodies` stands what the list has not counted. One that is too small, damaged or lost makes the
# looking longer and the answer no other.
_COUNTED = "SELECT changed FROM activity WHERE space = 0 AND checksum = -changed"
# What each thread got since it was counted; `at` and `seq` are those of its newest event.
_UNCOUNTED = (
    "WITH uncounted AS MATERIALIZED (SELECT b.space, b.thread, max(b.id) AS changed, e.at, b.seq,"
    " sum(substr(e.event, 1, 11) = CAST('[\"appended\"' AS BLOB)) AS messages,"
    " sum(substr(e.event, 1, 9) = CAST('[\"folded\"' AS BLOB)) AS folds,"
    " sum(coalesce(b.unpacked, length(b.bytes),"
    " (SELECT coalesce(unpacked, length(bytes)) FROM bodies WHERE id = b.blob), 0)) AS size"
    " FROM bodies AS b CROSS JOIN activity AS a ON a.space = b.space AND a.thread = b.thread AND a.changed < b.id"
    " CROSS JOIN events AS e ON e.space = b.space AND e.thread = b.thread AND e.seq = b.seq"
    " WHERE b.id > coalesce((SELECT changed FROM activity WHERE space = 0 AND checksum = -changed), 0)"
    " AND b.seq > 0 GROUP BY b.space, b.thread)"
)
_GROWN = (
    " SELECT u.space, u.thread, t.seal, a.alias, a.changed, a.at,"
    " a.messages, a.folds, a.size, a.archived, a.forgotten, a.checksum, u.changed, u.at, u.messages, u.folds, u.size"
    " FROM uncounted AS u JOIN activity AS a USING (space, thread) JOIN threads AS t"
    " ON t.space = u.space AND t.id = u.thread"
)
_TO_COUNT = _UNCOUNTED + _GROWN
_ALL_COUNTED = (
    "INSERT OR REPLACE INTO activity (space, thread, changed, at, checksum)"
    " SELECT 0, 0, max(id), 0, -max(id) FROM bodies"
)
_UNCHECKED = (
    "SELECT t.space, t.id, t.seal, a.alias, a.changed, a.at, a.messages, a.folds, a.size, a.archived, a.forgotten"
    " FROM activity AS a JOIN threads AS t ON t.space = a.space AND t.id = a.thread WHERE a.checksum IS NULL"
)
_CHECK = "UPDATE activity SET checksum = ? WHERE space = ? AND thread = ?"
_MADE_AS = "SELECT name FROM threads WHERE space = ? AND id = ?"
# Names, rows of the list and its order are a tree each: what a damaged page took out of one is still in the others.
_ARE_ALL_LISTED = (
    "SELECT (SELECT total(space + id) FROM threads INDEXED BY threads_by_name) = listed.threads"
    " AND (SELECT total(changed + 3 * archived + 7 * thread) FROM activity INDEXED BY activity_in_order) = listed.turns"
    " FROM (SELECT total(space + thread) AS threads, total(changed + 3 * archived + 7 * thread) AS turns,"
    " max(messages) FROM activity) AS listed"  # `messages` is in no index, so the rows themselves are read
)
_FORKS = "SELECT name FROM threads WHERE space = ? AND origin = ? ORDER BY id"

_SHOWN_OF_ALL = (
    " SELECT t.name,"
    " coalesce((SELECT max(seq) FROM events AS e WHERE e.space = t.space AND e.thread = t.id),"
    " t.origin_seq), (SELECT o.name FROM threads AS o WHERE o.space = t.space AND o.id = t.origin), t.origin_seq,"
    " t.created, t.settings, t.origin, t.seal, t.id, a.alias, a.changed, a.at, a.messages, a.folds, a.size,"
    " a.archived, a.forgotten, a.checksum,"
    " (SELECT seq FROM bodies AS b WHERE b.id = a.changed AND b.space = a.space AND b.thread = a.thread),"
    " u.changed, u.at, u.messages, u.folds, u.size, u.seq"
)
_LISTED = _UNCOUNTED + _SHOWN_OF_ALL
_LATER = " LEFT JOIN uncounted AS u ON u.space = a.space AND u.thread = a.thread"
# Threads that are counted stand in their order in an index; the others come from what they got since.
_TURNS = (
    " FROM (SELECT * FROM (SELECT thread, changed FROM activity AS c WHERE space = ?1 AND archived = ?2"
    " AND changed < ?3 AND NOT EXISTS (SELECT 1 FROM uncounted AS n WHERE n.space = ?1 AND n.thread = c.thread)"
    " ORDER BY changed DESC LIMIT ?4)"
    " UNION ALL SELECT thread, changed FROM uncounted WHERE space = ?1 AND changed < ?3) AS o"
    " CROSS JOIN activity AS a ON a.space = ?1 AND a.thread = o.thread AND a.archived = ?2"
)
_NAMED = " LEFT JOIN threads AS t ON t.space = a.space AND t.id = a.thread"
_IN_ORDER = _LISTED + _TURNS + _LATER + _NAMED + " ORDER BY o.changed DESC LIMIT ?4"
# A thread whose row is lost is listed without it, and told. CROSS JOIN: names first, whatever SQLite thinks it knows.
_UNDER = (
    " FROM names AS n CROSS JOIN activity AS a ON a.space = n.space AND a.thread = n.number"
    + _LATER
    + _NAMED
    + " WHERE n.space = ?1 AND n.owner = 0 AND n.name >= ?5 AND n.name < ?6"
    " AND (typeof(t.name) <> 'blob' OR n.name = coalesce(a.alias, t.name))"
)
_IN_ORDER_UNDER = (
    _LISTED + _UNDER + " AND a.archived = ?2 AND coalesce(u.changed, a.changed) < ?3"
    " ORDER BY coalesce(u.changed, a.changed) DESC LIMIT ?4"
)
_BY_NAME = (
    _LISTED + _UNDER + " AND (?2 IS NULL OR a.archived = ?2) AND (?3 IS NULL OR n.name > ?3) ORDER BY n.name LIMIT ?4"
)
_AS_MADE = (
    _LISTED
    + " FROM activity AS a"
    + _LATER
    + _NAMED
    + " WHERE a.space = ?1 AND (?2 IS NULL OR a.archived = ?2) AND (typeof(t.name) <> 'blob' OR"
    " (coalesce(a.alias, t.name) >= ?3 AND coalesce(a.alias, t.name) < ?4)) ORDER BY a.thread LIMIT ?5"
)
_CHANGES = (
    "SELECT b.id, coalesce(a.alias, t.name), b.seq, e.event, coalesce(e.at, a.at) FROM bodies AS b"
    " JOIN threads AS t ON t.space = b.space AND t.id = b.thread"
    " JOIN activity AS a ON a.space = b.space AND a.thread = b.thread"
    " LEFT JOIN events AS e ON e.space = b.space AND e.thread = b.thread AND e.seq = b.seq"
    " WHERE b.id > ? AND b.space = ? AND b.thread IS NOT NULL ORDER BY b.id LIMIT ?"
)
_PAST_ALL = b"\xff"  # no UTF-8 holds it, so whatever begins with a prefix stands before the prefix and this
_NO_END = 2**62
_SEAL, _ALIAS, _CHECKSUM, _NEWEST, _UNCOUNTED_FACTS = 7, 9, 17, 18, 19  # columns of `_LISTED`

log = logger("logs")


class ListedFacts(Struct, frozen=True, gc=False):
    """What the list shows of one thread, as its row keeps it."""

    alias: bytes | None = None
    changed: int = 0
    at: float = 0.0
    messages: int = 0
    folds: int = 0
    size: int = 0
    archived: int = 0
    forgotten: int = 0

    def checksum(self, seal: bytes) -> int:
        """Bound to the thread by the seal of its row, so that rows of another file do not pass for its own."""
        return crc32(repr((seal, *astuple(self))).encode())

    def grown(self, changed: int, at: float, messages: int, folds: int, size: int) -> ListedFacts:
        """The same with what was written since; a thread that was forgotten is written to again."""
        sums = (self.messages + messages, self.folds + folds, self.size + size)
        return ListedFacts(self.alias, changed, at, *sums, self.archived)


def begin(connection: apsw.Connection, address: Address, at: float) -> None:
    """A thread was made."""
    happened(connection, address)
    new = ListedFacts(changed=connection.last_insert_rowid(), at=at)
    connection.execute(_BEGIN, (address.space, address.thread, new.changed, at, new.checksum(address.seal)))


def check_all(connection: apsw.Connection) -> None:
    """Give a checksum to the rows that an older version wrote."""
    for space, thread, seal, *shown in rows(connection, _UNCHECKED):
        checksum = ListedFacts(*shown).checksum(seal)
        connection.execute(_CHECK, (checksum, space, thread))


def happened(connection: apsw.Connection, address: Address) -> None:
    """Something happened to the thread as a whole: tell whoever follows."""
    connection.execute(_HAPPENED, (address.space, address.thread))


def counted_to(connection: apsw.Connection, number: int) -> int:
    """Up to which row of `bodies` all are counted, `number` being the newest: enough together are counted here."""
    counted = int(value(connection, _COUNTED) or 0)
    return counted if number - counted < STRIDE else count(connection, number)


def count(connection: apsw.Connection, number: int = 0) -> int:
    """Count whatever was written, in all spaces. A row of the list that is damaged stays so, for its reader to tell."""
    for space, thread, seal, *found in rows(connection, _TO_COUNT):
        old, checksum, more = ListedFacts(*found[:8]), found[8], found[9:]
        if checksum == old.checksum(seal):
            new = old.grown(*more)
            connection.execute(_CHANGE, (*astuple(new), new.checksum(seal), space, thread))
    connection.execute(_ALL_COUNTED)
    return number


def _latest(connection: apsw.Connection, address: Address) -> ListedFacts:
    """What the list shows of a thread, for whoever changes it: with all that was written before."""
    count(connection)
    return shown(connection, address)


def shown(connection: apsw.Connection, address: Address) -> ListedFacts:
    """What the list shows of a thread, as far as it is counted; raises where that is damaged."""
    found = row(connection, _SHOWN, (address.space, address.thread))
    if found is None or not _is_as_written(address.seal, found):
        raise Corrupt(f"What the list of threads shows of {address.name!r} is damaged. {RESCUE}", thread=address.name)
    return ListedFacts(*found[:-1])


def _is_as_written(seal: bytes, found: Row) -> bool:
    """Whether the checksum at the end says so."""
    *shown, checksum = found
    return bool(checksum == ListedFacts(*shown).checksum(seal))


def _change(connection: apsw.Connection, address: Address, new: ListedFacts) -> None:
    checksum = new.checksum(address.seal)
    connection.execute(_CHANGE, (*astuple(new), checksum, address.space, address.thread))


def shrink(connection: apsw.Connection, address: Address, size: int) -> None:
    """So many bytes were erased, with this transaction, even if forgetting ends here."""
    old = _latest(connection, address)
    _change(connection, address, replace(old, size=max(0, old.size - size)))


def forget(connection: apsw.Connection, address: Address, *, is_whole: bool) -> None:
    """All that was to be erased is."""
    if is_whole:
        _change(connection, address, replace(_latest(connection, address), messages=0, folds=0, size=0, forgotten=1))
    happened(connection, address)


def rename(connection: apsw.Connection, address: Address, to: str) -> None:
    name = blob_of(to)
    owner = find(connection, address.space, THREADS, name)
    if owner is None:
        connection.execute(NAME, (address.space, THREADS, name, address.thread))
    elif owner != address.thread:
        raise name_taken(to)
    first = value(connection, _MADE_AS, (address.space, address.thread))
    _change(connection, address, replace(_latest(connection, address), alias=None if name == first else name))
    happened(connection, address)


def archive(connection: apsw.Connection, address: Address, is_archived: bool) -> None:
    _change(connection, address, replace(_latest(connection, address), archived=int(is_archived)))
    happened(connection, address)


def forks(connection: apsw.Connection, address: Address) -> list[str]:
    return [text_of(name) for (name,) in rows(connection, _FORKS, (address.space, address.thread))]


def listed(
    connection: apsw.Connection, space: int, page: ThreadPage, checked: Callable[[Row], ThreadRow | None]
) -> list[ListedThread]:
    """A page; `checked` makes the row of what the directory knows, None where that is damaged."""
    sound = (found for found in _rows_of(connection, space, page) if _is_sound(found))
    rows_of_page = ((checked(found[: _ALIAS + 1]), _facts(found)) for found in sound)
    return [_listed_thread(row, facts) for row, facts in rows_of_page if row is not None]


def _facts(found: Row) -> ListedFacts:
    """What is shown of a thread, with what was not counted yet."""
    counted, more = ListedFacts(*found[_ALIAS:_CHECKSUM]), found[_UNCOUNTED_FACTS:-1]
    return counted if more[0] is None else counted.grown(*more)


def refuse_lost_rows(connection: apsw.Connection) -> None:
    """A thread that is not in the list would not be missed. Counts all rows, so it is asked once."""
    if not value(connection, _ARE_ALL_LISTED):
        raise Corrupt(f"The list of threads is damaged: some are missing. {RESCUE}")


def _is_sound(found: Row) -> bool:
    """Whether what is shown is what was written, and the newest event is the one that the list knows; else told."""
    name, last, seal = found[0], found[1], found[_SEAL]
    newest = found[_NEWEST] if found[-1] is None else found[-1]
    is_sound = newest in (0, last) and _is_as_written(seal, found[_ALIAS:_NEWEST])
    if not is_sound:
        log.warning("Thread %r is left out: what is listed of it is damaged. %s", name, RESCUE)
    return is_sound


def _rows_of(connection: apsw.Connection, space: int, page: ThreadPage) -> list[Row]:
    limit = -1 if page.limit is None else page.limit
    first = blob_of(page.prefix)
    archived = None if page.archived is None else int(page.archived)
    match page.order, page.after:
        case "activity", None | int():
            return _by_activity(connection, space, page, limit)
        case "name", None | str():
            after = None if page.after is None else blob_of(str(page.after))
            start = first if after is None else max(first, after)
            return rows(connection, _BY_NAME, (space, archived, after, limit, start, first + _PAST_ALL))
        case "created", None:
            return rows(connection, _AS_MADE, (space, archived, first, first + _PAST_ALL, limit))
        case _:
            raise bad_page(page)


def _by_activity(connection: apsw.Connection, space: int, page: ThreadPage, limit: int) -> list[Row]:
    """Newest first. Threads that are put away stand in an index of their own, so both are read and joined."""
    before = _NO_END if page.after is None else int(page.after)
    first = blob_of(page.prefix)
    found: list[Row] = []
    for archived in (0, 1) if page.archived is None else (int(page.archived),):
        if page.prefix:
            values: Row = (space, archived, before, limit, first, first + _PAST_ALL)
            found += rows(connection, _IN_ORDER_UNDER, values)
        else:
            found += rows(connection, _IN_ORDER, (space, archived, before, limit))
    found.sort(key=lambda row: -_facts(row).changed)
    return found if limit < 0 else found[:limit]


def _listed_thread(row: ThreadRow, facts: ListedFacts) -> ListedThread:
    return ListedThread(
        row.name,
        row.last,
        row.origin,
        row.created,
        row.settings,
        row.alias,
        changed=facts.changed,
        at=facts.at,
        messages=facts.messages,
        folds=facts.folds,
        size=facts.size,
        is_archived=bool(facts.archived),
        is_forgotten=bool(facts.forgotten),
    )


def changes(connection: apsw.Connection, space: int, after: int, limit: int | None) -> list[ThreadChange]:
    found = rows(connection, _CHANGES, (after, space, -1 if limit is None else limit))
    return [
        ThreadChange(number, text_of(name), seq, "thread" if event is None else stored_kind(event), at)
        for number, name, seq, event, at in found
    ]
