"""Processes that write to a store as fast as they can, and say so through a pipe after each commit."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any

import apsw

import contextfold as cf
from contextfold.domain import ThreadRow
from contextfold.errors import Conflict, StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, message

# One process imports everything once, and every writer is forked from it: a kill then costs milliseconds to prepare.
_context = get_context("forkserver")
_context.set_forkserver_preload(["tests.crash.writers"])


def barrier(parties: int) -> Barrier:
    """Where so many writers wait for one another."""
    return _context.Barrier(parties)


class Writer:
    """A writing process, and what it acknowledged."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self.connection, say = _context.Pipe(duplex=False)
        self._process = _context.Process(target=work, args=(say, *arguments))
        self._process.start()
        say.close()

    def said(self) -> Iterator[tuple[str, ...]]:
        """What it says, until it ends."""
        while True:
            try:
                yield tuple(self.connection.recv_bytes().decode().split())
            except (EOFError, OSError):
                return

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int | None:
        """Wait for its end; the exit code."""
        self._process.join()
        code = self._process.exitcode
        self.connection.close()
        self._process.close()
        return code


def gather(writers: list[Writer]) -> list[list[tuple[str, ...]]]:
    """What several say, each until its end, read as it comes so that none has to wait for its pipe."""
    said: dict[Connection, list[tuple[str, ...]]] = {writer.connection: [] for writer in writers}
    talking = set(said)
    while talking:
        for connection in wait(list(talking)):
            assert isinstance(connection, Connection)
            try:
                said[connection].append(tuple(connection.recv_bytes().decode().split()))
            except EOFError:
                talking.discard(connection)
    return list(said.values())


def fingerprint(body: bytes) -> str:
    return sha256(body).hexdigest()


def write_at_full_speed(say: Connection, path: Path, seed: int) -> None:
    """Append, in batches now and then, forget now and then, and never stop."""
    chance, log = Random(seed), open_sqlite(path)
    log.connection.wal_autocheckpoint(chance.choice((8, 100, 2000)))
    last = log.create(ThreadRow("a")).last
    say.send_bytes(b"open")
    while True:
        bodies = [chance.randbytes(chance.choice((10, 1000, 6000))) for _ in range(chance.choice((1, 1, 1, 5)))]
        with log.batch():
            for seq, body in enumerate(bodies, last + 1):
                log.append("a", [message(body, parent=seq - 1, key=f"{seed} {seq}")], expected=seq - 1)
        for seq, body in enumerate(bodies, last + 1):
            say.send_bytes(f"written {seq} {fingerprint(body)}".encode())
        last += len(bodies)
        if chance.random() < 0.02:
            say.send_bytes(f"forgetting {last}".encode())
            log.forget("a", [last])
            say.send_bytes(f"forgotten {last}".encode())


def forget_again(log: SqliteLog, name: str, seq: int, tries: int = 20) -> None:
    """As the error says: while another process reads older pictures, forget once more."""
    for left in range(tries - 1, -1, -1):
        try:
            log.forget(name, [seq])
        except StoreError:
            if not left:
                raise
        else:
            return


def write_beside_others(say: Connection, path: Path, number: int, turns: int, together: Barrier) -> None:
    """Append to a thread that others append to as well, going on from wherever it is; all begin together."""
    log = open_sqlite(path)
    row = log.create(ThreadRow("shared"))
    own = log.create(ThreadRow(f"own {number}"))
    last = row.last
    together.wait(60)
    for turn in range(turns):
        body = f"{number} {turn} ".encode() * (1 + 7 * turn % 700)
        last = _append_somewhere(log, body, f"{number} {turn}", last)
        log.append(own.name, [message(body, parent=turn)], expected=turn)
        say.send_bytes(f"{last} {turn}".encode())
        if number == 0 and turn % 50 == 49:
            forget_again(log, own.name, turn)
    log.close()


def _append_somewhere(log: SqliteLog, body: bytes, key: str, last: int) -> int:
    while True:
        try:
            (logged,) = log.append("shared", [message(body, parent=last, key=key)], expected=last)
        except Conflict as conflict:
            last = conflict.actual
        else:
            return logged.seq


def open_and_append(say: Connection, path: Path, number: int) -> None:
    """Be one of many who make the same store at the same moment."""
    log = open_sqlite(path)
    log.create(ThreadRow("shared"))
    seq = _append_somewhere(log, b"%d" % number, f"{number}", 0)
    log.close()
    say.send_bytes(b"%d" % seq)


def hold_open(say: Connection, path: Path, is_reading: bool, go_on: Connection) -> None:
    """Keep the store open, in the middle of a read if asked to, until told to go on."""
    log = open_sqlite(path)
    if is_reading:
        log.connection.execute("BEGIN")
        log.connection.execute("SELECT count(*) FROM events").fetchall()
    say.send_bytes(b"open")
    go_on.recv_bytes()
    if is_reading:
        log.connection.execute("COMMIT")
    log.close()


def append_under_signals(say: Connection, path: Path, rounds: int) -> None:
    """Append while signals come at any time; then say which seqs were acknowledged, and that of one more append.

    In a process of its own, because a signal may also interrupt whatever traces the tests, and leave its lock taken.
    """
    faulthandler.dump_traceback_later(60 + rounds, exit=True)
    log = open_sqlite(path)
    log.create(ThreadRow("a"))
    start = time.perf_counter()
    acknowledged = [appended(log, "a", b"first")[0].seq for _ in range(5)]
    usual = (time.perf_counter() - start) / 5
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for number in range(rounds):
        try:
            signal.setitimer(signal.ITIMER_REAL, usual * (1 + number % 60) / 20)
            while True:
                acknowledged.append(appended(log, "a", b"%d" % number)[0].seq)
        except KeyboardInterrupt:
            continue
    say.send_bytes(" ".join(map(str, acknowledged)).encode())
    say.send_bytes(b"%d" % appended(log, "a", b"next")[0].seq)
    log.close()


def interrupt_a_wait(say: Connection, path: Path) -> None:
    """Ctrl-C while the lock is another's; then both append."""
    faulthandler.dump_traceback_later(60, exit=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log, other = open_sqlite(path), open_sqlite(path)
    log.create(ThreadRow("a"))
    other.connection.execute("BEGIN IMMEDIATE")
    ring = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        ring.start()
        appended(log, "a", b"interrupted")
    except KeyboardInterrupt:
        say.send_bytes(b"interrupted")
    other.connection.execute("ROLLBACK")
    appended(other, "a", b"of another")
    say.send_bytes(b"next %d" % appended(log, "a", b"next")[0].seq)
    log.close()
    other.close()


def fold_beside_a_forgetter(say: Connection, path: Path, go_on: Connection, is_halted: bool) -> None:
    """Fold a thread behind a summary that repeats its words; where asked, halt just before the fold is written."""
    faulthandler.dump_traceback_later(60, exit=True)
    summary = cf.recipes.summary(
        summarizer=lambda prompt: f"{canaries_in(str(prompt))} sings in src/parse.py, port 8443."
    )
    with cf.open(path) as store:
        session = cf.Session.on(store, "secret", "claude-sonnet-5-5", policy=summary.with_(backoff=0.0))
        list(session.view.messages)
        say.send_bytes(b"ready")
        go_on.recv_bytes()

        def halt(_: apsw.Cursor, sql: str, __: object) -> bool:
            if sql.startswith("BEGIN IMMEDIATE") and is_halted:
                store._log.connection.exec_trace = None  # type: ignore[attr-defined]
                say.send_bytes(b"halted")
                go_on.recv_bytes()
            return True

        store._log.connection.exec_trace = halt  # type: ignore[attr-defined]
        report = session.fold(to=500)
        refusals = " ".join(str(attempt.refusal) for attempt in report.attempts)
        say.send_bytes(f"folded {len(report.folds)} {refusals}".encode())


def canaries_in(text: str) -> str:
    return " ".join(sorted(set(re.findall("canarybird[0-9]+z", text)))) or "Nobody"
