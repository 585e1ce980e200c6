"""What a log in memory lists: its threads by name and by activity, and everything that happened, in order.

The twin of what a file keeps in tables with indexes. Each change can be taken back, newest first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from msgspec.structs import replace

from contextfold.domain import ListedThread, ThreadChange, ThreadPage, ThreadRow

from .entries import Sealed, bad_page, counted, name_taken, stored_kind

Undo = Callable[[], object]
_MOST_WAITING = 64  # appends that are counted together at most


class Register:
    """Rows by the name a thread was made under, with every other name that leads there."""

    def __init__(self) -> None:
        self._rows: dict[str, ListedThread] = {}
        self._names: dict[str, str] = {}
        self._forks: dict[str, list[str]] = {}  # by the name of their origin
        self._titles: list[tuple[bytes, str]] = []  # ascending as bytes, as a file orders them
        self._changed: list[int] = []  # ascending
        self._by_change: dict[int, str] = {}
        self._happened: list[tuple[str, int, str, float]] = []
        self._waiting: list[tuple[str, Sequence[Sealed]]] = []  # written, and counted when somebody looks

    def __getitem__(self, name: str) -> ThreadRow:
        self._count()
        row = self._rows[self._names[name]]
        return ThreadRow(row.name, row.last, row.origin, row.created, row.settings, row.alias)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def get(self, name: str) -> ThreadRow | None:
        return self[name] if name in self._names else None

    def __iter__(self) -> Iterator[ThreadRow]:
        return map(self.__getitem__, list(self._rows))

    def name_of(self, name: str) -> str | None:
        """The name under which the thread was made."""
        return self._names.get(name)

    def forks(self, name: str) -> list[str]:
        return list(self._forks.get(name, ()))

    def begin(self, row: ThreadRow) -> Undo:
        self._count()
        last = row.origin.seq if row.origin else 0
        listed = ListedThread(row.name, last, row.origin, row.created, row.settings, at=row.created)
        put = self._put(listed, [(row.name, 0, "thread", row.created)], is_activity=True)
        return self._name(row.name, row.name, put)

    def note(self, name: str, written: Sequence[Sealed]) -> None:
        """Something was written that nobody will take back; it is counted with others."""
        self._waiting.append((name, written))
        if len(self._waiting) >= _MOST_WAITING:
            self._count()

    def _count(self) -> None:
        """Count what waits, appends to one thread that follow each other together."""
        waiting, self._waiting = self._waiting, []
        for name, group in groupby(waiting, key=itemgetter(0)):
            self.take(name, [entry for _, written in group for entry in written])

    def take(self, name: str, written: Sequence[Sealed]) -> Undo:
        """Count what was just written."""
        if self._waiting:
            self._count()
        row, newest = self._rows[name], written[-1]
        messages, folds, size = counted((entry.stored, entry.body) for entry in written)
        listed = replace(
            row,
            last=newest.seq,
            at=newest.at,
            messages=row.messages + messages,
            folds=row.folds + folds,
            size=row.size + size,
            is_forgotten=False,
        )
        happened = [(name, entry.seq, stored_kind(entry.stored), entry.at) for entry in written]
        return self._put(listed, happened, is_activity=True)

    def forget(self, name: str, erased: int | None) -> Undo:
        """So many bytes were erased; None for everything."""
        self._count()
        row = self._rows[name]
        if erased is None:
            return self._tell(replace(row, messages=0, folds=0, size=0, is_forgotten=True))
        return self._tell(replace(row, size=max(0, row.size - erased)))

    def rename(self, name: str, to: str) -> Undo:
        if self._names.get(to, name) != name:
            raise name_taken(to)
        self._count()
        put = self._tell(replace(self._rows[name], alias="" if to == name else to))
        return put if to in self._names else self._name(to, name, put)

    def archive(self, name: str, is_archived: bool) -> Undo:
        self._count()
        return self._tell(replace(self._rows[name], is_archived=is_archived))

    def _name(self, new: str, name: str, before: Undo) -> Undo:
        """Let another name lead to the thread; taken back together with what was done before."""
        self._names[new] = name

        def take_back() -> None:
            del self._names[new]
            before()

        return take_back

    def _tell(self, row: ListedThread) -> Undo:
        return self._put(row, [(row.name, 0, "thread", row.at)])

    def _put(
        self, row: ListedThread, happened: Sequence[tuple[str, int, str, float]], *, is_activity: bool = False
    ) -> Undo:
        length, before = len(self._happened), self._rows.get(row.name)
        self._happened += happened
        self._set(row.name, replace(row, changed=len(self._happened)) if is_activity else row)

        def take_back() -> None:
            del self._happened[length:]
            self._set(row.name, before)

        return take_back

    def _set(self, name: str, row: ListedThread | None) -> None:
        before = self._rows.get(name)
        if before is not None:
            del self._titles[bisect_left(self._titles, (_order(before), name))]
            del self._changed[bisect_left(self._changed, before.changed)], self._by_change[before.changed]
        elif row is not None and row.origin is not None:
            self._forks.setdefault(row.origin.thread, []).append(name)
        if row is None:
            origin = self._rows.pop(name).origin
            if origin is not None:
                self._forks[origin.thread].remove(name)
            return
        self._rows[name] = row
        insort(self._titles, (_order(row), name))
        insort(self._changed, row.changed)
        self._by_change[row.changed] = name

    def page(self, page: ThreadPage) -> list[ListedThread]:
        self._count()
        wanted = (
            row
            for row in map(self._rows.__getitem__, self._in_order(page))
            if page.archived in (None, row.is_archived) and row.title.startswith(page.prefix)
        )
        return list(islice(wanted, page.limit))

    def _in_order(self, page: ThreadPage) -> Iterable[str]:
        match page.order, page.after:
            case "created", None:
                return list(self._rows)
            case "activity", None | int():
                stop = len(self._changed) if page.after is None else bisect_left(self._changed, int(page.after))
                return (self._by_change[self._changed[place]] for place in range(stop - 1, -1, -1))
            case "name", None | str():
                return self._by_title(page.prefix, page.after)
            case _:
                raise bad_page(page)

    def _by_title(self, prefix: str, after: object) -> Iterator[str]:
        start = bisect_left(self._titles, (_bytes(prefix), ""))
        if after is not None:
            start = max(start, bisect_right(self._titles, (_bytes(str(after)), "\U0010ffff")))
        for title, name in islice(self._titles, start, None):
            if not title.startswith(_bytes(prefix)):
                return
            yield name

    def changes(self, after: int, limit: int | None) -> list[ThreadChange]:
        self._count()
        stop = None if limit is None else after + limit
        return [
            ThreadChange(cursor, self._rows[name].title, seq, kind, at)
            for cursor, (name, seq, kind, at) in enumerate(self._happened[after:stop], after + 1)
        ]


def _order(row: ListedThread) -> bytes:
    return _bytes(row.title)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
