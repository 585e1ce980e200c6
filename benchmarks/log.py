"""The log: what a durable append costs beside the bare commit it needs, and how large the file gets.

Appends and bare commits take turns, one by one, in one process on one disk, both in WAL mode with synchronous=FULL.
Fsyncs are counted by a VFS in a run of their own, because counting costs more than what it counts.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from statistics import median

import apsw

import contextfold as cf
from benchmarks.frame import Row, at_most, reported
from contextfold.domain import (
    GENESIS,
    Appended,
    BlockShape,
    Measure,
    NewEvent,
    Shape,
    ThreadRow,
    commitment,
    encode,
    link,
)
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.logs.sqlite.schema import PAGE_SIZE
from contextfold.testing import histories

MODEL = "claude-sonnet-5-5"
OPERATIONS, ROUNDS = 1_000, 5
OPENINGS = 15  # the least of so many
EVENTS = 100_000


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [*durable(root), *fsyncs(root), *written(root), *sizes(root), *reading(root), *proving(root)]


def texts(size: int, seed: int = 0) -> Iterator[str]:
    """Texts of exactly this many bytes, no two alike."""
    chance = Random(seed)
    for number in count():
        yield f"{number} {chance.randbytes(size).hex()}"[:size]


def message(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def bare(path: Path, vfs: str | None = None) -> Callable[[bytes], None]:
    """Nothing but the bytes in a table, as durable as ours."""
    connection = apsw.Connection(str(path), vfs=vfs)
    connection.pragma("page_size", PAGE_SIZE)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.wal_autocheckpoint(2_000)
    connection.execute("CREATE TABLE bytes (id INTEGER PRIMARY KEY, body BLOB)")

    def append(body: bytes) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bytes (body) VALUES (?)", (body,))
        connection.execute("COMMIT")

    return append


def logged(log: SqliteLog) -> Callable[[bytes], None]:
    """The log alone, without parsing, counting or a view."""
    log.create(ThreadRow("t"))
    seqs = count()
    shape = Shape("user", (BlockShape("text", 2_000, Measure((1_500, 500))),), 2_030)

    def append(body: bytes) -> None:
        last = next(seqs)
        log.append("t", [NewEvent(Appended(shape, "anthropic"), last, 1.79e9 + last, body)], expected=last)

    return append


def durable(root: Path) -> list[Row]:
    store = cf.open(root / "store.db")
    thread, log = store.thread("t", model=MODEL), open_sqlite(root / "log.db")
    write_bare, write_log = bare(root / "bare.db"), logged(log)
    found: list[list[tuple[float, float]]] = []
    source = texts(2_000)
    for _ in range(ROUNDS):
        spent: list[list[tuple[int, int]]] = [[], [], []]
        gc.collect()
        gc.disable()
        for _ in range(OPERATIONS):
            given = message(next(source))
            body = encode(given)
            for place, work in enumerate(
                (lambda g=given: thread.append(g), lambda b=body: write_log(b), lambda b=body: write_bare(b))
            ):
                spent[place].append(clocked(work))
        gc.enable()
        found.append([(median(w for w, _ in each), median(c for _, c in each)) for each in spent])
    store.close()
    log.close()
    return [row for place, name in enumerate(("append", "the log's part of it")) for row in against(name, found, place)]


def clocked(work: Callable[[], object]) -> tuple[int, int]:
    wall, processor = time.perf_counter_ns(), time.process_time_ns()
    work()
    return time.perf_counter_ns() - wall, time.process_time_ns() - processor


def against(name: str, found: list[list[tuple[float, float]]], place: int) -> list[Row]:
    """The best round of ours against the bare commits of the same round."""
    wall = min(each[place][0] / each[2][0] for each in found)
    processor = min(each[place][1] / each[2][1] for each in found)
    took = min(each[place][0] for each in found) / 1e3
    return [
        at_most(f"{name} / bare INSERT + COMMIT, wall", wall, 1.5, note=f"{took:.0f} µs"),
        at_most(f"{name} / bare INSERT + COMMIT, processor", processor, 4),
    ]


class Counting(apsw.VFS):
    """Counts fsyncs."""

    def __init__(self) -> None:
        self.fsyncs = 0
        super().__init__("counting", "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  # SQLite's name
        return _CountingFile(self, name, flags)


class _CountingFile(apsw.VFSFile):
    def __init__(self, counting: Counting, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._counting = counting
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        self._counting.fsyncs += 1
        super().xSync(flags)


def fsyncs(root: Path) -> list[Row]:
    """Fsyncs of appends, both sides with a WAL that has begun; moving the WAL into the file comes on top for both."""
    counting, source = Counting(), texts(2_000)
    log = open_sqlite(root / "counted.db", vfs="counting")
    appends = (logged(log), bare(root / "counted-bare.db", "counting"))
    counted = []
    for append in appends:
        append(next(source).encode())
        before = counting.fsyncs
        for _ in range(500):
            append(next(source).encode())
        counted.append(counting.fsyncs - before)
    log.close()
    return [at_most("fsyncs of 500 appends / of 500 bare commits", counted[0] / counted[1], 1, note=f"{counted}")]


def written(root: Path) -> list[Row]:
    """What an append writes before its commit returns: whole pages, however little they changed."""
    path, source = root / "written.db", texts(2_400)
    with cf.open(path) as store:
        thread = store.thread("t", model=MODEL)
        sizes = []
        for _ in range(2):
            for _ in range(64):
                thread.append(message(next(source)))
            sizes.append(path.with_name("written.db-wal").stat().st_size)
    return [at_most("bytes written for a message of 2.4 kB", (sizes[1] - sizes[0]) / 64 / 1e3, 20, "kB")]


def sizes(root: Path) -> list[Row]:
    """How large the closed file is beside the bytes appended to it."""
    return [
        at_most("file / bytes appended, 1,000 messages of 2 KB", grown(root / "whole.db", 2_048, 1), 1.3),
        at_most("the same, sizes from 0.5 to 3.5 KB", grown(root / "mixed.db", 2_048, 1, spread=1_536), 1.3),
        reported("the same, turns of two messages of 1 KB", grown(root / "halves.db", 1_024, 2)),
    ]


def grown(path: Path, size: int, messages: int, spread: int = 0) -> float:
    chance, appended = Random(1), 0
    with cf.open(path) as store:
        thread = store.thread("t", model=MODEL)
        for turn in range(1_000):
            for _ in range(messages):
                given = message(next(texts(size - 30 + chance.randint(-spread, spread), turn)))
                appended += len(encode(given))
                thread.append(given)
    return path.stat().st_size / appended


def reading(root: Path) -> list[Row]:
    log = open_sqlite(root / "long.db")
    append, source = logged(log), texts(1_200)
    with log.batch():
        for _ in range(EVENTS):
            append(next(source).encode())
    start = time.process_time()
    assert sum(1 for _ in log.read("t")) == EVENTS
    read = time.process_time() - start
    start = time.process_time()
    assert log.verify() == []
    verified = time.process_time() - start
    log.close()
    return [
        reported("reading an event of 100,000, without its body", read / EVENTS * 1e6, "µs"),
        reported("verifying 100,000 events of 1.2 KB", verified, "s"),
    ]


def proving(root: Path) -> list[Row]:
    """What it takes to check every body of a thread against its link, as reading does, beside opening the thread."""
    path = root / "opened.db"
    with cf.Session.open(path, thread="t", model=MODEL) as session:
        for each in histories.session(7, tokens=60_000):
            session.append(each)
    log = open_sqlite(path)
    entries = list(log.sealed("t"))
    log.close()
    opened, proven = [], []
    for _ in range(OPENINGS):
        start = time.process_time()
        with cf.open(path, read_only=True) as store:
            said = [each.text for each in store.thread("t", model=MODEL).view.messages]
        opened.append(time.process_time() - start)
        assert len(said) == len(entries)
        start, previous = time.process_time(), GENESIS
        for entry in entries:
            committed = commitment(entry.salt, entry.body or b"")
            assert link(previous, entry.seq, entry.parent, entry.at, entry.key, entry.stored, committed) == entry.link
            previous = entry.link
        proven.append(time.process_time() - start)
    told = f"{len(entries)} events, {sum(len(entry.body or b'') for entry in entries):,} bytes"
    return [
        at_most(
            "checking each body against its link / opening and reading them", min(proven) / min(opened), 0.05, note=told
        )
    ]
