"""PostgreSQL that is killed, restarted and cut off: what was acknowledged is there, once, in order, and proven."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import contextfold as cf
from contextfold.domain import NewEvent, Projection, ThreadRow
from contextfold.errors import Conflict, StoreError
from contextfold.testing.log_contract import message
from tests.conftest import SOAK
from tests.postgres_server import PostgresServer, through
from tests.unit.logs.postgres.proxy import Wire

if TYPE_CHECKING:
    from contextfold.logs.postgres import PostgresLog

postgres = pytest.importorskip("contextfold.logs.postgres", reason="Tests of PostgreSQL need contextfold[postgres].")

pytestmark = pytest.mark.crash


@pytest.fixture
def wire(postgres_server: PostgresServer) -> Iterator[Wire]:
    with Wire(postgres_server.directory / ".s.PGSQL.5432") as wire:
        yield wire


@pytest.fixture
def space(tmp_path: Path) -> str:
    return str(tmp_path)


def bodies(address: str, space: str, thread: str = "a") -> list[bytes]:
    """What a thread holds, looked at afresh, after everything verified."""
    with closing(postgres.open_postgres(address, space=space)) as log:
        assert log.verify() == []
        kept: dict[int, bytes] = log.bodies(thread, range(1, log.row(thread).last + 1))
        return list(kept.values())


def test_a_cut_at_any_message_of_an_append_loses_and_doubles_nothing(
    postgres_tables: str, wire: Wire, space: str
) -> None:
    """Without a key: the retry finds out by the link whether it had happened."""
    with closing(postgres.open_postgres(through(postgres_tables, wire.port), space=space)) as log:
        log.create(ThreadRow("a"))
        for number in range(24):
            wire.cut_after = wire.messages + number % 12
            (logged,) = log.append("a", [message(b"%d" % number)], expected=number)
            assert logged.seq == number + 1
            wire.cut_after = None
    assert bodies(postgres_tables, space) == [b"%d" % number for number in range(24)]


def cut_in_a_batch(log: PostgresLog, wire: Wire) -> None:
    with log.batch():
        log.append("a", [message(b"1")], expected=0)
        wire.cut()
        log.append("a", [message(b"2")], expected=1)


def swallow_an_error_in_a_batch(log: PostgresLog) -> None:
    with log.batch():
        log.append("a", [message(b"1")], expected=0)
        with suppress(StoreError):
            log._connections.once("SELECT 1 / 0")


def test_a_cut_in_a_batch_takes_back_all_of_it(postgres_tables: str, wire: Wire, space: str) -> None:
    with closing(postgres.open_postgres(through(postgres_tables, wire.port), space=space)) as log:
        log.create(ThreadRow("a"))
        with pytest.raises(StoreError):
            cut_in_a_batch(log, wire)
        log.append("a", [message(b"again")], expected=0)
    assert bodies(postgres_tables, space) == [b"again"]


def test_an_error_that_is_swallowed_in_a_batch_still_fails_it(postgres_tables: str, space: str) -> None:
    """A server answers the commit of a failed transaction with a rollback, and without an error."""
    with closing(postgres.open_postgres(postgres_tables, space=space)) as log:
        log.create(ThreadRow("a"))
        with pytest.raises(StoreError, match="none of it is kept"):
            swallow_an_error_in_a_batch(log)
        assert log.append("a", [message(b"2")], expected=0)[0].seq == 1
    assert bodies(postgres_tables, space) == [b"2"]


def test_a_restart_between_two_appends_is_not_noticed(
    postgres_server: PostgresServer, postgres_tables: str, space: str
) -> None:
    with cf.open(postgres_tables, space=space) as store:
        thread = store.thread("a")
        thread.append({"role": "user", "content": "before"})
        postgres_server.restart()
        thread.append({"role": "user", "content": "after"})
        assert [each.text for each in map(thread.message, (1, 2))] == ["before", "after"]
    assert len(bodies(postgres_tables, space)) == 2


def test_what_was_acknowledged_outlives_a_killed_server(
    postgres_server: PostgresServer, postgres_tables: str, space: str
) -> None:
    acknowledged: list[int] = []
    with closing(postgres.open_postgres(f"{postgres_tables}&patience=60", space=space)) as log:
        log.create(ThreadRow("a"))
        killer = threading.Timer(0.15, lambda: _kill_and_start(postgres_server))
        killer.start()
        deadline = time.monotonic() + 120
        while killer.is_alive() or len(acknowledged) < 20:
            number = len(acknowledged)
            log.append("a", [message(b"%d" % number)], expected=number)
            acknowledged.append(number)
            assert time.monotonic() < deadline
    assert bodies(postgres_tables, space) == [b"%d" % number for number in acknowledged]


def _kill_and_start(server: PostgresServer) -> None:
    server.kill()
    server.start()


def test_two_gateways_in_one_thread_write_one_order(postgres_tables: str, space: str) -> None:
    stores = [cf.open(postgres_tables, space=space) for _ in range(2)]
    threads = [store.thread("a") for store in stores]
    written: list[set[int]] = [set(), set()]

    def write(which: int) -> None:
        for number in range(25):
            written[which].add(threads[which].append({"role": "user", "content": f"{which} {number}"}))

    together(lambda: write(0), lambda: write(1))
    assert written[0] | written[1] == set(range(1, 51))
    assert [each.seq for each in threads[0].events] == [each.seq for each in threads[1].events]
    for store in stores:
        store.close()
    assert len(bodies(postgres_tables, space)) == 50


def overtaken(thread: cf.Thread, rival: cf.Thread, meanwhile: Callable[[int], None] = lambda _: None) -> list[int]:
    """Append while a rival does so each time it can; how often it was tried."""
    tried: list[int] = []

    with ThreadPoolExecutor(1) as aside:

        def drafting(projection: Projection) -> list[NewEvent]:
            tried.append(projection.last)
            meanwhile(len(tried))
            wait([aside.submit(rival.append, {"role": "user", "content": "theirs"})], 0.3)
            return [message(b"ours", parent=projection.head)]

        thread.write(drafting)
    return tried


def test_a_writer_that_lost_every_race_is_given_its_turn(postgres_tables: str, space: str) -> None:
    """The one that is nearer to the server would be there first each time."""
    with cf.open(postgres_tables, space=space) as store, cf.open(postgres_tables, space=space) as other:
        assert len(overtaken(store.thread("a"), other.thread("a"))) <= 4
    assert bodies(postgres_tables, space).count(b"ours") == 1


@pytest.mark.parametrize("messages", [2, 9, 11, 12])
def test_a_turn_that_is_cut_off_is_taken_again_and_happens_once(
    postgres_tables: str, wire: Wire, space: str, messages: int
) -> None:
    """Before the append, behind it, and at the commit."""

    def cut(tried: int) -> None:
        wire.cut_after = wire.messages + messages if tried == 4 else None

    near, far = postgres_tables, through(postgres_tables, wire.port)
    with cf.open(far, space=space) as store, cf.open(near, space=space) as other:
        overtaken(store.thread("a"), other.thread("a"), cut)
    assert bodies(postgres_tables, space).count(b"ours") == 1


def test_threads_written_crosswise_do_not_wait_for_each_other(postgres_tables: str, space: str) -> None:
    """Batches over two threads in opposite order deadlock; turns of one thread each cannot."""
    logs = [postgres.open_postgres(postgres_tables, space=space) for _ in range(2)]
    for name in ("a", "b"):
        logs[0].create(ThreadRow(name))

    def write(log: PostgresLog, order: str) -> None:
        for number in range(20):
            for name in order:
                appended_somewhere(log, name, b"%d" % number)

    together(lambda: write(logs[0], "ab"), lambda: write(logs[1], "ba"))
    for log in logs:
        log.close()
    assert [len(bodies(postgres_tables, space, name)) for name in "ab"] == [40, 40]


def appended_somewhere(log: PostgresLog, name: str, body: bytes) -> None:
    while True:
        try:
            row = log.row(name)
            assert row is not None
            log.append(name, [message(body)], expected=row.last)
        except Conflict:
            continue
        return


def together(*work: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:  # noqa: BLE001  # told below
            failed.append(error)

    running = [threading.Thread(target=run, args=(each,)) for each in work]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive()
    assert not failed


def test_a_storm_of_faults_loses_nothing_and_doubles_nothing(
    postgres_server: PostgresServer, postgres_tables: str, wire: Wire, space: str, tmp_path: Path
) -> None:
    """Four writers with keys, two of them stores, two to a thread; writers killed, the server restarted and killed,
    connections cut. For a minute in the long run."""
    random = Random(7)
    with closing(postgres.open_postgres(postgres_tables, space=space)) as log:
        for name in ("a", "b"):
            log.create(ThreadRow(name))
    writers = [_Storm(through(postgres_tables, wire.port), space, tmp_path / f"{n}.jsonl", n) for n in range(4)]
    begun = time.monotonic()
    faults = 0
    try:
        while faults < 3 if SOAK == 1 else time.monotonic() - begun < 60:
            _until_they_went_on(writers)
            match faults % 6:
                case 0 | 3:
                    wire.cut()
                case 1 | 4:
                    random.choice(writers).kill()
                case 2:
                    _kill_and_start(postgres_server)
                case _:
                    postgres_server.restart()
            faults += 1
        _until_they_went_on(writers)
    finally:
        for writer in writers:
            writer.kill()
    acknowledged = {(name, key) for writer in writers for name, key in writer.acknowledged()}
    assert len(acknowledged) > 10
    with closing(postgres.open_postgres(postgres_tables, space=space)) as log:
        assert log.verify() == []
        kept = [(name, logged.key) for name in ("a", "b") for logged in log.read(name)]
    print(f"{faults} faults, {len(acknowledged)} appends acknowledged")  # noqa: T201  # what a long run was worth
    assert acknowledged - set(kept) == set()
    assert len(kept) == len(set(kept))


def _until_they_went_on(writers: list[_Storm]) -> None:
    """Each has had another append acknowledged; whoever was killed is started again."""
    before = [writer.noted for writer in writers]
    deadline = time.monotonic() + 60
    while any(writer.noted <= known for writer, known in zip(writers, before, strict=True)):
        assert time.monotonic() < deadline, "a writer does not go on"
        for writer in writers:
            writer.start()
        threading.Event().wait(0.02)


class _Storm:
    """A writer in a process of its own. It notes a key after the acknowledgement; started again, it goes on there."""

    def __init__(self, address: str, space: str, notes: Path, number: int) -> None:
        self._command = [sys.executable, str(Path(__file__).with_name("postgres_writer.py"))]
        self._command += [address, space, "ab"[number // 2], str(number), str(notes)]
        self._notes = notes
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        if self._process is None or self._process.poll() is not None:
            root = str(Path(__file__).parents[2])
            path = os.pathsep.join(filter(None, (str(Path(root) / "src"), root, os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(self._command, env={**os.environ, "PYTHONPATH": path})

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)

    @property
    def noted(self) -> int:
        return self._notes.stat().st_size if self._notes.exists() else 0

    def acknowledged(self) -> Iterator[tuple[str, str]]:
        if self._notes.exists():
            for line in self._notes.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    name, key = json.loads(line)
                    yield name, key
