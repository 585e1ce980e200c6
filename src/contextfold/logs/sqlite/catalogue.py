"""What a list of threads shows, kept in step by every write, and what happened since a reader last looked.

Rows of `bodies` are numbered in the order in which everything was written, so their numbers are the cursors of both. A
page costs what it returns: each order has its index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw

from contextfold.domain import ListedThread, ThreadChange, ThreadPage, ThreadRow
from contextfold.logs.entries import Sealed, bad_page, counted, name_taken, stored_kind

from .database import Row, rows
from .directory import NAME, THREADS, Address, blob_of, find, text_of

_HAPPENED = "INSERT INTO bodies (space, thread, seq) VALUES (?, ?, 0)"
_BEGIN = "INSERT INTO activity (space, thread, changed, at) VALUES (?, ?, ?, ?)"
_TAKE = (
    "UPDATE activity SET changed = ?, at = ?, messages = messages + ?, folds = folds + ?, size = size + ?,"
    " forgotten = 0 WHERE space = ? AND thread = ?"
)
_LESS = "UPDATE activity SET size = max(0, size - ?) WHERE space = ? AND thread = ?"
_NOTHING_LEFT = "UPDATE activity SET messages = 0, folds = 0, size = 0, forgotten = 1 WHERE space = ? AND thread = ?"
_CALL = (
    "UPDATE activity SET alias = nullif(?1, (SELECT name FROM threads WHERE space = ?2 AND id = ?3))"
    " WHERE space = ?2 AND thread = ?3"
)
_PUT_AWAY = "UPDATE activity SET archived = ? WHERE space = ? AND thread = ?"
_FORKS = "SELECT name FROM threads WHERE space = ? AND origin = ? ORDER BY id"

_LISTED = (
    "SELECT t.name, coalesce((SELECT max(seq) FROM events AS e WHERE e.space = t.space AND e.thread = t.id),"
    " t.origin_seq), (SELECT o.name FROM threads AS o WHERE o.space = t.space AND o.id = t.origin), t.origin_seq,"
    " t.created, t.settings, t.origin, t.seal, t.id, a.alias, a.changed, a.at, a.messages, a.folds, a.size,"
    " a.archived, a.forgotten"
)
_IN_ORDER = (
    _LISTED + " FROM activity AS a JOIN threads AS t ON t.space = a.space AND t.id = a.thread"
    " WHERE a.space = ?1 AND a.archived = ?2 AND a.changed < ?3 ORDER BY a.changed DESC LIMIT ?4"
)
# CROSS JOIN: names first, whatever SQLite thinks it knows of the tables.
_UNDER = (
    " FROM names AS n CROSS JOIN activity AS a ON a.space = n.space AND a.thread = n.number"
    " CROSS JOIN threads AS t ON t.space = n.space AND t.id = n.number"
    " WHERE n.space = ?1 AND n.owner = 0 AND n.name >= ?5 AND n.name < ?6 AND n.name = coalesce(a.alias, t.name)"
)
_IN_ORDER_UNDER = _LISTED + _UNDER + " AND a.archived = ?2 AND a.changed < ?3 ORDER BY a.changed DESC LIMIT ?4"
_BY_NAME = (
    _LISTED + _UNDER + " AND (?2 IS NULL OR a.archived = ?2) AND (?3 IS NULL OR n.name > ?3) ORDER BY n.name LIMIT ?4"
)
_AS_MADE = (
    _LISTED + " FROM threads AS t JOIN activity AS a ON a.space = t.space AND a.thread = t.id WHERE t.space = ?1"
    " AND (?2 IS NULL OR a.archived = ?2) AND coalesce(a.alias, t.name) >= ?3 AND coalesce(a.alias, t.name) < ?4"
    " ORDER BY t.id LIMIT ?5"
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
_FACTS, _CHANGED = 10, 10  # columns: where what is counted begins, with the newest change


def begin(connection: apsw.Connection, address: Address, at: float) -> None:
    """A thread was made."""
    happened(connection, address)
    connection.execute(_BEGIN, (address.space, address.thread, connection.last_insert_rowid(), at))


def happened(connection: apsw.Connection, address: Address) -> None:
    """Something happened to the thread as a whole: tell whoever follows."""
    connection.execute(_HAPPENED, (address.space, address.thread))


def take(connection: apsw.Connection, address: Address, changed: int, written: Sequence[Sealed]) -> None:
    """Count what was just written; `changed` is the number of its newest row."""
    found = counted((entry.stored, entry.body) for entry in written)
    connection.execute(_TAKE, (changed, written[-1].at, *found, address.space, address.thread))


def forget(connection: apsw.Connection, address: Address, erased: int | None) -> None:
    """So many bytes were erased; None for everything."""
    if erased is None:
        connection.execute(_NOTHING_LEFT, (address.space, address.thread))
    else:
        connection.execute(_LESS, (erased, address.space, address.thread))
    happened(connection, address)


def rename(connection: apsw.Connection, address: Address, to: str) -> None:
    name = blob_of(to)
    owner = find(connection, address.space, THREADS, name)
    if owner is None:
        connection.execute(NAME, (address.space, THREADS, name, address.thread))
    elif owner != address.thread:
        raise name_taken(to)
    connection.execute(_CALL, (name, address.space, address.thread))
    happened(connection, address)


def archive(connection: apsw.Connection, address: Address, is_archived: bool) -> None:
    connection.execute(_PUT_AWAY, (int(is_archived), address.space, address.thread))
    happened(connection, address)


def forks(connection: apsw.Connection, address: Address) -> list[str]:
    return [text_of(name) for (name,) in rows(connection, _FORKS, (address.space, address.thread))]


def listed(
    connection: apsw.Connection, space: int, page: ThreadPage, checked: Callable[[Row], ThreadRow | None]
) -> list[ListedThread]:
    """A page; `checked` makes the row of what the directory knows, None where that is damaged."""
    rows_of_page = ((checked(found[:_FACTS]), found[_FACTS:]) for found in _rows_of(connection, space, page))
    return [_listed_thread(row, facts) for row, facts in rows_of_page if row is not None]


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
    found.sort(key=lambda row: -row[_CHANGED])
    return found if limit < 0 else found[:limit]


def _listed_thread(row: ThreadRow, facts: Row) -> ListedThread:
    changed, at, messages, folds, size, archived, forgotten = facts
    return ListedThread(
        row.name,
        row.last,
        row.origin,
        row.created,
        row.settings,
        row.alias,
        changed=changed,
        at=at,
        messages=messages,
        folds=folds,
        size=size,
        is_archived=bool(archived),
        is_forgotten=bool(forgotten),
    )


def changes(connection: apsw.Connection, space: int, after: int, limit: int | None) -> list[ThreadChange]:
    found = rows(connection, _CHANGES, (after, space, -1 if limit is None else limit))
    return [
        ThreadChange(number, text_of(name), seq, "thread" if event is None else stored_kind(event), at)
        for number, name, seq, event, at in found
    ]
