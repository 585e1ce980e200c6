"""Lists of threads in pages, and what is new: for pages that people look at, which a replica may answer."""

from __future__ import annotations

from typing import Final, LiteralString

from contextfold.domain import ListedThread, ThreadChange, ThreadPage
from contextfold.logs.entries import bad_page, stored_kind

from .connections import Connections, Row
from .directory import THREAD, ThreadDirectory, blob_of, text_of, thread_row

_PAST_ALL: Final = b"\xff"  # no UTF-8 holds it, so whatever begins with a prefix stands before the prefix and this
_NO_END: Final = 2**62
_SAME_START: Final = 200  # bytes of a name that its order is looked up by

_LISTED: LiteralString = (
    THREAD + ", t.changed, t.at, t.messages, t.folds, t.size, t.archived, t.forgotten FROM {schema}.threads AS t"
    " LEFT JOIN {schema}.threads AS o ON o.space = t.space AND o.id = t.origin"
)
_BY_ACTIVITY: LiteralString = (
    _LISTED + " WHERE t.space = %(space)s AND t.archived = %(archived)s AND t.changed < %(before)s"
    " AND t.title >= %(first)s AND t.title < %(end)s ORDER BY t.changed DESC LIMIT %(limit)s"
)
_BY_TITLE: LiteralString = (
    _LISTED + " JOIN {schema}.names AS n ON n.space = t.space AND n.thread = t.id AND n.is_title"
    " WHERE t.space = %(space)s AND n.space = %(space)s"
    " AND (%(archived)s::boolean IS NULL OR t.archived = %(archived)s)"
    " AND substring(n.name, 1, 200) >= %(start)s AND n.name >= %(first)s AND n.name < %(end)s"
    " AND (%(after)s::bytea IS NULL OR n.name > %(after)s) ORDER BY substring(n.name, 1, 200), n.name LIMIT %(limit)s"
)
_AS_MADE: LiteralString = (
    _LISTED + " WHERE t.space = %(space)s AND (%(archived)s::boolean IS NULL OR t.archived = %(archived)s)"
    " AND t.title >= %(first)s AND t.title < %(end)s ORDER BY t.id LIMIT %(limit)s"
)
# Only what no transaction in progress can still precede: nobody who follows misses what commits a little later.
_CHANGES: LiteralString = (
    "SELECT f.moment, t.title, f.seq, f.event, coalesce(f.at, t.at) FROM ("
    "(SELECT moment, thread, seq, event, at FROM {schema}.events WHERE space = %(space)s AND moment > %(after)s"
    " AND moment < ((%(base)s::bigint + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 22)"
    " ORDER BY moment LIMIT %(limit)s) UNION ALL"
    " (SELECT moment, thread, 0, NULL, NULL FROM {schema}.happenings WHERE space = %(space)s AND moment > %(after)s"
    " AND moment < ((%(base)s::bigint + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 22)"
    " ORDER BY moment LIMIT %(limit)s)"
    ") AS f JOIN {schema}.threads AS t ON t.space = %(space)s AND t.id = f.thread ORDER BY f.moment LIMIT %(limit)s"
)
_NEWS: LiteralString = (
    "SELECT NULL, (%(base)s::bigint + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) << 22 UNION ALL"
    " (SELECT changed, NULL FROM {schema}.threads WHERE space = %(space)s AND archived IN (true, false)"
    " AND changed >= %(since)s LIMIT 1000) UNION ALL"
    " (SELECT moment, NULL FROM {schema}.happenings WHERE space = %(space)s AND moment >= %(since)s LIMIT 1000)"
)


class ThreadFeed:
    """What one space shows of its threads."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, lists: Connections | None = None) -> None:
        self._connections, self._lists = connections, lists or connections
        self._directory = directory
        self._since = directory.opened_at

    def page(self, page: ThreadPage) -> list[ListedThread]:
        first = blob_of(page.prefix)
        values: dict[str, object] = {
            "space": self._directory.space,
            "archived": page.archived,
            "first": first,
            "start": first[:_SAME_START],
            "end": first + _PAST_ALL,
            "limit": page.limit,
        }
        match page.order, page.after:
            case "activity", None | int():
                return self._by_activity(values, page)
            case "name", None | str():
                after = None if page.after is None else blob_of(str(page.after))
                start = first if after is None else max(first, after)
                found = self._lists.read(_BY_TITLE, {**values, "after": after, "start": start[:_SAME_START]})
            case "created", None:
                found = self._lists.read(_AS_MADE, values)
            case _:
                raise bad_page(page)
        return [_listed(each) for each in found]

    def _by_activity(self, values: dict[str, object], page: ThreadPage) -> list[ListedThread]:
        """Newest first. Threads that are put away are a part of the index of their own, so both are read and joined."""
        values["before"] = _NO_END if page.after is None else page.after
        listed: list[ListedThread] = []
        for archived in (False, True) if page.archived is None else (page.archived,):
            listed += map(_listed, self._lists.read(_BY_ACTIVITY, {**values, "archived": archived}))
        listed.sort(key=lambda row: -row.changed)
        return listed[: page.limit]

    def changes(self, after: int, limit: int | None) -> list[ThreadChange]:
        values = {"space": self._directory.space, "after": after, "limit": limit, "base": self._directory.base}
        return [
            ThreadChange(moment, text_of(title), seq, "thread" if event is None else stored_kind(event), at)
            for moment, title, seq, event, at in self._lists.read(_CHANGES, values)
        ]

    def is_current(self) -> bool:
        """Whether nothing happened in the space since this was last asked but what we did."""
        values = {"space": self._directory.space, "base": self._directory.base, "since": self._since}
        (_, since), *found = self._connections.read(_NEWS, values)
        moments = {moment for moment, _ in found}
        self._since = since
        return self._directory.made_all_of(moments, since)


def _listed(found: Row) -> ListedThread:
    row = thread_row(found)
    changed, at, messages, folds, size, archived, forgotten = found[13:]
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
        is_archived=archived,
        is_forgotten=forgotten,
    )
