"""Threads as lines of JSON: read by people, taken back bit for bit, refused when touched."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.domain import Origin, ThreadRow, digest
from contextfold.errors import Conflict, Corrupt, NotFound, NotOurs, StoreError, TooNew
from contextfold.logs import (
    MemoryLog,
    SealedLog,
    SqliteLog,
    export_lines,
    export_thread,
    import_lines,
    import_thread,
    jsonl,
    open_sqlite,
)
from contextfold.testing.log_contract import NASTY_BODIES, NASTY_TEXTS, appended, blob_sent, message
from tests.crash.disk import UNSYNCED


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(tmp_path / "store.db", vfs=UNSYNCED.name)) as log:
        yield log


def fill(log: SealedLog) -> None:
    """A thread with everything: nasty names, keys, bodies; a blob, a forgotten body, a fork."""
    log.create(ThreadRow("a\ud800", created=1.25, settings={"model": "m", "\udc00": "値"}))
    for seq, (body, key) in enumerate(zip(NASTY_BODIES, NASTY_TEXTS, strict=True)):
        log.append("a\ud800", [message(body, parent=seq, key=key, at=seq + 0.1)], expected=seq)
    last = len(NASTY_BODIES)
    log.append("a\ud800", [blob_sent(system=b"be \xff brief", parent=last)], expected=last, blobs=[b"be \xff brief"])
    log.append("a\ud800", [blob_sent(system=b"be \xff brief", parent=last)], expected=last + 1)
    log.forget("a\ud800", [2])
    log.create(ThreadRow("fork", origin=Origin("a\ud800", 5)))
    appended(log, "fork", b"own")
    log.create(ThreadRow("early", origin=Origin("fork", 3)))
    appended(log, "early", b"own too")


@pytest.mark.parametrize("name", ["a\ud800", "fork", "early"], ids=ascii)
def test_a_thread_comes_back_bit_for_bit(log: SqliteLog, name: str) -> None:
    fill(log)
    lines = list(export_lines(log, name))
    memory = MemoryLog()
    assert import_lines(memory, lines) == name
    assert list(export_lines(memory, name)) == lines
    assert import_lines(log, lines, "copy") == "copy"
    assert (log.verify(), memory.verify()) == ([], [])
    own = list(log.sealed(name))
    assert [entry.link for entry in log.sealed("copy")][-len(own) :] == [entry.link for entry in own]
    assert [(row.created, row.settings) for row in memory.threads()] == [
        (row.created, row.settings) for row in log.threads() if row.name == name
    ]


def test_a_blob_that_is_named_comes_along(log: SqliteLog) -> None:
    fill(log)
    memory = MemoryLog()
    import_lines(memory, export_lines(log, "a\ud800"))
    assert memory.blob(digest(b"be \xff brief")) == b"be \xff brief"


def test_people_can_read_it(log: SqliteLog) -> None:
    log.create(ThreadRow("a", settings={"model": "m"}))
    appended(log, "a", '{"role":"user","content":"日本語"}'.encode())
    header, event, end = (json.loads(line) for line in export_lines(log, "a"))
    assert header == {"line": "thread", "format": 1, "name": "a", "created": 0.0, "settings": {"model": "m"}}
    assert event["body"] == '{"role":"user","content":"日本語"}'
    assert event["event"][0] == "appended"
    assert (end["line"], end["seq"], end["link"]) == ("end", 1, event["link"])


def test_an_empty_thread_comes_back_too() -> None:
    log, other = MemoryLog(), MemoryLog()
    log.create(ThreadRow("a"))
    import_lines(other, export_lines(log, "a"))
    assert list(other.threads()) == list(log.threads())


def test_files_are_private_and_never_written_over(log: SqliteLog, tmp_path: Path) -> None:
    fill(log)
    path = tmp_path / "thread.jsonl"
    export_thread(log, "fork", path)
    assert S_IMODE(path.stat().st_mode) == 0o600
    assert import_thread(log, path, "again") == "again"
    with pytest.raises(StoreError, match="File exists"):
        export_thread(log, "early", path)
    with pytest.raises(NotFound, match="none"):
        import_thread(log, tmp_path / "none")
    with pytest.raises(NotFound, match="nobody"):
        export_thread(log, "nobody", tmp_path / "nobody.jsonl")
    assert not (tmp_path / "nobody.jsonl").exists()


def test_a_name_that_is_taken_is_refused(log: SqliteLog) -> None:
    fill(log)
    with pytest.raises(Conflict, match="already"):
        import_lines(log, export_lines(log, "fork"))


def simple() -> list[bytes]:
    log = MemoryLog()
    log.create(ThreadRow("a"))
    appended(log, "a", b"1", b"2", b"3")
    log.append("a", [message(b"4", key="k", parent=3), blob_sent(system=b"s", parent=3)], expected=3, blobs=[b"s"])
    log.forget("a", [2])
    return list(export_lines(log, "a"))


def refused(lines: list[bytes]) -> StoreError:
    """Why it is refused, by a log of each kind, with nothing left behind."""
    memory = MemoryLog()
    with pytest.raises(StoreError) as caught:
        import_lines(memory, lines)
    assert list(memory.threads()) == []
    return caught.value


def changed(number: int, **fields: Any) -> list[bytes]:
    """The simple thread with some fields of one line changed; None takes a field out."""
    lines = simple()
    line = {**json.loads(lines[number - 1]), **fields}
    lines[number - 1] = json.dumps({name: value for name, value in line.items() if value is not None}).encode()
    return lines


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (changed(2, body="other"), "Line 2.*chain"),
        (changed(2, salt="00" * 16), "Line 2.*chain"),
        (changed(2, salt="00" * 15), "Line 2.*salt"),
        (changed(2, salt="zz"), "Line 2"),
        (changed(2, at=7.0), "Line 2.*chain"),
        (changed(2, at=1e999), "Line 2"),
        (changed(2, parent=5), "Line 2.*written on 5"),
        (changed(2, parent=-1), "Line 2.*written on -1"),
        (changed(2, seq=2), "Line 2.*follows"),
        (changed(2, key="k"), "Line 2.*chain"),
        (changed(2, link="00"), "Line 2.*hash"),
        (changed(2, body64="MQ=="), "Line 2.*base64"),
        (changed(2, body=None, body64="M Q=="), "Line 2"),
        (changed(2, event=["unheard-of", 1]), "Line 2.*chain"),
        (changed(2, surprise=1), "Line 2.*surprise"),
        (changed(3, forgotten="00" * 32), "Line 3.*chain"),
        (changed(3, body="back again"), "Line 3.*forgotten event has a body"),
        (changed(3, line="thread"), "Line 3"),
        (changed(6, body="t"), "Line 7.*names a blob that is not"),
        (simple()[:-1], "cut short"),
        ([*simple()[:-1], simple()[-2], simple()[-1]], "Line 8.*follows"),
        ([*simple(), b"\n"], "Line 8.*follows the last line"),
        ([*simple()[:2], *simple()[3:]], "Line 3.*follows"),
        ([*simple()[:2], simple()[0], *simple()[2:]], "Line 3.*second thread"),
        ([*simple()[:2], b"[" * 200_000, *simple()[2:]], "Line 3"),
        ([*simple()[:2], b'{"line":"event","seq":' + b"9" * 5000 + b"}", *simple()[2:]], "Line 3"),
        ([*simple()[:2], b"\xff\xfe", *simple()[2:]], "Line 3"),
        ([*simple()[:2], b"", *simple()[2:]], "Line 3"),
    ],
)
def test_whatever_was_touched_is_refused_with_its_line(lines: list[bytes], told: str) -> None:
    error = refused(lines)
    assert isinstance(error, Corrupt)
    assert re.search(told, str(error)), str(error)


@pytest.mark.parametrize(
    "lines",
    [[], [b""], [b"hello"], [b"{}"], [b"\xff"], [b"[" * 100_000], [simple()[1]], [b'{"line":"thread"}']],
    ids=range(8),
)
def test_what_is_no_exported_thread_is_told_apart(lines: list[bytes]) -> None:
    assert isinstance(refused(lines), NotOurs)


def test_a_newer_format_is_told_apart() -> None:
    assert isinstance(refused(changed(1, format=2)), TooNew)


@pytest.mark.parametrize("settings", [b"[]", b'{"a":1}', b"text", b"[" * 100_000], ids=range(4))
def test_settings_must_be_texts(settings: bytes) -> None:
    assert isinstance(refused(changed(1, settings64=b64encode(settings).decode())), Corrupt)
    assert isinstance(refused(changed(1, settings64="!")), Corrupt)


def test_a_line_longer_than_any_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 400)
    lines = simple()
    assert max(map(len, lines)) < 400
    import_lines(MemoryLog(), lines)
    assert "longer" in str(refused([*lines[:2], b" " * 401, *lines[2:]]))


def test_a_key_used_twice_is_refused() -> None:
    log = MemoryLog()
    log.create(ThreadRow("a"))
    log.append("a", [message(b"1", key="k")], expected=0)
    log._threads["a"].keys.clear()
    log.append("a", [message(b"2", key="k", parent=1)], expected=1)
    assert "used before" in str(refused(list(export_lines(log, "a"))))


def test_a_blob_nobody_names_is_refused() -> None:
    lines = simple()
    stray = b'{"line":"blob","body":"stray"}\n'
    assert "no event names" in str(refused([*lines[:-1], stray, lines[-1]]))


@given(st.data())
def test_no_garbage_gets_in_or_out_as_another_error(data: st.DataObject) -> None:
    lines = simple()
    number = data.draw(st.integers(0, len(lines) - 1))
    touch: Callable[[bytes], bytes] = data.draw(st.sampled_from(TOUCHES))
    lines[number] = touch(lines[number])
    memory = MemoryLog()
    try:
        import_lines(memory, lines)
    except StoreError:
        assert list(memory.threads()) == []
    else:
        assert memory.verify() == []


TOUCHES: list[Callable[[bytes], bytes]] = [
    lambda line: line[: len(line) // 2],
    lambda line: line + line,
    lambda line: line.replace(b"1", b"2"),
    lambda line: line.replace(b'"', b"'"),
    lambda line: line.replace(b":", b":\x00", 1),
    lambda line: line.replace(b"}", b',"line":"end"}'),
    lambda line: line.replace(b"0", b"\\ud800"),
    lambda line: b" " + line,
    lambda line: line.replace(b"a", b"\xff"),
]
