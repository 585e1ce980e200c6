"""Four processes that write to one file: turns in a second against bare SQLite, and how evenly they are shared.

Timed on both sides are whole turns as fast as they come: a message of 1.2 kB, then an answer of 40 bytes, each durable
before the next. Ours is a `Session` with its `prepare` in between, its chain and its list of threads, without an index
of words. Theirs is one insert a commit into one table, write-ahead log, `synchronous=full`, a busy handler that waits
up to 2 ms of any length. Within a slice each session grows to some 100,000 tokens and folds once or twice, which is
half of its processor time; what the log alone does is told beside it: the same two messages, appended to a thread and
each durable, without a request and without folds. Slices take turns on the same disk; the value is the middle one of
their ratios. Wall time: on a machine that has other work our processor time a turn (1 to 3 ms, theirs 0.1) decides, not
the lock.

And eight Python threads of one process, each with a session of one store, against one thread alone: they share the wait
for the disk, and the interpreter.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import random
from statistics import median

import apsw

import contextfold as cf
from benchmarks.frame import ROOT, Row, at_least, reported

MODEL = "claude-sonnet-4-5"
WRITERS, THREADS, SLICES, SECONDS = 4, 8, 5, 2.0
TEXT = "The build of module seven failed in step twelve; see line 4711 of the log for details. " * 14


def run() -> list[Row]:
    counts: dict[str, list[list[int]]] = {"bare": [], "ours": [], "log": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(SLICES):
            for side, found in counts.items():
                found.append(slice_of(side, Path(folder) / f"{side}-{number}.db"))
        shared = [_of_one_process(Path(folder) / f"{number}.db") for number in range(SLICES)]
    rates = {side: [sum(turns) / SECONDS for turns in found] for side, found in counts.items()}
    ratios, alone = (
        [ours / bare for ours, bare in zip(rates[side], rates["bare"], strict=True)] for side in ("ours", "log")
    )
    even = [min(turns) / max(turns) for turns in counts["ours"]]
    spread = ", ".join(f"{side} {min(found):.0f} to {max(found):.0f}" for side, found in rates.items())
    return [
        at_least(f"{WRITERS} writers: turns / bare SQLite", median(ratios), 0.7, "", f"turns/s: {spread}"),
        reported("the same, messages appended alone", median(alone)),
        at_least("slowest writer / fastest", median(even), 0.7, "", f"{min(even):.2f} to {max(even):.2f}"),
        reported("bare: slowest / fastest", median(min(turns) / max(turns) for turns in counts["bare"])),
        reported(f"{THREADS} Python threads of one process / one: turns", median(shared), "x"),
    ]


def slice_of(side: str, path: Path) -> list[int]:
    """How many turns each writer did, all of them begun together."""
    if side != "bare":
        cf.open(path, recall=False).close()
    else:
        bare(path).execute("CREATE TABLE said (id INTEGER PRIMARY KEY, thread TEXT, body BLOB)")
    command = [sys.executable, "-m", "benchmarks.writers", side, str(path)]
    writers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        for number in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    return [int(writer.communicate(timeout=120)[0]) for writer in writers]


def _of_one_process(path: Path) -> float:
    """How many times the turns of one Python thread several do together, in sessions of one store."""
    with cf.open(path, recall=False) as store, ThreadPoolExecutor(THREADS) as pool:
        sessions = [cf.Session.on(store, str(number), MODEL) for number in range(THREADS)]
        alone = _our_turns(sessions[0])
        return sum(pool.map(_our_turns, sessions)) / alone


def _wait_a_little(_tries: int) -> bool:
    time.sleep(random() * 0.002)  # noqa: TID251  # as a handler of SQLite's does
    return True


def bare(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_handler(_wait_a_little)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    return connection


def turns_of(side: str, path: Path, name: str) -> int:
    print("ready", flush=True)
    if side == "bare":
        connection = bare(path)
        sys.stdin.readline()
        return _bare_turns(connection, name)
    with cf.open(path, recall=False) as store:
        session = cf.Session.on(store, name, MODEL)
        sys.stdin.readline()
        return _our_turns(session) if side == "ours" else _appended(session.thread)


def _bare_turns(connection: apsw.Connection, name: str) -> int:
    number, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        for message in _said(number):
            connection.execute("INSERT INTO said (thread, body) VALUES (?, ?)", (name, json.dumps(message).encode()))
        number += 1
    return number


def _our_turns(session: cf.Session) -> int:
    number, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        said, answer = _said(number)
        session.append(said)
        session.prepare(max_tokens=1_000)
        session.append(answer)
        number += 1
    return number


def _appended(thread: cf.Thread) -> int:
    number, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        for message in _said(number):
            thread.append(message)
        number += 1
    return number


def _said(number: int) -> tuple[dict[str, str], dict[str, str]]:
    return {"role": "user", "content": f"{number}: {TEXT}"}, {"role": "assistant", "content": f"Noted, {number}."}


if __name__ == "__main__":
    print(turns_of(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
