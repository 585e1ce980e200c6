"""Parts of files with every cut named, and whether a file is still what a tool showed of it."""

from __future__ import annotations

import pytest

from contextfold.workspace import Use
from contextfold.workspace.files import excerpt
from contextfold.workspace.reads import is_as_shown

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def words(text: str) -> int:
    return len(text.split())


def test_what_fits_is_whole() -> None:
    found = excerpt(TEN, None, None, words, 100)
    assert (found.text, found.where, found.left_out) == (TEN.removesuffix("\n"), "whole", "")


def test_lines_are_counted_from_one_and_named() -> None:
    found = excerpt(TEN, 3, 4, words, 100)
    assert (found.text, found.where, found.left_out) == ("line 3\nline 4", "lines 3-4 of 10", "")


@pytest.mark.seed("C16")
def test_a_cut_says_what_is_missing() -> None:
    found = excerpt(TEN, None, None, words, 8)
    assert (found.text.splitlines()[-1], found.where, found.left_out) == (
        "line 4",
        "lines 1-4 of 10",
        "lines 5-10 do not fit here",
    )


def test_a_line_too_long_for_the_room_is_cut_inside() -> None:
    found = excerpt("x" * 1_000, None, None, len, 10)
    assert (len(found.text), found.left_out) == (10, "990 characters of line 1 do not fit here")


@pytest.mark.parametrize("first", [None, 5, 99])
def test_an_empty_file_and_lines_beyond_the_end_are_no_accident(first: int | None) -> None:
    assert excerpt("", first, None, words, 10).text == ""
    assert excerpt(TEN, first, None, words, 100).text.endswith("line 10")


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a\nb\nc", True),
        ("1\ta\n2\tb\n3\tc", True),
        ("     1→a\n     2→b\n     3→c", True),
        ("1 | a\n2 | b\n3 | c", True),
        ("1\ta\n2\tB\n3\tc", False),
        ("a digest of the file", None),
        ("", None),
    ],
)
def test_what_a_tool_showed_is_a_witness_where_it_can_be_one(shown: str, same: bool | None) -> None:
    assert is_as_shown(Use("f", "read", 1, text=shown), "a\nb\nc\n") is same


def test_what_was_written_whole_is_known_exactly_and_an_edit_tells_nothing() -> None:
    whole = Use("f", "write", 1, text="a\n", is_whole=True)
    assert (is_as_shown(whole, "a\n"), is_as_shown(whole, "b\n")) == (True, False)
    assert is_as_shown(Use("f", "write", 1), "a\n") is None


def test_only_the_lines_that_were_read_are_compared() -> None:
    assert is_as_shown(Use("f", "read", 1, 2, 3, "b\nc"), "CHANGED\nb\nc\n") is True


BEFORE = "".join(f"line {number}\n" for number in range(1, 9))
NUMBERED = "".join(f"{number}\tline {number}\n" for number in range(1, 9))


@pytest.mark.finding("S6")
@pytest.mark.parametrize("shown", [BEFORE, NUMBERED], ids=["plain", "numbered"])
@pytest.mark.parametrize(
    "now",
    [
        "".join(f"other {number}\n" for number in range(1, 9)),
        BEFORE + "line 9\n",
        BEFORE.removesuffix("line 8\n"),
        BEFORE.replace("line 4", "line four"),
        "line 1\n",
        "",
    ],
    ids=["replaced", "lengthened", "shortened", "edited", "one line left", "emptied"],
)
def test_a_file_that_changed_while_nobody_looked_is_noticed(shown: str, now: str) -> None:
    assert is_as_shown(Use("f", "read", 1, text=shown), now) is False


@pytest.mark.finding("S6")
@pytest.mark.parametrize("shown", [BEFORE, NUMBERED], ids=["plain", "numbered"])
@pytest.mark.parametrize(
    "behind", ["", "\n[2 more lines truncated]", "\n... (truncated)"], ids=["bare", "told", "dots"]
)
def test_a_read_that_was_cut_in_the_middle_of_a_line_is_no_change(shown: str, behind: str) -> None:
    cut = shown[: shown.rindex("line 6") + 3] + behind
    assert is_as_shown(Use("f", "read", 1, text=cut), BEFORE) is True


@pytest.mark.finding("S6")
def test_a_long_answer_may_be_cut_by_its_tool_and_is_no_change() -> None:
    long = "".join(f"line {number}\n" for number in range(500))
    assert is_as_shown(Use("f", "read", 1, text=long[: long.index("line 250")]), long) is True
