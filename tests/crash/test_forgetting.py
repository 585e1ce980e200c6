"""What was forgotten is nowhere: not in the file, not in the WAL, whoever else has the store open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from multiprocessing import Pipe
from pathlib import Path
from random import Random

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold.domain import Logged, ThreadRow
from contextfold.errors import StoreError
from contextfold.logs import Address, SqliteLog, open_sqlite
from contextfold.logs.sqlite.append import packed
from contextfold.testing.log_contract import appended, blob_sent, message
from tests.crash.disk import UNSYNCED
from tests.crash.traces import readable, stored_piece
from tests.crash.writers import Writer, hold_open

pytestmark = pytest.mark.crash

CANARY = b"sk-live-4b1d0000canary0000f00d"


def is_on_disk(path: Path, secret: bytes) -> bool:
    return secret in readable(*(file for file in path.parent.iterdir() if file.name.startswith(path.name)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        yield log


@pytest.mark.parametrize("padding", [0, 500, 4096 - len(CANARY), 4096, 15_000, 100_000])
def test_a_forgotten_message_is_nowhere(log: SqliteLog, path: Path, padding: int) -> None:
    appended(log, "a", b"before " * 100, CANARY + b"x" * padding, b"y" * padding + CANARY, b"after " * 100)
    assert is_on_disk(path, CANARY)
    assert log.forget("a", [2, 3]) == 2
    assert not is_on_disk(path, CANARY)
    assert log.bodies("a", range(1, 5)) == {1: b"before " * 100, 4: b"after " * 100}
    assert log.verify() == []


@pytest.mark.parametrize("size", [100, 700, 2_000, 4_096, 4_097, 15_000, 100_000])
def test_a_forgotten_message_is_nowhere_as_it_was_stored(log: SqliteLog, path: Path, size: int) -> None:
    said = [Random(seq).randbytes(size).hex()[:size].encode() for seq in range(1, 8)]
    for body in said:
        appended(log, "a", body)
    pieces = [stored_piece(log, "a", seq) for seq in range(1, 8)]
    assert all((piece in body) is (size < 512) for piece, body in zip(pieces, said, strict=True))
    assert all(is_on_disk(path, piece) for piece in pieces)
    assert all(is_on_disk(path, body[:60]) for body in said)
    log.forget("a", [2, 3, 6])
    for seq, (piece, body) in enumerate(zip(pieces, said, strict=True), 1):
        assert is_on_disk(path, piece) is is_on_disk(path, body[:60]) is (seq not in (2, 3, 6))
    assert log.verify() == []


def test_a_packed_body_that_nobody_refers_to_is_found_by_the_search(path: Path) -> None:
    body = b"canary of a body " * 99
    path.write_bytes(b"before" + packed(body).kept + b"after")
    assert body not in path.read_bytes()
    assert is_on_disk(path, body)
    path.write_bytes(b"before" + packed(body).kept[:-12])
    assert is_on_disk(path, b"canary of a body")
    path.write_bytes(bytes(3000))
    assert not is_on_disk(path, b"canary of a body")


def test_a_forgotten_thread_is_nowhere(log: SqliteLog, path: Path) -> None:
    log.create(ThreadRow("b"))
    for size in range(0, 9000, 150):
        appended(log, "a", CANARY + b"." * size)
        appended(log, "b", b"other" + b"." * size)
    assert log.forget("a") == 60
    assert not is_on_disk(path, CANARY)
    assert len(log.bodies("b", range(1, 61))) == 60
    assert log.verify() == []


def test_a_forgotten_system_prompt_is_nowhere(log: SqliteLog, path: Path) -> None:
    log.append("a", [blob_sent(system=CANARY * 9)], expected=0, blobs=[CANARY * 9])
    log.forget("a", [1])
    assert not is_on_disk(path, CANARY)


def test_a_message_that_was_never_kept_is_nowhere_either(log: SqliteLog, path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        append_and_fail(log)
    appended(log, "a", b"later")
    log.forget("a")
    assert not is_on_disk(path, CANARY)


def append_and_fail(log: SqliteLog) -> None:
    with log.batch():
        for turn in range(200):  # more than SQLite keeps in memory before it begins to write
            log.append("a", [message(CANARY + b"." * 20_000 + b"%d" % turn, parent=turn)], expected=turn)
        _ = 1 / 0


def test_another_process_may_have_the_store_open(log: SqliteLog, path: Path) -> None:
    appended(log, "a", CANARY)
    here, there = Pipe()
    other = Writer(hold_open, path, False, there)
    said = other.said()
    assert next(said) == ("open",)
    log.forget("a")
    assert not is_on_disk(path, CANARY)
    here.send_bytes(b"go on")
    assert other.end() == 0


def test_a_process_in_the_middle_of_reading_is_named_and_forgetting_again_is_enough(log: SqliteLog, path: Path) -> None:
    appended(log, "a", CANARY)
    here, there = Pipe()
    other = Writer(hold_open, path, True, there)
    assert next(other.said()) == ("open",)
    log.connection.set_busy_timeout(20)
    with pytest.raises(StoreError, match="another process"):
        log.forget("a")
    assert log.bodies("a", [1]) == {}
    here.send_bytes(b"go on")
    assert other.end() == 0
    assert log.forget("a") == 0
    assert not is_on_disk(path, CANARY)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_whatever_is_forgotten_in_any_order_is_nowhere_and_the_rest_is_there(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chance, path = Random(seed), tmp_path_factory.mktemp("store") / "store.db"
    secrets: dict[tuple[str, int], bytes] = {}
    pieces: dict[tuple[str, int], bytes] = {}
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        for name in "abc":
            log.create(ThreadRow(name))
        for number in range(chance.randrange(5, 120)):
            name = chance.choice("abc")
            secret = b"<secret %d of %d>" % (number, seed)
            size = chance.choice((0, 100, 2000, 4050, 9000, 40_000))
            seq = appended(log, name, secret + chance.randbytes(size).hex().encode()[:size])[0].seq
            secrets[name, seq], pieces[name, seq] = secret, stored_piece(log, name, seq)
            if chance.random() < 0.2:
                forget_some(log, chance, secrets)
        forgotten = forget_some(log, chance, secrets)
        assert log.verify() == []
        content = readable(path.parent)
        for searched in (secrets, pieces):
            assert all((secret in content) is (place not in forgotten) for place, secret in searched.items())


def forget_some(log: SqliteLog, chance: Random, secrets: dict[tuple[str, int], bytes]) -> set[tuple[str, int]]:
    for name in "abc":
        own = [seq for thread, seq in secrets if thread == name]
        log.forget(name, chance.sample(own, len(own) // 4))
    return {(name, seq) for name in "abc" for seq in log.forgotten(name)}


class Words:
    """A derived table that keeps words of its own."""

    name, version, lag = "words", 1, 0

    def install(self, connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE derived_words (space, thread, seq, body BLOB)")

    def apply(self, connection: apsw.Connection, address: Address, entries: Sequence[tuple[Logged, bytes]]) -> None:
        rows = ((address.space, address.thread, logged.seq, body) for logged, body in entries)
        connection.executemany("INSERT INTO derived_words VALUES (?, ?, ?, ?)", rows)

    def forget(self, connection: apsw.Connection, address: Address, seqs: Sequence[int]) -> None:
        rows = ((address.space, address.thread, seq) for seq in seqs)
        connection.executemany("DELETE FROM derived_words WHERE space = ? AND thread = ? AND seq = ?", rows)


def test_derived_tables_forget_too(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Words()])) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", CANARY, b"kept")
        log.forget("a", [1])
        assert not is_on_disk(path, CANARY)
        assert log.connection.execute("SELECT seq, body FROM derived_words").fetchall() == [(2, b"kept")]


def test_nothing_is_forgotten_where_a_derived_table_could_not_follow(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Words()])) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", CANARY)
    with closing(open_sqlite(path)) as log:
        with pytest.raises(StoreError, match="words"):
            log.forget("a")
        assert log.bodies("a", [1]) == {1: CANARY}
