"""Files as bytes: compressed, damaged, hostile, or not files at all."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.errors import BadMessage, NotFound
from contextfold.transcripts import Limits, Recording
from tests.unit.transcripts.every import FILES
from tests.unit.transcripts.samples import Json, jsonl, kinds, places, put, put_lines, spelled, whole
from tests.unit.transcripts.test_claude_code import SESSION, answer, call, line
from tests.unit.transcripts.test_codex import ROLLOUT, said
from tests.unit.transcripts.test_plain import ANTHROPIC

SMALL = Limits(line=2_000, document=5_000, depth=20, ratio=10, free=10_000)


def limited(path: Path) -> list[Recording]:
    return list(transcripts.read(path, limits=SMALL))


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_known_by_content_and_reads_the_same_compressed(tmp_path: Path, name: str) -> None:
    plain = put(tmp_path, FILES[name], "misleading.traj")
    compressed = put(tmp_path, gzip.compress(FILES[name]), "misleading.txt")

    assert transcripts.detect(plain) == transcripts.detect(compressed) == name.split()[0]
    first, second = list(transcripts.read(plain)), list(transcripts.read(compressed))
    assert [each.whole() for each in first] == [each.whole() for each in second]
    assert sum(len(each.whole().turns) for each in first) > 1


def test_a_byte_order_mark_and_carriage_returns_are_no_matter(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + jsonl(ANTHROPIC).replace(b"\n", b"\r\n")

    assert len(whole(put(tmp_path, content)).turns) == 4


def test_a_last_line_without_a_newline_is_a_line(tmp_path: Path) -> None:
    assert places(whole(put(tmp_path, jsonl(ANTHROPIC).removesuffix(b"\n")))) == [1, 2, 3, 4]


def test_compressed_data_that_ends_early_gives_what_came_before_and_says_so(tmp_path: Path) -> None:
    content = gzip.compress(jsonl([{"role": "user", "content": os.urandom(600).hex()} for _ in range(200)]))

    read = whole(put(tmp_path, content[: len(content) // 2]))

    assert 50 < len(read.turns) < 150
    assert kinds(read) == ["damaged"]
    assert places(read) == list(range(1, len(read.turns) + 2))


def test_compressed_data_that_is_damaged_is_refused_by_a_strict_reading(tmp_path: Path) -> None:
    content = gzip.compress(jsonl(SESSION))

    with pytest.raises(BadMessage, match="session, line"):
        list(transcripts.read(put(tmp_path, content[:-10]), strict=True))


def test_several_compressed_parts_in_one_file_are_one_file(tmp_path: Path) -> None:
    content = b"".join(gzip.compress(jsonl([row])) for row in ANTHROPIC) + b"\0" * 7

    assert len(whole(put(tmp_path, content)).turns) == 4


def test_something_else_behind_compressed_data_is_reported(tmp_path: Path) -> None:
    read = whole(put(tmp_path, gzip.compress(jsonl(ANTHROPIC)) + b"something else"))

    assert len(read.turns) == 4
    assert "not gzip" in read.defects[0].what


def test_a_file_that_inflates_beyond_measure_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(jsonl([ANTHROPIC[0]] * 5_000))

    with pytest.raises(BadMessage, match="more than 10 times its size"):
        limited(put(tmp_path, bomb))


def test_a_bomb_of_one_endless_line_takes_no_memory(tmp_path: Path) -> None:
    bomb = put(tmp_path, gzip.compress(jsonl([ANTHROPIC[0], b" " * 100_000_000])))

    def read() -> None:
        with pytest.raises(BadMessage):
            whole(bomb)

    assert peak(read) < 40_000_000  # 100 MB come out of the file; a line may have 32


def test_a_line_that_is_too_long_is_reported_and_passed_over(tmp_path: Path) -> None:
    rows: list[Json] = [ANTHROPIC[0], {"role": "user", "content": "x" * 3_000}, ANTHROPIC[0]]

    (recording,) = limited(put_lines(tmp_path, rows))

    assert [turn.lines for turn in recording.turns] == [(1,), (3,)]
    assert "longer than 2,000 bytes" in recording.defects[0].what


def test_a_document_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadMessage, match="not a recorded session"):
        limited(put(tmp_path, spelled([{"role": "user", "content": "x" * 6_000}])))


@pytest.mark.parametrize("depth", [30, 5_000, 200_000])
def test_a_value_nested_too_deep_is_reported_whatever_its_depth(tmp_path: Path, depth: int) -> None:
    deep = b'{"role":"user","content":' + b"[" * depth + b"]" * depth + b"}"

    (recording,) = transcripts.read(put_lines(tmp_path, [ANTHROPIC[0], deep]), limits=Limits(depth=20))

    assert kinds(recording.whole()) == ["damaged"]


@pytest.mark.parametrize(
    "bad",
    [
        b'{"role":"user","content":"\xe9"}',
        b'{"role":"user","content":"\x00"}',
        b'{"role":"user","n":1e999}',
        b'{"role":"user","n":' + b"9" * 5_000 + b"}",
        b'{"role":"user","content":NaN}',
        b"\x1b[31mred",
        b'"text"',
        b"17",
        b"null",
        b"true",
    ],
)
def test_a_line_that_is_no_object_is_reported(tmp_path: Path, bad: bytes) -> None:
    read = whole(put_lines(tmp_path, [ANTHROPIC[0], bad]))

    assert [(defect.line, defect.kind) for defect in read.defects] == [(2, "damaged")]
    assert "\x1b" not in read.defects[0].what


def test_a_damaged_first_line_does_not_hide_the_rest(tmp_path: Path) -> None:
    for damaged, rows in ((b'{"type":"user","uu', SESSION), (b"\xff\xff", ROLLOUT)):
        read = whole(put(tmp_path, damaged + b"\n" + jsonl(rows)))
        assert read.defects[0].line == 1
        assert len(read.turns) > 4


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (jsonl(ANTHROPIC).decode().encode("utf-16"), "UTF-16"),
        (jsonl(ANTHROPIC).decode().encode("utf-16-le"), "UTF-16"),
        (jsonl(ANTHROPIC).decode().encode("utf-32-be"), "not a recorded session"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"SQLite format 3\x00", "SQLite"),
    ],
)
def test_what_is_stored_in_another_way_is_refused_with_a_hint(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(BadMessage, match=why):
        transcripts.detect(put(tmp_path, content))


def test_a_missing_file_a_directory_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotFound, match="no file"):
        transcripts.detect(tmp_path / "nothing")
    with pytest.raises(BadMessage, match="not a regular file"):
        transcripts.detect(tmp_path)
    with pytest.raises(BadMessage, match="not a regular file"):
        transcripts.detect(tmp_path / "pipe")
    with pytest.raises(BadMessage, match="cannot be read"):
        transcripts.detect("nul\0byte")


def test_a_name_that_a_terminal_would_obey_is_shown_harmless(tmp_path: Path) -> None:
    with pytest.raises(BadMessage) as refused:
        transcripts.detect(put(tmp_path, b"", "\x1b[31m\u202ered"))

    assert str(refused.value).isprintable()


def test_a_file_that_grows_while_it_is_read_gives_what_was_there_at_first(tmp_path: Path) -> None:
    path = put_lines(tmp_path, SESSION)
    (recording,) = transcripts.read(path)
    with path.open("ab") as file:
        file.write(jsonl([line("user", "u9", "a4", "later")]))

    assert len(list(recording.turns)) == 5


def peak(act: object) -> int:
    """The most memory that was in use while something ran."""
    assert callable(act)
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def claude_code(lines: int) -> Iterator[Json]:
    parent = None
    for number in range(0, lines, 2):
        yield line("assistant", f"a{number}", parent, call(f"c{number}"), message={"id": f"m{number}"})
        found = answer(f"c{number}")
        found[0]["content"] = f"{number} " * 700
        yield line("user", f"r{number}", f"a{number}", found)
        parent = f"r{number}"


def codex(lines: int) -> Iterator[Json]:
    yield ROLLOUT[0]
    for number in range(lines):
        yield said("user" if number % 2 else "assistant", f"{number} " * 350)


def chat(lines: int) -> Iterator[Json]:
    for number in range(lines):
        yield {"role": "assistant" if number % 2 else "user", "content": f"{number} " * 350}


@pytest.mark.parametrize("make", [claude_code, codex, chat])
def test_memory_does_not_grow_with_the_size_of_a_file_of_lines(tmp_path: Path, make: object) -> None:
    assert callable(make)
    small = put_lines(tmp_path, make(500), "small")
    large = put_lines(tmp_path, make(6_000), "large")

    def read(path: Path) -> int:
        return peak(lambda: sum(1 for recording in transcripts.read(path) for _ in recording.entries()))

    assert large.stat().st_size > 8_000_000
    # 35 bytes a line for the tree, and up to 10,000 ids of answered calls, are what may grow.
    assert read(large) < read(small) + 1_500_000
