"""Threads in memory: each with its projection, kept in step with the log, whoever else writes to it.

Writing is optimistic: drafts are made for the head we know, and made again when somebody was faster. The projection
takes only what the log has acknowledged. A thread is in memory once, however many hold it. Of those that nobody holds,
the ones used last stay as long as there is room, counted in bytes; the others leave, and are read from the log when
they are asked for.

A store is used by one Python thread at a time. A commit that waits for the disk brings everything before it there, so
whoever writes while another waits to write leaves the disk to that one, lets go of the store, and answers once it is
told that its words are there: several Python threads share the wait, and one alone waits as before.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from threading import Condition, Lock, RLock, get_ident
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

from contextfold import dialects
from contextfold.domain import (
    Attached,
    DeferringLog,
    DistantLog,
    EventLog,
    Folded,
    Logged,
    NewEvent,
    Noted,
    Projection,
    Sent,
    ThreadRow,
    Words,
)
from contextfold.errors import Conflict, Corrupt, KeyConflict, StoreError

from .lens import Bodies, LogStretch
from .request_bytes import Rendering
from .timeline import FoldList, Timeline

MOST_TRIES = 1000  # each lost race means that somebody else made progress
_LOST_RACES = 3  # after which a log on another machine is asked to keep the others waiting

EVENT_BYTES = 1_500  # what an event takes in a projection, measured over recorded sessions

MOST_SHARED: Final = 16  # writes that wait for the disk together: beyond, each would wait longer than it saves
PATIENCE: Final = 0.05  # seconds after which whoever left the disk to another goes there itself

Drafting = Callable[[Projection], Sequence[NewEvent]]
_REPEATING = (Folded, Attached, Noted)  # words of others

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class ProcessLock:
    """A lock for the Python threads of one process; a forked one is refused instead of waiting for nobody."""

    def __init__(self, deferring: DeferringLog | None = None, patience: float = PATIENCE) -> None:
        self._lock, self._process = RLock(), os.getpid()
        self._owner, self._depth = 0, 0
        self._deferring, self._patience = deferring, patience
        self._told, self._counted = Condition(), Lock()
        self.waiting = 0  # how many wait to write
        self._left = self._durable = 0  # writes that left the disk to another, and how many of them are there

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            raise StoreError("This store was opened by the process this one was forked from. Open the store here.")
        self._lock.acquire()
        self._owner, self._depth = get_ident(), self._depth + 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._lock.release()

    def write(self, work: Callable[[], T]) -> T:
        """Do work that writes. What it wrote is on the disk when this returns, unless the caller need not know."""
        return work() if self._owner == get_ident() else self.write_first(work, lambda written: written)

    def write_first(self, work: Callable[[], S], then: Callable[[S], T]) -> T:
        """Do work that writes, and then what follows from it, once it is on the disk: mostly one use of the store."""
        log = self._deferring
        if log is None or log.is_deferring or self._owner == get_ident():  # inside a batch, or a longer verb
            with self:
                return then(work())
        return self._write_in_turn(log, work, then)

    def _write_in_turn(self, log: DeferringLog, work: Callable[[], S], then: Callable[[S], T]) -> T:
        """Whoever has somebody behind it leaves the disk to that one, and goes on once it is told."""
        with self._counted:
            self.waiting += 1
        is_next = True
        try:
            with self:
                is_next = False
                with self._counted:
                    self.waiting -= 1
                    is_shared = self.waiting > 0 and self._left - self._durable < MOST_SHARED
                if not is_shared:
                    try:
                        written = work()
                    finally:
                        self._settle(log)
                    return then(written)
                with log.deferring():
                    written = work()
                self._left = place = self._left + 1
        finally:
            if is_next:  # an interrupt ended the waiting
                with self._counted:
                    self.waiting -= 1
        self._wait(log, place)
        with self:
            return then(written)

    def _settle(self, log: DeferringLog) -> None:
        """Have on the disk what was left to us, though our own write may have failed, or had nothing to write."""
        left = self._left
        if self._durable < left:
            log.flush()
            with self._told:
                self._durable = max(self._durable, left)
                self._told.notify_all()

    def _wait(self, log: DeferringLog, place: int) -> None:
        """Until what was left at this place is on the disk; an error of the disk is ours too."""
        with self._told:
            is_there = self._told.wait_for(lambda: self._durable >= place, self._patience)
        if not is_there:  # whoever is next was interrupted, or somebody keeps the store for long
            self._settle(log)


class Lockable(Protocol):
    @property
    def _lock(self) -> AbstractContextManager[Any]: ...


L = TypeVar("L", bound=Lockable)


def locked(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """The method, run while nobody else runs one of this store's."""

    @wraps(method)
    def alone(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Live:
    """One thread's projection and bodies, shared by everybody in this process who holds the thread."""

    def __init__(
        self,
        log: EventLog,
        row: ThreadRow,
        lineage: Sequence[LogStretch],
        words: Words,
        origin: Projection | None = None,
        *,
        twin: Projection | None = None,
    ) -> None:
        self.log, self.row, self.lineage, self.words = log, row, tuple(lineage), words
        self.bodies = Bodies(log, lineage)
        self._is_behind = False  # somebody else may have written since we last looked
        self._is_torn = False  # an event was taken by half
        self._erasures = self.bodies.erasures
        self._looked = 0  # the store's look at the log that this one has caught up with
        self._written: Callable[[Live], None] | None = None  # told after each write, since it grew
        self.timeline, self.fold_list = Timeline(), FoldList()
        self.renderings: dict[tuple[str, str, bool], Rendering] = {}
        if twin is not None:  # of somebody who has read everything already
            self.projection = twin
            return
        self.projection = Projection(words) if origin is None or row.origin is None else origin.fork(row.origin.seq)
        if origin is None and row.origin is not None:
            self._begin_at(row.origin.seq)
        self.catch_up()

    @property
    def names(self) -> list[str]:
        """The threads of the log that its events live in, itself last."""
        return [stretch.thread for stretch in self.lineage]

    @property
    def size(self) -> int:
        """How many bytes of memory it takes, about."""
        rendered = sum([rendering.size for rendering in self.renderings.values()])
        return EVENT_BYTES * (1 + len(self.projection.events)) + self.bodies.size + rendered

    def start_over(self) -> None:
        """Read the thread again from the log: what was taken since may never have been written, or was forgotten."""
        self.forget()
        self._is_torn, self.projection = False, Projection(self.words)
        self._erasures = self.bodies.erasures
        if self.row.origin is not None:
            self._begin_at(self.row.origin.seq)
        self.catch_up()

    def _begin_at(self, seq: int) -> None:
        try:
            self.projection.begin_at(Bodies(self.log, self.lineage[:-1]).events(), seq)
        except (LookupError, AssertionError) as error:
            raise self._impossible(seq) from error

    def catch_up(self) -> None:
        """Take what others wrote."""
        if self._is_torn or self._erasures != self.bodies.erasures:
            self.start_over()
            return
        for logged in self.log.read(self.row.name, after=self.projection.last):
            self._project(logged)
        self._is_behind = False

    def doubt(self) -> None:
        """What was taken may never have been written: read the thread again when it is used next."""
        self._is_torn = self._is_behind = True

    def stands_at(self, last: int, erasures: int) -> bool:
        """Whether it has taken all that the log holds by now."""
        return not self._is_torn and (self.projection.last, self._erasures) == (last, erasures)

    def join(self, looks: int, written: Callable[[Live], None]) -> None:
        """Be held by a store that has looked at the log so often, and wants to be told of each write."""
        self._looked, self._written = looks, written

    def rename(self, row: ThreadRow) -> None:
        """The log knows it by another row."""
        self.row = row

    def catch_up_to(self, looks: int) -> None:
        """Take what others wrote, if a look at the log found that somebody did since this one's last."""
        if self._is_behind or self._looked != looks:
            self._looked = looks
            standing = None if self._is_behind else self.bodies.standing  # mostly the others wrote to other threads
            if standing is None or not self.stands_at(*standing):
                self.catch_up()

    def _project(self, logged: Logged) -> None:
        """Take one event, whole: an interrupt in the middle of it leaves a projection that must be made anew."""
        try:
            self.projection.take(logged)
        except (LookupError, AssertionError) as error:
            self._is_torn = self._is_behind = True
            raise self._impossible(logged.seq) from error
        except BaseException:
            self._is_torn = self._is_behind = True
            raise

    def _impossible(self, seq: int) -> Corrupt:
        """What no thread of ours can hold, such as a fold of messages that were never there."""
        name = self.row.name
        told = f"Event {seq} of thread {name!r} cannot have happened where it stands. Run `contextfold verify`."
        return Corrupt(told, thread=name, seq=seq)

    def rendering(self, dialect: str, model: str, binds: bool = False) -> Rendering:
        """The bytes of this thread's views in one dialect, for one model; `binds` where it checks its reasoning."""
        key = dialect, model, binds
        if key not in self.renderings:
            self.renderings[key] = Rendering(dialects.find(dialect), model, binds)
        return self.renderings[key]

    def forget(self) -> None:
        """Something was forgotten: keep no words of it in memory."""
        self.bodies.drop()
        self.renderings.clear()
        self.fold_list = FoldList()

    def write(
        self, drafting: Drafting, *, expected: int | None = None, blobs: Sequence[bytes] = ()
    ) -> tuple[Logged, ...]:
        """Write what `drafting` makes of the thread as it is; with `expected`, only on that head."""
        for tried in range(MOST_TRIES):
            if self._is_torn:
                self.start_over()
            if expected is not None and self.projection.head != expected:
                break
            try:
                if tried < _LOST_RACES or not isinstance(self.log, DistantLog):
                    drafts, logged = self._attempt(drafting, blobs)
                else:  # whoever is far from the server would lose every race, so it has a turn
                    drafts, logged = self.log.in_turn(self.row.name, lambda: self._attempt(drafting, blobs, look=True))
            except KeyConflict:
                raise
            except Conflict:
                self.catch_up()
                continue
            self._take(logged, drafts)
            if self._written is not None:
                self._written(self)
            return logged
        raise Conflict(
            f"Thread {self.row.name!r} moved on: its head is {self.projection.head}, not {expected}. Look again.",
            expected=expected or 0,
            actual=self.projection.head,
        )

    def _attempt(
        self, drafting: Drafting, blobs: Sequence[bytes], *, look: bool = False
    ) -> tuple[Sequence[NewEvent], tuple[Logged, ...]]:
        """Write what is drafted now.

        What repeats words of others is written only if none were forgotten since the thread was read, by anybody.
        """
        if look:
            self.catch_up()
        drafts = drafting(self.projection)
        name, last = self.row.name, len(self.projection.events)
        for draft in drafts:
            if isinstance(draft.event, _REPEATING) or (draft.body and isinstance(draft.event, Sent)):
                break
        else:
            return drafts, self.log.append(name, drafts, expected=last, blobs=blobs)
        with self.log.batch():
            logged = self.log.append(name, drafts, expected=last, blobs=blobs)
            if self._erasures != self.bodies.erasures:  # known for sure only now that nobody else can write
                raise Conflict(f"Something in thread {name!r} was forgotten. Look again.", expected=last, actual=last)
            return drafts, logged

    def _take(self, logged: Sequence[Logged], drafts: Sequence[NewEvent]) -> None:
        last = len(self.projection.events)
        if logged and logged[0].seq != last + 1:
            if logged[-1].seq > last:  # else a retry: the key was used before, nothing new was written
                self.catch_up()
            return
        for entry, draft in zip(logged, drafts, strict=True):
            self._project(entry)
            if draft.body:
                self.bodies.keep(entry.seq, draft.body)


KEPT_BYTES: Final = 128 * 2**20


class LiveThreads:
    """Threads by the name they were made under."""

    def __init__(self, room: int = KEPT_BYTES) -> None:
        self.room, self._size = room, 0
        self._all: WeakValueDictionary[str, Live] = WeakValueDictionary()
        self._kept: OrderedDict[str, tuple[Live, int]] = OrderedDict()  # the one used last stands last
        self._newest: Live | None = None  # that one

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._all.values()))

    @property
    def size(self) -> int:
        """Bytes of the threads kept here, about."""
        return self._size

    def get(self, name: str) -> Live | None:
        return self._all.get(name)

    def use(self, live: Live, *, has_grown: bool = True) -> None:
        """This one is used: it is the last to leave. Whatever there is no room for is let go."""
        newest = self._newest
        if newest is not live:
            if newest is not None:
                self._weigh(newest)  # it has grown by what was done with it since
            self._all[live.row.name] = self._newest = live
            self._weigh(live)
            self._kept.move_to_end(live.row.name)
        elif has_grown:
            self._weigh(live)
        while self._size > self.room:
            _, (oldest, least) = self._kept.popitem(last=False)
            self._size -= least
            if oldest is self._newest:
                self._newest = None

    def _weigh(self, live: Live) -> None:
        name, size, kept = live.row.name, live.size, self._kept
        self._size += size - (kept[name][1] if name in kept else 0)
        kept[name] = live, size

    def drop(self, live: Live) -> None:
        """Know nothing of it any longer."""
        name = live.row.name
        self._all.pop(name, None)
        self._size -= self._kept.pop(name, (live, 0))[1]
        if self._newest is live:
            self._newest = None

    def clear(self) -> None:
        self._all.clear()
        self._kept.clear()
        self._size, self._newest = 0, None
