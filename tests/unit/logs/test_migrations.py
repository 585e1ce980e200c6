"""Files of earlier versions are brought up to date when they are opened, with everything that is in them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
from msgspec.structs import replace

from contextfold.domain import Cover, Folded, ListedThread, NewEvent, Origin, Pinned, Shape, ThreadPage, ThreadRow
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.logs.sqlite.schema import APPLICATION_ID, MIGRATIONS, PAGE_SIZE
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import UNSYNCED

COPIES = (
    ("SELECT * FROM names", "INSERT INTO names VALUES (?, ?, ?, ?)"),
    ("SELECT * FROM threads", "INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
    (
        "SELECT space, thread, seq, parent, step, body, at, key, event, link FROM events",
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    (
        "SELECT * FROM bodies WHERE thread IS NULL OR blob IS NOT NULL OR bytes IS NOT NULL",
        "INSERT INTO bodies VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    ("SELECT * FROM forgotten", "INSERT INTO forgotten VALUES (?, ?, ?, ?)"),
)


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
    """The same events as the first version of the schema kept them."""
    with closing(apsw.Connection(str(newer))) as source, closing(apsw.Connection(str(path))) as connection:
        connection.pragma("page_size", PAGE_SIZE)
        connection.execute(MIGRATIONS[0])
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", 1)
        for read, write in COPIES:
            connection.executemany(write, source.execute(read).fetchall())


def listed(log: SqliteLog) -> list[ListedThread]:
    return [replace(row, changed=0) for row in log.page(ThreadPage("created"))]


def test_a_file_of_the_first_version_is_listed_like_one_that_was_always_counted(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "new.db", vfs=UNSYNCED.name)) as log:
        fill(log)
        expected = listed(log)
    first_version(tmp_path / "old.db", tmp_path / "new.db")
    with closing(open_sqlite(tmp_path / "old.db", vfs=UNSYNCED.name)) as log:
        assert listed(log) == expected
        assert [row.name for row in log.page(ThreadPage("activity"))] == ["a", "empty", "fork", "gone"]
        assert log.verify() == []
        cursor = log.page(ThreadPage("activity"))[0].changed
        appended(log, "fork", b"more")
        assert [(each.thread, each.seq) for each in log.changes(after=cursor)] == [("fork", 3)]
        assert [row.name for row in log.page(ThreadPage("activity", limit=1))] == ["fork"]
