"""Stores with very many threads: what opening, making, forking and listing one costs among 10 and among 100,000.

Wall time, minima of many tries, the stores taking turns in one process on one disk. Memory is what Python has allocated
while 10,000 threads are used one after another.
"""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import contextfold as cf
from benchmarks.frame import Row, at_most, reported
from contextfold.domain import Appended, BlockShape, Measure, NewEvent, Shape, ThreadRow
from contextfold.logs import open_sqlite

MODEL = "claude-sonnet-5-5"
FEW, MANY, USED = 10, 100_000, 10_000
ROOM = 8 * 2**20
TRIES, PAGE = 300, 50
TEXT = "The build of module seven failed in step twelve; see line 4711 of the log for details. " * 14


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        few, many = (filled(Path(folder) / f"{size}.db", size) for size in (FEW, MANY))
        with cf.open(few) as small, cf.open(many) as large:
            rows = costs((small, large))
        with cf.open(many, keep_bytes=ROOM) as store:
            return [*rows, *memory(store)]


def filled(path: Path, size: int) -> Path:
    """A store of so many threads, each with two messages."""
    shape = Shape("user", (BlockShape("text", len(TEXT), Measure((len(TEXT),))),), len(TEXT) + 30)
    body = b'{"role":"user","content":"' + TEXT.encode() + b'"}'
    log = open_sqlite(path)
    for start in range(0, size, 5_000):
        with log.batch():
            for number in range(start, min(size, start + 5_000)):
                log.create(ThreadRow(name(number), created=float(number), settings={"model": MODEL}))
                drafts = [NewEvent(Appended(shape, "anthropic"), at, float(number), body) for at in (0, 1)]
                log.append(name(number), drafts, expected=0)
    log.close()
    return path


def name(number: int) -> str:
    return f"thread-{number:06}"


def costs(stores: tuple[cf.Store, cf.Store]) -> list[Row]:
    numbers = count()

    def opened(store: cf.Store, size: int) -> object:
        return store.thread(name(next(numbers) * 7_919 % size)).view

    def made(store: cf.Store, _: int) -> object:
        return store.thread(f"new-{next(numbers)}", model=MODEL)

    def forked(store: cf.Store, size: int) -> object:
        return store.thread(name(next(numbers) * 7_919 % size)).fork(name=f"fork-{next(numbers)}")

    def listed(store: cf.Store, _: int) -> object:
        return store.threads(order="activity", limit=PAGE)

    def paged(store: cf.Store, _: int) -> object:
        return store.threads(order="name", limit=10, after=name(4))

    rows: list[Row] = []
    for label, work, bar in (
        ("opening one", opened, 1.3),
        ("making one", made, 1.3),
        ("forking one", forked, 1.3),
        (f"a page of {PAGE} by activity", listed, None),
        ("a page of 10 by name", paged, None),
    ):
        rows += against(label, work, stores, bar)
    return rows


def against(
    label: str, work: Callable[[cf.Store, int], object], stores: Sequence[cf.Store], bar: float | None
) -> list[Row]:
    """The fastest try among many threads against the fastest among few, both cold: nothing is kept between tries."""
    spent: list[list[int]] = [[], []]
    for _ in range(TRIES):
        for found, store, size in zip(spent, stores, (FEW, MANY), strict=True):
            store._live.clear()  # noqa: SLF001  # what is in memory already costs nothing
            gc.disable()
            start = time.perf_counter_ns()
            work(store, size)
            found.append(time.perf_counter_ns() - start)
            gc.enable()
    few, many = (min(found) for found in spent)
    told = f"{label} of {MANY:,} / of {FEW}"
    note = f"{few / 1e3:.0f} and {many / 1e3:.0f} µs"
    return [reported(told, many / few) if bar is None else at_most(told, many / few, bar, note=note)]


def memory(store: cf.Store) -> list[Row]:
    """Bytes that Python holds after 2,000 threads were used, and after five times as many."""
    tracemalloc.start()
    sizes = []
    for number in range(USED):
        thread = store.thread(name(number))
        thread.append({"role": "user", "content": TEXT})
        thread.body(max_tokens=1)
        del thread
        if number + 1 in (USED // 5, USED):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    early, late = sizes
    return [
        reported(
            f"memory after {USED // 5:,} threads were used, {ROOM // 2**20} MB being allowed", early / 2**20, "MB"
        ),
        at_most(f"memory after {USED:,} threads / after {USED // 5:,}", late / early, 1.3),
    ]
