"""Store, what `contextfold.open` returns: an event log, and the threads in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from contextfold import logs, models, tokens, transcripts
from contextfold.domain import (
    INTERRUPTED,
    LATE,
    Attached,
    Counter,
    Folded,
    Logged,
    Measure,
    Message,
    Noted,
    Origin,
    Problem,
    Text,
    ThreadRow,
    Words,
)
from contextfold.errors import BadConfiguration, NotFound
from contextfold.thread import Stretch, Thread, locked
from contextfold.thread.live import Live, ProcessLock

from .snapshots_named import snapshots_in
from .taking import take


def open(path: str | os.PathLike[str] | None = None, *, space: str = "default") -> Store:
    """Open a store, made on first use: a SQLite file (mode 0600), or memory when no path is given."""
    if path is None or os.fspath(path) == ":memory:":
        return Store(logs.MemoryLog())
    return Store(logs.open_sqlite(path, space=space))


class Store:
    """All threads of one space in one file."""

    def __init__(self, log: logs.SealedLog, *, clock: Callable[[], float] = time.time) -> None:
        self._log, self._clock = log, clock
        self._live: dict[str, Live] = {}
        self._lock: AbstractContextManager[object] = ProcessLock()

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
        self._log.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Appends inside share one commit; each is durable when the batch ends. If it fails, none happened."""
        try:
            with self._lock, self._log.batch():  # in this order, as every verb takes them
                yield
        except BaseException:
            for live in self._live.values():
                live.start_over()
            raise

    @locked
    def thread(self, name: str, *, model: str | None = None, parent: str | None = None) -> Thread:
        """The thread of this name, created or continued. Without a model, the one it was created with.

        `parent` names the thread whose work this one does: a sub-agent's.
        """
        settings = _settings(model=model, parent=parent)
        row = self._log.create(ThreadRow(name, created=self._clock(), settings=settings))
        return self._hold(row, model)

    @locked
    def threads(self) -> Sequence[ThreadRow]:
        """Every thread here: name, newest seq, origin, when it was created."""
        return self._log.threads()

    @locked
    def verify(self) -> list[Problem]:
        """Everything that does not verify; empty when sound."""
        return self._log.verify()

    @locked
    def forget(self, thread: str, seq: int | None = None) -> int:
        """Erase a message and every stand-in made from it, or a whole thread, for good; how many bodies were erased.

        Forks share their origin's messages, so they are searched too. The chain still verifies what remains. With a
        thread go the snapshots of workspaces that only its checkpoints name.
        """
        if self._row(thread) is None:
            raise NotFound(
                f"There is no thread {thread!r} here. Known threads: {[row.name for row in self.threads()]}."
            )
        erased = 0
        for name in self._descent(thread):
            live = self._live_thread(name)
            erased += self._log.forget(name, _bodies_about(live, thread, seq))
            live.forget()
        if seq is None:
            self._forget_snapshots(thread)
        return erased

    def _forget_snapshots(self, thread: str) -> None:
        """A snapshot that cannot be reached is told to whoever runs this: it is there as long as its directory is."""
        kept = {each for row in self.threads() if row.name != thread for each in snapshots_in(self._log.read(row.name))}
        for each in snapshots_in(self._log.read(thread)) - kept:
            each.forget()

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
            return self.thread(logs.import_thread(self._log, Path(path), name))
        task = transcripts.read_task(Path(path))
        chosen = name or Path(path).name
        if self._row(chosen) is not None:
            raise BadConfiguration(f"There is a thread {chosen!r} already. Import the task under another name.")
        thread = self.thread(chosen)
        with self.batch():
            take(thread, task)
        return thread

    def _row(self, name: str) -> ThreadRow | None:
        return next((row for row in self._log.threads() if row.name == name), None)

    def _hold(self, row: ThreadRow, model: str | None) -> Thread:
        chosen = models.find(model or row.settings.get("model", ""))
        counter = tokens.counter_for(chosen)
        live = self._live_thread(row.name, counter)
        return Thread(live, chosen, counter, self._clock, lambda: self._sync(live), self._lock, self._fork)

    def _live_thread(self, name: str, counter: Counter | None = None) -> Live:
        if name not in self._live:
            row = self._row(name) or ThreadRow(name)
            self._live[name] = Live(self._log, row, self._lineage(row), _words(counter or tokens.counter_for(None)))
        return self._live[name]

    def _lineage(self, row: ThreadRow) -> list[Stretch]:
        """The threads a thread's events live in, the oldest first, itself last."""
        stretches = [Stretch(row.name, None)]
        while row.origin is not None:
            later = stretches[0].upto  # a fork of a fork may be cut before the fork itself
            upto = row.origin.seq if later is None else min(row.origin.seq, later)
            stretches.insert(0, Stretch(row.origin.thread, upto))
            row = self._row(row.origin.thread) or ThreadRow(row.origin.thread)
        return stretches

    def _descent(self, name: str) -> list[str]:
        """A thread and every fork that comes from it, forks of forks included."""
        names = [name]
        for each in names:
            names += [row.name for row in self._log.threads() if row.origin is not None and row.origin.thread == each]
        return names

    def _sync(self, live: Live) -> None:
        """Take what other processes wrote, if anybody did."""
        if not self._log.is_current():
            for each in self._live.values():
                each.suspect()
        live.catch_up_if_behind()

    def _fork(self, thread: Thread, at: int, name: str | None) -> Thread:
        origin = Origin(thread.name, at)
        row = ThreadRow(
            name or self._free_name(thread.name), at, origin, self._clock(), _settings(model=thread.model.name)
        )
        if name is not None and self._row(name) is not None:
            raise BadConfiguration(f"There is a thread {name!r} already. Choose another name for the fork.")
        row = self._log.create(row)
        origin_live = self._live_thread(thread.name)
        self._live[row.name] = Live(self._log, row, self._lineage(row), origin_live.words, origin_live.projection)
        return self._hold(row, None)

    def _free_name(self, name: str) -> str:
        taken = {row.name for row in self._log.threads()}
        return next(free for number in range(1, len(taken) + 2) if (free := f"{name}/fork-{number}") not in taken)


def _settings(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def _words(counter: Counter) -> Words:
    """The weights of the fixed words a view may add, by the counter of whoever opens the thread first."""

    def weigh(text: str) -> Measure:
        return counter.shape(Message("user", (Text(text),))).blocks[0].measure

    return Words(weigh(INTERRUPTED), weigh(LATE))


def _bodies_about(live: Live, thread: str, seq: int | None) -> list[int] | None:
    """The seqs of a thread's own events that hold a message or something made from it; None for all."""
    is_own = live.row.name == thread
    if seq is None and is_own:
        return None
    about = [logged.seq for logged in live.log.read(live.row.name) if _tells(logged, seq)]
    return [seq, *about] if is_own and seq is not None else about


def _tells(logged: Logged, seq: int | None) -> bool:
    """Whether a stand-in, note or attachment may repeat what the message said: anything derived after it may."""
    derived = isinstance(logged.event, Folded | Attached | Noted)
    return derived and (seq is None or logged.seq > seq)
