"""Whatever is changed behind the log's back is found, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import apsw
import pytest

from contextfold.domain import NewEvent, Origin, Pinned, ThreadRow, commitment, link
from contextfold.errors import ContextFoldError, Corrupt
from contextfold.logs import MemoryLog, Sealed, SqliteLog, open_sqlite
from contextfold.logs.sqlite.directory import row_seal
from contextfold.logs.sqlite.schema import MIGRATIONS, VERSION, migrate, objects_of, version_of
from contextfold.testing.log_contract import appended, blob_sent, message
from tests.crash.disk import UNSYNCED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(open_sqlite(tmp_path / "store.db", vfs=UNSYNCED.name)) as log:
        fill(log)
    return tmp_path / "store.db"


def fill(log: SqliteLog | MemoryLog) -> None:
    log.create(ThreadRow("a"))
    appended(log, "a", b"one", b"two", b"x" * 6000, b"four")
    log.append("a", [message(b"five", key="k", parent=4)], expected=4)
    log.append("a", [blob_sent(system=b"system", parent=5)], expected=5, blobs=[b"system"])
    log.create(ThreadRow("b", origin=Origin("a", 3)))
    appended(log, "b", b"own", b"own too")
    log.forget("a", [2])


def tampered(path: Path, *statements: str) -> None:
    """Change the file with another tool, which the guards cannot stop if it removes them."""
    connection = apsw.Connection(str(path))
    guards = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in guards:
        connection.execute(f'DROP TRIGGER "{name}"')
    for statement in statements:
        connection.execute(statement)
    for _, sql in guards:
        connection.execute(str(sql))
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE activity SET messages = messages + 1 WHERE thread = 1",
        "UPDATE activity SET messages = 0 WHERE thread = 1",
        "UPDATE activity SET folds = 1 WHERE thread = 1",
        "UPDATE activity SET size = size + 1 WHERE thread = 1",
        "UPDATE activity SET at = at + 1 WHERE thread = 1",
        "UPDATE activity SET changed = 1 WHERE thread = 1",
        "UPDATE activity SET changed = 99 WHERE thread = 1",
        "UPDATE activity SET alias = CAST('b' AS BLOB) WHERE thread = 1",
        "UPDATE activity SET alias = CAST('nobody' AS BLOB) WHERE thread = 1",
        "UPDATE activity SET archived = 2 WHERE thread = 1",
        "UPDATE activity SET forgotten = 1 WHERE thread = 1",
    ],
)
def test_what_lists_show_of_a_thread_is_what_its_events_say(path: Path, change: str) -> None:
    assert problems(path) == []
    tampered(path, change)
    assert problems(path) == [("a", "list")]


def test_a_thread_that_lists_do_not_know_is_found(path: Path) -> None:
    tampered(path, "DELETE FROM activity WHERE thread = 2")
    assert problems(path) == [("b", "list")]


def test_lists_are_sound_after_renaming_putting_away_and_forgetting_everything(path: Path) -> None:
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        log.rename("a", "c")
        log.archive("c", True)
        log.forget("b")
        assert log.verify() == []
        log.append("b", [message(b"again", parent=5)], expected=5)
        assert log.verify() == []


def problems(path: Path) -> list[tuple[str, str]]:
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        return [(problem.path, problem.rule) for problem in log.verify()]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE bodies SET bytes = x'00' WHERE seq = 1 AND thread = 1", [("a/1", "chain")]),
        ("UPDATE bodies SET salt = zeroblob(16) WHERE seq = 4 AND thread = 1", [("a/4", "chain")]),
        ("UPDATE events SET at = at + 1 WHERE seq = 4 AND thread = 1", [("a/4", "chain")]),
        ("UPDATE events SET parent = 0 WHERE seq = 4 AND thread = 1", [("a/4", "chain")]),
        ("UPDATE events SET key = x'6b6b' WHERE seq = 5 AND thread = 1", [("a/5", "chain"), ("a/5", "key")]),
        ("UPDATE events SET event = replace(event, 'user', 'fool') WHERE seq = 1", [("a/1", "chain")]),
        ("UPDATE forgotten SET committed = zeroblob(32)", [("a/2", "chain")]),
        ("DELETE FROM forgotten", [("a/2", "chain")]),
        ("DELETE FROM events WHERE seq = 6 AND thread = 1", [("a/6", "checksum")]),
        ("DELETE FROM events WHERE seq = 3 AND thread = 1", [("a/3", "sequence"), ("a/4", "chain"), ("b/4", "chain")]),
        ("DELETE FROM bodies WHERE seq = 4 AND thread = 1", [("a/4", "chain")]),
        ("UPDATE bodies SET bytes = x'00' WHERE id = 4", [("a/3", "chain"), ("blob 4", "digest")]),
        ("UPDATE bodies SET bytes = x'00' WHERE id = 9", [("blob 9", "digest")]),
        ("DELETE FROM bodies WHERE id = 9", [("blob 9", "digest")]),
        ("DELETE FROM names WHERE owner = 0 AND space = 1 AND name = x'61'", [("a", "name")]),
        ("DELETE FROM names WHERE name = x'6b'", [("a/5", "key")]),
        ("UPDATE events SET link = zeroblob(32) WHERE seq = 5 AND thread = 1", [("a/5", "chain"), ("a/6", "chain")]),
        ("UPDATE threads SET origin_seq = 2 WHERE id = 2", [("b/3", "sequence"), ("b/4", "chain"), ("b", "thread")]),
        ("UPDATE threads SET settings = x'5b5d' WHERE id = 1", [("a", "thread")]),
        ("UPDATE names SET name = x'61' WHERE space = 0", [("a", "thread"), ("b", "thread")]),
    ],
)
def test_a_change_is_found_where_it_was_made(path: Path, statement: str, expected: list[tuple[str, str]]) -> None:
    tampered(path, "PRAGMA foreign_keys = off", statement.replace("event = replace(event, 'user', 'fool')", REPLACED))
    assert problems(path) == expected


REPLACED = "event = CAST(replace(CAST(event AS TEXT), 'user', 'fool') AS BLOB)"


def test_a_thread_without_its_row_is_a_broken_structure(path: Path) -> None:
    tampered(path, "PRAGMA foreign_keys = off", "DELETE FROM threads WHERE id = 2")
    assert {rule for _, rule in problems(path)} == {"structure"}


def test_a_sealed_event_of_an_unknown_kind_is_told_from_a_changed_one(path: Path) -> None:
    stored = b'["unheard-of",1]'
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        sealed = link(log.link_at("b", 4), 5, 4, 1.5, "", stored, commitment(b"", b""))
        unknown = Sealed(5, 4, 1.5, "", stored, b"", b"", b"", sealed)
        log.restore(ThreadRow("c", origin=Origin("b", 4)), [unknown])
        assert [(problem.path, problem.rule) for problem in log.verify()] == [("c/5", "event")]
        with pytest.raises(Corrupt, match="'c'"):
            list(log.read("c"))


def test_a_body_that_is_not_there_is_not_read_as_an_empty_one(path: Path) -> None:
    tampered(path, "DELETE FROM bodies WHERE seq = 4 AND thread = 1")
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log, pytest.raises(Corrupt, match="Event 4 of thread 'a'"):
        log.bodies("a", [4])


@pytest.mark.finding("K8")
def test_threads_that_come_from_each_other_are_refused_and_nothing_hangs(path: Path) -> None:
    seal = row_seal(b"default", (b"a", 2, 3, 0.0, b"{}")).hex()
    forged = "UPDATE threads SET origin = 2, origin_seq = 3, seal = x'SEAL' WHERE id = 1".replace("SEAL", seal)
    tampered(path, "PRAGMA foreign_keys = off", forged)
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        assert [row.name for row in log.threads()] == ["b"]
        with pytest.raises(Corrupt, match="cannot come from"):
            list(log.read("a"))
        with pytest.raises(Corrupt, match="cannot come from"):
            log.link_at("b", 3)
        assert log.verify() != []


def everything(log: SqliteLog) -> list[Any]:
    rows = list(log.threads())
    seqs = range(1, 8)
    return [rows, [(list(log.read(row.name)), dict(log.bodies(row.name, seqs))) for row in rows]]


@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_is_found_or_harmless(path: Path, part: int) -> None:
    chance, sound = Random(part), path.read_bytes()
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        expected = everything(log)
    used = [place for place, byte in enumerate(sound) if byte]
    found = 0
    for _ in range(60):
        flipped = bytearray(sound)
        place = chance.choice([chance.randrange(len(sound)), chance.choice(used)])
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        found += is_found(path, lambda log: everything(log) == expected)
    assert found > 5


def is_found(path: Path, is_as_before: Callable[[SqliteLog], bool]) -> bool:
    try:
        with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
            if log.verify():
                return True
            assert is_as_before(log), "a change that nobody notices"
            return False
    except ContextFoldError:
        return True


def test_a_changed_memory_log_is_found_out() -> None:
    log = MemoryLog()
    fill(log)
    assert log.verify() == []
    held = log._threads["a"]
    held.entries[0], held.entries[3] = held.entries[3], held.entries[0]
    assert "chain" in {problem.rule for problem in log.verify()}


def test_every_migration_ends_in_the_schema_of_a_fresh_store(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "fresh.db", vfs=UNSYNCED.name).close()
    for version in range(VERSION + 1):
        connection = apsw.Connection(str(tmp_path / f"{version}.db"))
        for migration in MIGRATIONS[:version]:
            connection.execute(migration)
        connection.pragma("user_version", version)
        migrate(connection)
        fresh = apsw.Connection(str(tmp_path / "fresh.db"))
        assert objects_of(connection) == objects_of(fresh)
        assert version_of(connection) == version_of(fresh) == VERSION
        connection.close()
        fresh.close()


def test_every_table_keeps_its_types_and_names_its_space_first(path: Path) -> None:
    connection = apsw.Connection(str(path))
    tables = connection.execute(
        "SELECT name, \"strict\" FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()
    assert all(is_strict for _, is_strict in tables)
    for name, _ in tables:
        columns = connection.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
        assert "space" in [column for column, _ in columns], name
        first = [column for column, place in columns if place == 1]
        assert first == (["id"] if name == "bodies" else ["space"]), name
    connection.close()


def test_a_bodiless_event_verifies(path: Path) -> None:
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        log.append("b", [NewEvent(Pinned(1), 5, 1.0)], expected=5)
        assert log.verify() == []


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    yield
    assert apsw.connections() == []


@pytest.mark.finding("P1")
def test_a_thread_whose_name_was_lost_is_not_begun_anew_and_others_are_made(path: Path) -> None:
    tampered(path, "DELETE FROM names WHERE owner = 0 AND space = 1 AND name = x'61'")
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        with pytest.raises(Corrupt, match="not found by its name"):
            log.create(ThreadRow("a"))
        assert log.create(ThreadRow("other")).last == 0


@pytest.mark.finding("K3")
def test_damage_that_a_checksum_of_four_bytes_would_miss_is_told_when_the_body_is_read(tmp_path: Path) -> None:
    path, words = tmp_path / "store.db", b'{"role":"user","content":"the port is 8443, in every file of the project"}'
    bits = f"{0x104C11DB7:033b}"  # the polynomial of CRC-32: what is changed by it has the checksum of before
    change = sum(int(bit) << place for place, bit in enumerate(bits)).to_bytes(5, "little")
    changed = bytes(byte ^ each for byte, each in zip(words[30:35], change, strict=True))
    other = words[:30] + changed + words[35:]
    assert crc32(other) == crc32(words)
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        log.append(
            "a", [NewEvent(Pinned(0), 0, 1.0, body=words), NewEvent(Pinned(0), 1, 1.0, body=b"the next")], expected=0
        )
    path.write_bytes(path.read_bytes().replace(words, other))
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        assert log.bodies("a", [2]) == {2: b"the next"}
        with pytest.raises(Corrupt, match="Event 1 of thread 'a'"):
            log.bodies("a", [1, 2])
