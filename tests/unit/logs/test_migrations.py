"""Files of earlier versions are brought up to date when they are opened, with everything that is in them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from zlib import decompress

import apsw
import pytest
from msgspec.structs import replace

from contextfold.domain import Cover, Folded, ListedThread, NewEvent, Origin, Pinned, Shape, ThreadPage, ThreadRow
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.logs.sqlite.database import rows
from contextfold.logs.sqlite.schema import APPLICATION_ID, MIGRATIONS, VERSION, version_of
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import UNSYNCED

COPIES = (
    ("SELECT * FROM names", "INSERT INTO names VALUES (?, ?, ?, ?)"),
    ("SELECT * FROM threads", "INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
    (
        "SELECT space, thread, seq, parent, step, body, at, key, event, link FROM events",
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    ("SELECT * FROM forgotten", "INSERT INTO forgotten VALUES (?, ?, ?, ?)"),
)
BODIES = (
    "SELECT id, space, thread, seq, blob, salt, bytes, unpacked FROM bodies"
    " WHERE thread IS NULL OR blob IS NOT NULL OR bytes IS NOT NULL"
)
OLD_PAGE = 16384  # of files before the eighth version


def fill(log: SqliteLog) -> None:
    log.create(ThreadRow("gone", created=1.0))
    appended(log, "gone", b"secret", b"y" * 5000)
    log.create(ThreadRow("a", created=2.0, settings={"model": "m"}))
    fold = NewEvent(Folded("window", Cover(((1, 1),)), Shape("user")), 2, 5.0, b"gone")
    log.append(
        "a", [message(b"1234", at=4.0), message(b"x" * 6000, at=4.5), fold, NewEvent(Pinned(2), 3, 8.0)], expected=0
    )
    log.create(ThreadRow("fork", origin=Origin("a", 2), created=6.0))
    log.create(ThreadRow("empty", created=7.0))
    log.forget("gone")
    log.forget("a", [1])


def first_version(path: Path, newer: Path) -> None:
    earlier_version(path, newer, 1)


def earlier_version(path: Path, newer: Path, version: int) -> None:
    """The same events as this version of the schema kept them, in a file that was begun with the first."""
    with closing(apsw.Connection(str(newer))) as source, closing(apsw.Connection(str(path))) as connection:
        connection.pragma("page_size", OLD_PAGE)
        connection.execute(MIGRATIONS[0])
        connection.pragma("application_id", APPLICATION_ID)
        for read, write in COPIES:
            connection.executemany(write, source.execute(read).fetchall())
        for *place, kept, size in rows(source, BODIES):
            plain = kept if size is None else decompress(kept) if any(kept) else bytes(size)
            connection.execute("INSERT INTO bodies VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, plain))
        for migration in MIGRATIONS[1:version]:
            connection.execute(migration)
        connection.pragma("user_version", version)


def listed(log: SqliteLog) -> list[ListedThread]:
    return [replace(row, changed=0) for row in log.page(ThreadPage("created"))]


EARLIER = pytest.mark.parametrize("version", range(1, VERSION))


@EARLIER
def test_an_earlier_file_is_listed_like_one_that_was_always_counted(tmp_path: Path, version: int) -> None:
    with closing(open_sqlite(tmp_path / "new.db", vfs=UNSYNCED.name)) as log:
        fill(log)
        expected = listed(log)
    earlier_version(tmp_path / "old.db", tmp_path / "new.db", version)
    with closing(open_sqlite(tmp_path / "old.db", vfs=UNSYNCED.name)) as log:
        assert listed(log) == expected
        assert [row.name for row in log.page(ThreadPage("activity"))] == ["a", "empty", "fork", "gone"]
        assert log.verify() == []
        cursor = log.page(ThreadPage("activity"))[0].changed
        appended(log, "fork", b"more")
        assert [(each.thread, each.seq) for each in log.changes(after=cursor)] == [("fork", 3)]
        assert [row.name for row in log.page(ThreadPage("activity", limit=1))] == ["fork"]


@EARLIER
def test_what_an_earlier_version_said_is_read_as_it_was_and_what_comes_now_is_packed(
    tmp_path: Path, version: int
) -> None:
    with closing(open_sqlite(tmp_path / "new.db", vfs=UNSYNCED.name)) as log:
        fill(log)
        expected = dict(log.bodies("a", range(1, 5)))
        entries = list(log.sealed("a"))
    earlier_version(tmp_path / "old.db", tmp_path / "new.db", version)
    with closing(open_sqlite(tmp_path / "old.db", vfs=UNSYNCED.name)) as log:
        assert version_of(log.connection) == VERSION
        assert (dict(log.bodies("a", range(1, 5))), list(log.sealed("a"))) == (expected, entries)
        assert expected[2] == b"x" * 6000
        assert packed_sizes(log) == []
        appended(log, "a", b"more words " * 100, b"x" * 6000, b"y" * 6000)
        assert packed_sizes(log) == [1100, 6000], "the second is kept once, as it was"
        assert log.bodies("a", [5, 6, 7]) == {5: b"more words " * 100, 6: b"x" * 6000, 7: b"y" * 6000}
        assert log.connection.pragma("page_size") == OLD_PAGE
        log.forget("a")
        assert log.verify() == []


def packed_sizes(log: SqliteLog) -> list[int]:
    return [size for (size,) in rows(log.connection, "SELECT unpacked FROM bodies WHERE unpacked IS NOT NULL")]
