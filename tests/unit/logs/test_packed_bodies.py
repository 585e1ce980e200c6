"""Bodies are kept packed where that is a good deal shorter, and nobody who reads them can tell."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from zlib import compress

import apsw
import pytest

from contextfold.domain import ThreadPage, ThreadRow
from contextfold.errors import Corrupt
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.logs.sqlite.append import packed
from contextfold.logs.sqlite.read import unpacked
from contextfold.testing.log_contract import appended
from tests.crash.disk import UNSYNCED

WORDS = b"words that are said again and again, " * 30
LONG = b"a long output of some tool\n" * 2000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        yield log


@pytest.mark.parametrize("size", [0, 1, 511, 512, 2000, 4096, 4097, 16_384, 16_385, 200_000])
def test_words_come_back_as_they_were(size: int) -> None:
    for body in (WORDS * 200, Random(size).randbytes(size).hex().encode(), Random(size).randbytes(size)):
        kept = packed(body[:size])
        assert unpacked(kept.kept, kept.unpacked) == body[:size]
        assert len(kept.kept) <= size


@pytest.mark.parametrize(
    ("body", "is_packed"),
    [
        (WORDS[:511], False),
        (WORDS, True),
        (LONG, True),
        (Random(1).randbytes(3000), False),
        (b64encode(Random(1).randbytes(90_000)), False),
        (Random(1).randbytes(1000).hex().encode(), True),
    ],
    ids=["short", "words", "long", "noise", "an image", "digits"],
)
def test_only_what_becomes_a_good_deal_shorter_is_packed(body: bytes, is_packed: bool) -> None:
    assert (packed(body).unpacked == len(body)) is is_packed


@pytest.mark.parametrize(
    ("kept", "size"),
    [
        (compress(b"x" * 1000), 999),
        (compress(b"x" * 1000), 1001),
        (compress(b"x" * 1000), 0),
        (compress(b"x" * 1000), -1),
        (compress(b"x" * 1000), 2**63 - 1),
        (compress(b"x" * 10_000_000), 1000),
        (compress(b"x" * 1000)[:-1], 1000),
        (compress(b"x" * 1000) + b"more", 1000),
        (b"no packed bytes", 1000),
        (b"", 1000),
    ],
)
def test_what_cannot_be_unpacked_to_what_the_row_says_is_given_as_it_lies(kept: bytes, size: int) -> None:
    assert unpacked(kept, size) == kept


@pytest.mark.parametrize("body", [WORDS, LONG], ids=["in its row", "a blob"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE bodies SET bytes = zeroblob(length(bytes)) WHERE unpacked IS NOT NULL",
        "UPDATE bodies SET unpacked = unpacked - 1",
        "UPDATE bodies SET unpacked = NULL",
    ],
    ids=["its bytes", "its size", "no size"],
)
def test_a_damaged_packed_body_is_told_with_its_seq_and_the_others_are_read(
    log: SqliteLog, path: Path, body: bytes, change: str
) -> None:
    appended(log, "a", b"before", body, b"after")
    log.close()
    with closing(apsw.Connection(str(path))) as connection:
        guard = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'bodies_stay'").get
        connection.execute("DROP TRIGGER bodies_stay")
        connection.execute(change)
        connection.execute(str(guard))
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as damaged:
        with pytest.raises(Corrupt, match=r"Event 2 of thread 'a'.*rescue") as told:
            damaged.bodies("a", [1, 2, 3])
        assert (told.value.thread, told.value.seq) == ("a", 2)
        assert damaged.bodies("a", [1, 3]) == {1: b"before", 3: b"after"}
        assert "a/2" in [problem.path for problem in damaged.verify()]
        if body is LONG:
            with pytest.raises(Corrupt, match="nothing can share them"):
                appended(damaged, "a", LONG)


def test_lists_tell_sizes_unpacked_and_equal_ones_are_kept_once(log: SqliteLog) -> None:
    appended(log, "a", WORDS, LONG, LONG)
    (row,) = log.page(ThreadPage())
    assert row.size == len(WORDS) + 2 * len(LONG)
    assert log.connection.execute("SELECT count(*) FROM bodies WHERE unpacked IS NOT NULL").get == 2
    log.forget("a", [1, 2])
    (row,) = log.page(ThreadPage())
    assert row.size == len(LONG)
    assert log.bodies("a", [1, 2, 3]) == {3: LONG}
    assert log.verify() == []


def test_how_many_bytes_a_packed_body_has_never_changes(log: SqliteLog) -> None:
    appended(log, "a", WORDS)
    with pytest.raises(apsw.ConstraintError, match="never change"):
        log.connection.execute("UPDATE bodies SET unpacked = 1 WHERE unpacked IS NOT NULL")
