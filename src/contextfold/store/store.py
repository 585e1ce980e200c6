"""Store, what `contextfold.open` returns: an event log, and the threads in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from contextfold import logs, models, tokens
from contextfold.deferred import deferred
from contextfold.domain import (
    Counter,
    DeferringLog,
    DistantLog,
    ListedThread,
    Origin,
    Problem,
    ThreadChange,
    ThreadOrder,
    ThreadPage,
    ThreadRow,
)
from contextfold.errors import BadConfiguration, ContextFoldError, Corrupt, NotFound
from contextfold.recall import Passage, VectorIndex
from contextfold.thread import ProcessLock, Thread, locked
from contextfold.thread.lens import words_for
from contextfold.thread.live import KEPT_BYTES, Live, LiveThreads
from contextfold.thread.moves import next_fork_name

from .belongings import NamedArtifact, artifacts_in, erase, forget_unnamed, snapshots_in, snapshots_of
from .far import in_turn, one_look
from .library import Library, descent, lineage
from .memory import MEMORIES, Memory, Scope, memories_from
from .recollection import Recollection, recalled_anywhere
from .thread_end import ThreadEnd, read_end

if TYPE_CHECKING:
    from contextfold import transcripts

    from . import takeover
else:
    transcripts, takeover = deferred("contextfold.transcripts"), deferred("contextfold.store.takeover")

Done = TypeVar("Done")
_MOST_NAMES = 10  # in an error


class Store:
    """All threads of one space in one file."""

    def __init__(
        self,
        log: logs.SealedLog,
        *,
        clock: Callable[[], float] = time.time,
        keep_bytes: int = KEPT_BYTES,
        vectors: VectorIndex | None = None,
    ) -> None:
        self._log, self._clock = log, clock
        self.distant = log if isinstance(log, DistantLog) else None
        self.deferring = log if isinstance(log, DeferringLog) else None
        self._live = LiveThreads(keep_bytes)
        self._library = Library(log, vectors)
        self._looks = 0  # how often others were seen to have written; a thread catches up when it is used next
        self._lock = ProcessLock(self.deferring)

    def __repr__(self) -> str:
        return f"<Store of {len(self.threads())} threads>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @locked
    def close(self) -> None:
        """Let go of the file. Everything acknowledged is already on disk."""
        self._live.clear()
        self._library.close()
        self._log.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Appends inside share one commit; each is durable when the batch ends. If it fails, none happened."""
        try:
            with self._lock, self._log.batch():  # in this order, as every verb takes them
                yield
        except BaseException:
            self._start_all_over()
            raise

    def flush(self) -> None:
        """Have on the disk whatever was appended with `durable=False`; costs nothing where there is nothing."""
        if self.deferring is not None:
            self.deferring.flush()

    @locked
    def heartbeat(self, *, room: int = 0) -> None:
        """Commit a write that says nothing, or raise what stands in the way of every write.

        With `room`, it also fails where so many bytes more find no place.
        """
        self._log.heartbeat(room=room)

    def _start_all_over(self) -> None:
        for live in self._live:
            self._start_over(live)

    def _start_over(self, live: Live) -> None:
        if self.distant is not None:
            live.doubt()  # every look is a trip: only what is used again is read again
        elif self._log.row(live.row.name) is None:
            self._live.drop(live)  # made in the batch that failed
        else:
            live.start_over()

    @locked
    def thread(self, name: str, *, model: str | None = None, parent: str | None = None) -> Thread:
        """The thread of this name, created or continued. Without a model, the one it was created with.

        `parent` names the thread whose work this one does: a sub-agent's.
        """
        settings = _settings(model=model, parent=parent)
        with one_look(self.distant):
            row = self._log.create(ThreadRow(name, created=self._clock(), settings=settings))
            return self._hold(row, model)

    @locked
    def threads(
        self,
        *,
        after: str | int | None = None,
        limit: int | None = None,
        order: ThreadOrder = "created",
        prefix: str = "",
        archived: bool | None = None,
    ) -> Sequence[ListedThread]:
        """The threads here, or a page of them: last activity, model, messages, folds, size, whether put away.

        By "activity" the newest come first. The next page begins `after` the last row's `title`, or by activity after
        its `changed`. No thread comes twice; one that is written to meanwhile may move before the page, and is then in
        `changes(after=)` the first row's `changed`. `archived` asks for threads that are put away, or are not.
        """
        return self._log.page(ThreadPage(order, after, limit, prefix, archived))

    @locked
    def spaces(self) -> Sequence[str]:
        """The spaces of the file that hold threads, in the order they were made; none in memory."""
        log = self._log if isinstance(self._log, logs.SqliteLog) else self.distant
        return () if log is None else log.spaces()

    @locked
    def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        """What happened after a cursor, oldest first, whoever did it: every event, and what became of whole threads.

        Each change has its `cursor`, which holds for good: also after opening again, also in another process.
        """
        return self._log.changes(after=after, limit=limit)

    @locked
    def rename(self, thread: str, to: str) -> None:
        """Call a thread by another name. The names it had before still lead to it, so nobody writes beside it."""
        if not to:
            raise BadConfiguration("A thread cannot be renamed to nothing. Give it a name.")
        row = self._known(thread)
        self._log.rename(row.name, to)
        live = self._live.get(row.name)
        if live is not None:
            live.rename(self._known(row.name))

    @locked
    def archive(self, thread: str) -> None:
        """Put a thread away: `threads(archived=False)` leaves it out, and everything else goes on as before."""
        self._log.archive(self._known(thread).name, True)

    @locked
    def unarchive(self, thread: str) -> None:
        """List a thread among the others again."""
        self._log.archive(self._known(thread).name, False)

    @locked
    def __contains__(self, thread: str) -> bool:
        """Whether there is a thread of this name, or one that had it."""
        return self._log.row(thread) is not None

    @locked
    def verify(self) -> list[Problem]:
        """Everything that does not verify; empty when sound."""
        return self._log.verify()

    @locked
    def recall(
        self,
        question: str,
        thread: str | None = None,
        *,
        budget: int = 2_000,
        only_folded: bool = False,
        everywhere: bool = False,
    ) -> Sequence[Passage]:
        """What a thread, or all of them, hold that answers a question: passages within a budget of tokens, in order.

        With `only_folded`, without what its view shows anyway; with `everywhere`, also what a rewind left behind.
        """
        if thread is None:
            names = [row.name for row in self._log.threads() if not row.name.startswith(MEMORIES)]
            return recalled_anywhere(self._library, names, self._held, question, budget, everywhere=everywhere)
        past = self._recollection(thread)
        return past.about(question, budget=budget, only_folded=only_folded, everywhere=everywhere)

    def _recollection(self, thread: str) -> Recollection:
        return Recollection(self._library, self._held(thread), lineage(self._log, self._known(thread)))

    def _held(self, thread: str) -> Thread:
        held = self._hold(self._known(thread), None)
        held.catch_up()
        return held

    @locked
    def reindex(self) -> None:
        """Make the index of everything said anew. Needed only where something else than contextfold changed it."""
        self._library.reindex()

    @locked
    def memory(self, name: str, *, scope: Scope = "user") -> Memory:
        """What is remembered across threads about a user, a project or an agent; made on first use."""
        return Memory(self, self._library, name, scope, clock=self._clock, made_as=lambda each: self._known(each).name)

    @locked
    def forget(self, thread: str, seq: int | None = None) -> int:
        """Erase a message and every stand-in made from it, or a whole thread, for good; how many bodies were erased.

        Forks share their origin's messages, so they are searched too. The chain still verifies what remains. Tools'
        names, call ids, keys and details go with a message, the files of outputs that were put aside, and what is known
        of requests that may have shown it; with a thread go the snapshots that only its checkpoints name.
        """
        made_as = self._known(thread).name
        related = descent(self._log, made_as)
        # What events name elsewhere is known only as long as they do.
        snapshots = snapshots_of(self._live_thread(made_as)) if seq is None else set()
        artifacts: set[NamedArtifact] = set()
        erased = 0
        for name in related:
            live = self._live_thread(name)
            bodies, files = erase(self._log, live, made_as, seq)
            erased, artifacts = erased + bodies, artifacts | files
            live.start_over()
        for name in () if made_as.startswith(MEMORIES) else related:
            origin = self._known(name).origin
            upto = origin.seq if origin is not None and name != made_as else None  # what a fork shares
            for memory, number in memories_from(self._log, name, seq, upto):
                erased += self.forget(memory, number)
        self._library.forget()
        forget_unnamed(self._log, made_as, snapshots, snapshots_in)
        forget_unnamed(self._log, "", artifacts, artifacts_in)
        return erased

    @locked
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the live store consistently and verify the copy."""
        if not isinstance(self._log, logs.SqliteLog):
            raise BadConfiguration("Only a store in a file can be backed up. Export its threads instead.")
        self._log.backup(path)

    @locked
    def export(self, thread: str, path: str | os.PathLike[str]) -> None:
        """Write a thread as JSON lines: every event with its exact bytes, and its chain."""
        logs.export_thread(self._log, thread, Path(path))

    @locked
    def import_(self, path: str | os.PathLike[str], *, name: str | None = None) -> Thread:
        """Read a thread back from JSON lines, its chain verified, under its own name or another.

        A directory is a task of Roo Code: its messages are said again, and what it hid is folded.
        """
        if not Path(path).is_dir():
            return self._import_lines(Path(path), name)
        task = transcripts.read_task(Path(path))
        chosen = name or Path(path).name
        if self._log.row(chosen) is not None:
            raise BadConfiguration(f"There is a thread {chosen!r} already. Import the task under another name.")
        thread = self.thread(chosen)
        with self.batch():
            takeover.take_task(thread, task)
        return thread

    def _import_lines(self, path: Path, name: str | None) -> Thread:
        """All or nothing, looked at whole before it is kept: a forged file may be sealed like any other."""
        try:
            with self.batch():
                thread = self.thread(logs.import_thread(self._log, path, name, takeover.outline_for))
                thread.body()
                thread.view.count  # noqa: B018  # raises where something cannot be counted
        except (ContextFoldError, OSError):
            raise
        except Exception as error:
            told = f"{path} cannot be shown as a thread ({type(error).__name__}: {error})."
            raise Corrupt(f"{told} Nothing was imported; export it again.") from error
        return thread

    def _known(self, thread: str) -> ThreadRow:
        row = self._log.row(thread)
        if row is None:
            newest = [row.title for row in self._log.page(ThreadPage("activity", limit=_MOST_NAMES))]
            raise NotFound(f"There is no thread {thread!r} here. Those used last are {newest}.")
        return row

    def _hold(self, row: ThreadRow, model: str | None) -> Thread:
        chosen = models.find(model or row.settings.get("model", ""))
        counter = tokens.counter_for(chosen)
        live = self._live_thread(row.name, counter, row)
        live.rename(row)  # somebody may have
        return Thread(live, chosen, counter, self._clock, partial(self._sync, live), self._lock, self._fork)

    def _live_thread(self, name: str, counter: Counter | None = None, row: ThreadRow | None = None) -> Live:
        live = self._live.get(name)
        if live is None:
            row = row or self._log.row(name) or ThreadRow(name)
            live = Live(self._log, row, lineage(self._log, row), words_for(counter or tokens.counter_for(None)))
            self._enter(live)
        self._live.use(live)
        return live

    def _enter(self, live: Live) -> None:
        live.join(self._looks, self._live.use)
        self._live.use(live)

    def _sync(self, live: Live) -> None:
        """Take what other processes wrote to this thread, if anybody wrote; no other thread is looked at."""
        if self.distant is not None:
            if not live.stands_at(*self.distant.standing(live.names)):
                live.catch_up()
        elif not self._log.is_current():
            self._looks += 1
        live.catch_up_to(self._looks)
        self._live.use(live, has_grown=False)

    def _fork(self, thread: Thread, at: int, name: str | None) -> Thread:
        if name is not None and self._log.row(name) is not None:
            raise BadConfiguration(f"There is a thread {name!r} already. Choose another name for the fork.")
        origin = self._live_thread(self._known(thread.name).name)
        settings = _settings(model=thread.model.name)
        new = ThreadRow(
            name or next_fork_name(self._log, thread.name), at, Origin(origin.row.name, at), self._clock(), settings
        )
        row = self._log.create(new)
        live = Live(self._log, row, lineage(self._log, row), origin.words, origin.projection)
        self._enter(live)
        return self._hold(row, None)


def past_of(store: Store, thread: str) -> Recollection:
    """A thread's past, to be asked about as it stands now."""
    with store._lock:  # noqa: SLF001  # a part of the store that is no verb of its users
        return store._recollection(thread)  # noqa: SLF001


def beside(store: Store) -> tuple[Store, LiveThreads]:
    """Another one over the same log, with a lock of its own, and the threads it holds; only the first is closed."""
    other = Store(store._log, clock=store._clock, keep_bytes=store._live.room)  # noqa: SLF001  # of its own kind
    return other, other._live  # noqa: SLF001


def exclusively(store: Store, thread: str, work: Callable[[], Done]) -> Done:
    """Work on one thread in one commit while no process else writes to it; it may be done again from the start."""
    with store._lock:  # noqa: SLF001  # the same room
        return in_turn(store._log, thread, work, store._start_all_over)  # noqa: SLF001  # the same


def end_of(store: Store, thread: str, events: int) -> ThreadEnd:
    """The newest so many events of a thread, at the cost of these."""
    with store._lock:  # noqa: SLF001  # as above
        return read_end(store._log, store._known(thread), events, store._clock, store._lock)  # noqa: SLF001


def _settings(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}
