"""How each verb of Session, Thread and Store grows with messages, with folds and with threads.

Timed is one call of the verb, processor time, the least of several tries at each size, on a disk in memory. The value
is an exponent: 0 where the cost stays, 1 where it grows with the size, between the smallest and the largest. A verb
that answers with everything may grow with everything (its bar is 1.2); what a page or a request calls may not (0.35:
caches of the processor are part of it), but for those that begin with a copy of arrays (0.7). Verbs that write are
given something new each time.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import contextfold as cf
from benchmarks.frame import Row, at_most, cpu, reported

MODEL = "claude-sonnet-4-5"
FLAT, COPIES, ALL = 0.35, 0.7, 1.2  # the exponents a verb may have
MESSAGES, FOLDS, THREADS = (500, 2_000, 8_000), (50, 200, 800), (100, 400, 1_600)
TRIES = 7
FORGOTTEN, REQUESTS = 20_000, 1_000
SHOWN = 40  # messages that are left in view, whatever the size

Verb: TypeAlias = Callable[[Any, Iterator[int]], object]

OVER_MESSAGES: dict[str, tuple[Verb, float]] = {
    "Session.append": (lambda session, new: session.append(said(next(new))), FLAT),
    "Session.prepare": (lambda session, _: session.prepare(max_tokens=500), FLAT),
    "Session.preview": (lambda session, _: session.preview(), FLAT),
    "Session.stats": (lambda session, _: session.stats, FLAT),
    "Session.view": (lambda session, _: session.view, FLAT),
    "Session.folds": (lambda session, _: session.folds, FLAT),
    "Session.checkpoint": (lambda session, new: session.checkpoint(f"c{next(new)}", files=False), FLAT),
    "Session.on a live thread": (lambda session, _: cf.Session.on(session.store, session.thread.name, MODEL), FLAT),
    "Session.recall(seq=)": (lambda session, _: session.recall(seq=3), FLAT),
    "Session.recall(fold=)": (lambda session, _: session.recall(fold=session.folds[0].id), ALL),
    "Session.recall(question)": (lambda session, _: session.recall("what about step 77?"), ALL),
    "Session.rewind, redo": (lambda session, _: (session.rewind(to=session.view.items[-2].seq), session.redo()), ALL),
    "Thread.message": (lambda session, _: session.thread.message(5), FLAT),
    "Thread.rows": (lambda session, _: session.thread.rows(limit=50), FLAT),
    "Thread.body": (lambda session, _: session.thread.body(max_tokens=500), FLAT),
    "Thread.pin, unpin": (
        lambda session, _: (session.thread.pin(last(session)), session.thread.unpin(last(session))),
        FLAT,
    ),
    "Thread.view_at near the head": (lambda session, _: session.thread.view_at(last(session) - 1), COPIES),
    "Thread.fork": (lambda session, new: session.thread.fork(name=f"fork-{next(new)}"), COPIES),
    "Thread.events": (lambda session, _: session.thread.events, COPIES),
}
OVER_FOLDS = {name: OVER_MESSAGES[name] for name in ("Session.append", "Session.prepare", "Session.stats")} | {
    "Session.folds": (lambda session, _: session.folds, FLAT),
    "Session.recall(fold=)": (lambda session, _: session.recall(fold=session.folds[-2].id), FLAT),
    "Thread.view_at near the head": OVER_MESSAGES["Thread.view_at near the head"],
}
OVER_THREADS: dict[str, tuple[Verb, float]] = {
    "Store.thread, new": (lambda store, new: store.thread(f"new-{next(new)}", model=MODEL), FLAT),
    "Store.thread, known": (lambda store, _: store.thread("thread-7"), FLAT),
    "Store.threads, a page": (lambda store, _: store.threads(order="activity", limit=20), FLAT),
    "Store.changes, a page": (lambda store, _: store.changes(limit=20), FLAT),
    "Store.archive, unarchive": (lambda store, _: (store.archive("thread-7"), store.unarchive("thread-7")), FLAT),
    "Store.rename": (lambda store, new: store.rename("thread-9", f"renamed-{next(new)}"), FLAT),
    "Store.recall in one": (lambda store, _: store.recall("hello", "thread-7"), FLAT),
    "Store.forget": (lambda store, new: store.forget(f"thread-{20 + next(new)}"), FLAT),
    "Store.verify": (lambda store, _: store.verify(), ALL),
}


def run() -> list[Row]:
    return [
        *grown("messages", MESSAGES, of_messages, OVER_MESSAGES),
        *grown("folds", FOLDS, of_folds, OVER_FOLDS),
        *grown("threads", THREADS, of_threads, OVER_THREADS),
        *forgetting(),
    ]


def forgetting() -> Iterator[Row]:
    """A whole thread, and the first message of a session whose every request showed it."""
    with _opened() as store:
        thread = store.thread("long", model=MODEL)
        with store.batch():
            for number in range(FORGOTTEN):
                thread.append(said(number))
        session = cf.Session.on(store, "asked", MODEL, window=200_000)
        for number in range(REQUESTS):
            session.append(said(number), durable=False)
            session.prepare(max_tokens=500)
            session.append({"role": "assistant", "content": f"Noted, {number}."}, durable=False)
        yield at_most(f"forgetting {FORGOTTEN:,} messages", cpu(lambda: store.forget("long"), 1), 1, "s CPU", "class")
        spent = cpu(lambda: store.forget("asked", 1), 1)
        yield reported(f"forgetting what {REQUESTS:,} requests showed", spent, "s CPU", "class")


def said(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"step {number}: see line {number * 7} of src/part{number % 50}.py"}


def last(session: cf.Session) -> int:
    return session.view.items[-1].seq


@contextmanager
def of_messages(size: int) -> Iterator[cf.Session]:
    """A session with so many messages, all but a few of them folded."""
    with _opened() as store:
        session = cf.Session.on(store, "long", MODEL, window=200_000)
        session.extend(said(number) for number in range(size))
        items = session.view.items
        session.thread.fold([item.seq for item in items[: size - SHOWN]], "what was done until now")
        session.prepare(max_tokens=500)
        session.append({"role": "assistant", "content": "Noted."}, usage={"input_tokens": 900, "output_tokens": 4})
        yield session


@contextmanager
def of_folds(size: int) -> Iterator[cf.Session]:
    """A session with so many folds, each of two messages, all but the newest behind one more."""
    with _opened() as store:
        session = cf.Session.on(store, "long", MODEL, window=200_000)
        with store.batch():
            for number in range(size):
                pair = [session.append(said(number * 2 + half)) for half in (0, 1)]
                session.thread.fold(pair, f"two steps, {number}")
        session.extend(said(number) for number in range(SHOWN))
        folds = [item.seq for item in session.view.items if item.kind == "stand_in"]
        session.thread.fold(folds[:-5], "what was done until now")
        yield session


@contextmanager
def of_threads(size: int) -> Iterator[cf.Store]:
    with _opened() as store:
        with store.batch():
            for number in range(size):
                store.thread(f"thread-{number}", model=MODEL).append({"role": "user", "content": f"hello {number}"})
        yield store


@contextmanager
def _opened() -> Iterator[cf.Store]:
    memory = Path("/dev/shm")  # noqa: S108  # a directory of our own is made there
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        cf.open(Path(folder) / "growth.db") as store,
    ):
        yield store


def grown(
    what: str, sizes: tuple[int, ...], made: Callable[[int], Any], verbs: dict[str, tuple[Verb, float]]
) -> Iterator[Row]:
    spent: dict[str, list[float]] = {name: [] for name in verbs}
    for size in sizes:
        with made(size) as subject:
            for name, (verb, _) in verbs.items():
                spent[name].append(least(verb, subject))
    for name, (_, bar) in verbs.items():
        few, *_, many = spent[name]
        exponent = math.log(many / few) / math.log(sizes[-1] / sizes[0])
        note = ", ".join(f"{each * 1e6:.0f}" for each in spent[name]) + f" µs at {sizes[0]:,} to {sizes[-1]:,}"
        yield at_most(f"{name} over {what}: exponent", exponent, bar, note=note)


def least(verb: Verb, subject: Any) -> float:
    numbers, best = count(), float("inf")
    verb(subject, numbers)  # what is read once and kept is no part of it
    for _ in range(TRIES):
        gc.disable()
        start = time.process_time()
        verb(subject, numbers)
        best = min(best, time.process_time() - start)
        gc.enable()
    return max(best, 1e-6)
