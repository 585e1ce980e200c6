"""The list of sessions: a page of the store's own directory, and for those in sight what a look into them tells."""

from __future__ import annotations

from msgspec import Struct

from contextfold.domain import Appended
from contextfold.store import MEMORIES, Store
from contextfold.thread import Thread

from .stores import OpenThread

_SPARK = 60  # points of the small line
_LOOK = 50  # events in which the first words of a person are looked for


class ListedSession(Struct, frozen=True, omit_defaults=True):
    """A session as the directory knows it."""

    name: str
    at: float
    changed: int
    messages: int
    folds: int
    size: int
    model: str = ""
    parent: str = ""  # whose sub-agent it is
    origin: str = ""  # what it was forked from
    is_archived: bool = False
    is_forgotten: bool = False


class SessionPage(Struct, frozen=True):
    """Some sessions, the newest first; the next page begins `after` the last one's `changed`."""

    sessions: tuple[ListedSession, ...]
    after: int | None  # None where these are the last
    cursor: int  # of the newest change here


class SessionDigest(Struct, frozen=True, omit_defaults=True):
    """What a look into a session tells. Money is `unit`: USD where prices are known, else tokens."""

    name: str
    first: str = ""
    used: int = 0
    usable: int = 0
    threshold: int = 0
    requests: int = 0
    spark: tuple[int, ...] = ()  # sizes of requests over time
    spent: float = 0.0
    full: float = 0.0  # what it would have cost without folding; 0 where nobody kept account
    unit: str = "tokens"


def session_page(store: Store, *, after: int | None, limit: int, archived: bool, prefix: str = "") -> SessionPage:
    """A page of the directory; memories are no sessions."""
    rows = store.threads(order="activity", after=after, limit=limit, archived=archived, prefix=prefix)
    listed = tuple(
        ListedSession(
            row.title,
            row.at,
            row.changed,
            row.messages,
            row.folds,
            row.size,
            row.model,
            row.settings.get("parent", ""),
            row.origin.thread if row.origin else "",
            row.is_archived,
            row.is_forgotten,
        )
        for row in rows
        if not row.name.startswith(MEMORIES)
    )
    more = rows[-1].changed if len(rows) == limit else None
    newest = store.threads(order="activity", limit=1)
    return SessionPage(listed, more, newest[0].changed if newest else 0)


def digest_of(opened: OpenThread) -> SessionDigest:
    """A look into one session."""
    session, gauge = opened.session, opened.gauge
    history, stats = opened.requests.history(0), session.stats
    sizes = [each.tokens for each in history.requests]
    step = max(1, -(-len(sizes) // _SPARK))
    return SessionDigest(
        opened.thread.name,
        _first(opened.thread, opened),
        gauge.used,
        gauge.usable,
        gauge.threshold,
        history.total,
        tuple(max(sizes[at : at + step]) for at in range(0, len(sizes), step)),
        round(stats.spent, 6),
        round(stats.full_history, 6),
        stats.unit,
    )


def _first(thread: Thread, opened: OpenThread) -> str:
    """How a person began, else how anybody did."""
    said = [each for each in thread.branch.events[:_LOOK] if isinstance(each.event, Appended)]
    people = (each for each in said if isinstance(each.event, Appended) and each.event.shape.role == "user")
    first = next(people, said[0] if said else None)
    if first is None:
        return ""
    return next((row.text for row in opened.rows.page("everything", (), 0, _LOOK).rows if row.seq == first.seq), "")
