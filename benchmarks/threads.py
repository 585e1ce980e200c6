"""Flat cost: what a turn costs in a thread of 100, 10,000 and 100,000 messages, and what going back costs.

Processor time, median of 1,000 turns, best of 5 rounds, all sizes in one run. Turns go to real SQLite files.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

import orjson

import contextfold as cf
from benchmarks.frame import Row, at_most, reported
from contextfold.domain import decode
from contextfold.testing import histories

MODEL = "claude-sonnet-5-5"
TURNS, ROUNDS = 1_000, 5
SMALL, LARGE, LARGEST = 100, 10_000, 100_000
FOLDS = 10_000
TEXT = ("The build of module seven failed in step twelve; see line 4711 of the log for details. " * 14)[:1_150]


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        small, large, largest = (filled(root / f"{size}.db", size) for size in (SMALL, LARGE, LARGEST))
        folded = filled(root / "folded.db", LARGEST, FOLDS)
        floor, tall, taller, creased = best([small, large, largest, folded])
        rows = [
            reported(f"one turn at {SMALL}", floor * 1e6, "µs"),
            at_most(f"turn at {LARGE:,} / at {SMALL}", tall / floor, 1.3),
            at_most(f"turn at {LARGEST:,} / at {SMALL}", taller / floor, 1.3),
            at_most(f"turn at {LARGEST:,} with {FOLDS:,} folds / at {SMALL}", creased / floor, 1.3),
            *travelling(largest, floor),
            *travelling(folded, floor, f" with {FOLDS:,} folds"),
            *joining(root),
        ]
        for thread in (small, large, largest, folded):
            stores.pop(thread).close()
        return [*rows, *opening(root / f"{LARGEST}.db")]


stores: dict[cf.Thread, cf.Store] = {}


def message(number: int) -> dict[str, object]:
    return {"role": "assistant" if number % 2 else "user", "content": f"{number} {TEXT}"}


def filled(path: Path, size: int, folds: int = 0) -> cf.Thread:
    store = cf.open(path)
    thread = store.thread("t", model=MODEL)
    stores[thread] = store
    with store.batch():
        for number in range(size):
            thread.append(message(number))
        for number in range(folds):
            thread.fold(cf.Cover(((2 * number + 2, 2 * number + 3),)), "[two messages]", kind="window")
    thread.view.count  # noqa: B018  # what was there is weighed before the clock starts
    return thread


def best(threads: list[cf.Thread]) -> list[float]:
    """The best round's median turn of each thread, rounds alternating between them."""
    rounds: list[list[float]] = [[] for _ in threads]
    for _ in range(ROUNDS):
        for found, thread in zip(rounds, threads, strict=True):
            found.append(median_turn(thread))
    return [min(found) for found in rounds]


def median_turn(thread: cf.Thread) -> float:
    given = [message(number) for number in range(TURNS)]
    spent = []
    gc.collect()
    gc.freeze()
    gc.disable()
    for each in given:
        start = time.process_time_ns()
        thread.append(each)
        thread.view.count  # noqa: B018  # reading the view is part of the turn
        spent.append(time.process_time_ns() - start)
    gc.enable()
    gc.unfreeze()
    return median(spent) / 1e9


def travelling(thread: cf.Thread, floor: float, label: str = "") -> list[Row]:
    """Going back and forth in a long thread, and the turns after it."""
    view = thread.view
    fold = thread.fold([item.seq for item in view.items[view.length // 2 :][:1_000]], "[a thousand messages]")
    rows = [
        reported(f"unfold at {LARGEST:,}{label} (class <= 50)", clocked(thread, lambda: thread.unfold(fold)), "ms"),
        reported(
            f"rewind at {LARGEST:,}{label} (class <= 50)", clocked(thread, lambda: thread.rewind(after=50_000)), "ms"
        ),
        at_most(f"turn after a rewind{label} / at {SMALL}", best([thread])[0] / floor, 1.3),
    ]
    start = time.process_time()
    fork = thread.fork()
    len(fork.view)
    rows.append(reported(f"fork{label} (class <= 50)", (time.process_time() - start) * 1e3, "ms"))
    stores_of_fork = best([fork])[0]
    rows.append(at_most(f"turn after a fork{label} / at {SMALL}", stores_of_fork / floor, 1.3))
    return rows


def clocked(thread: cf.Thread, work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    len(thread.view)
    return (time.process_time() - start) * 1e3


def joining(root: Path) -> list[Row]:
    """A request's body by joining kept bytes, against encoding the same messages again.

    Agent sessions of 600k and 2.4M tokens. Beyond some tens of megabytes both are bound by memory, and any copy of the
    body costs a share of what encoding costs; plain long ASCII strings, which an encoder copies too, are worse still.
    """
    (few, ratio), (many, larger) = joined(root, 5), joined(root, 20)
    return [
        at_most(f"body by joining / orjson.dumps, {few:,} messages", ratio, 0.25),
        reported(f"body by joining / orjson.dumps, {many:,} messages", larger),
    ]


def joined(root: Path, sessions: int) -> tuple[int, float]:
    with cf.open(root / f"join-{sessions}.db") as store:
        thread = store.thread("t", model=MODEL)
        with store.batch():
            for seed in range(sessions):
                for each in histories.session(seed, tokens=120_000):
                    thread.append(each)
        messages = decode(thread.body(model=MODEL, max_tokens=1))["messages"]
        lengths = count(2)  # another answer each time, or the last body would be handed out again
        joining = fastest(lambda: thread.body(model=MODEL, max_tokens=next(lengths)))
        return len(messages), joining / fastest(lambda: orjson.dumps(messages))


def fastest(work: Callable[[], object], times: int = 30) -> float:
    found = []
    for _ in range(times):
        start = time.process_time_ns()
        work()
        found.append(time.process_time_ns() - start)
    return min(found)


OPEN = """
import resource, sys, time
import contextfold as cf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
with cf.open(sys.argv[1]) as store:
    cf.open().thread("warm", model="claude-sonnet-5-5").append({"role": "user", "content": "x"})
    before, start = resident(), time.process_time()
    thread = store.thread("t")
    thread.view.count
    size = sum(each.event.shape.size for each in thread.events if hasattr(each.event, "dialect"))
    print(time.process_time() - start, resident() - before, size)
"""


def opening(path: Path) -> list[Row]:
    """A fresh process opens the long thread; no body is read."""
    printed = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True).stdout
    seconds, memory, size = map(float, printed.split())
    return [
        reported(f"opening {LARGEST:,} messages of 1.2 KB (class <= 1.5)", seconds, "s"),
        at_most("memory after opening / bytes of the messages", memory / size, 2.5),
    ]
