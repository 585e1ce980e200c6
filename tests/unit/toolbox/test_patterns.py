"""A pattern of a tool's schema is checked in time that grows with the text, whatever the pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextfold.domain import ToolCall, encode
from contextfold.toolbox import Tool, enforce
from contextfold.toolbox.patterns import Unchecked, has_pattern
from tests.effort import least, walk
from tests.unit.toolbox.scene import situation

pytestmark = pytest.mark.finding("K2")

PATTERNS = (
    *(
        "^a+$",
        "a|b",
        "^(a|ab)(c|bcd)(d*)$",
        "a{2,3}b",
        "a{2}",
        "(a+)+b",
        "^[a-c]*d?$",
        r"^\d+-\w+$",
        r"\bab\b",
        "^$",
        "",
    ),
    *("^$", "^a{,}$", "(ab?){2,}-"),
    *("^(?:a|b)*abb$", "a.b", "[^ab]", "a??b", "(a*)*", "x{0}a", "^a{,2}$", r"\Bb", "(|a)+b", "a{2,}$", "[]a]", r"\.$"),
)


@given(st.text("abcd 1-.\n", max_size=12))
@example("")
@example("aab")
@example("a\n")
def test_it_finds_what_re_finds(text: str) -> None:
    found = {pattern: has_pattern(pattern, text) for pattern in PATTERNS}
    assert found == {pattern: re.search(pattern, text) is not None for pattern in PATTERNS}


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "^(a|aa)+$", "a*a*a*a*a*a*b", "(?:(?:a*)*)*b"])
def test_a_pattern_that_would_take_minutes_takes_a_moment(pattern: str) -> None:
    found: list[bool] = []
    assert least(lambda: found.append(has_pattern(pattern, "a" * 1_000 + "!"))) < 30 * walk()
    assert found == [False]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(?=a)(a+)+b", "a" * 30), ("^(?!x).*$", "a" * 201), ("a{5000}" * 2, "a" * 201), ("[ab]{1,2000}", "a" * 10_000)],
)
def test_what_cannot_be_checked_in_good_time_is_said_to_be_so(pattern: str, text: str) -> None:
    with pytest.raises(Unchecked, match="in good time"):
        has_pattern(pattern, text)


def test_a_pattern_that_looks_around_is_checked_for_short_texts() -> None:
    assert has_pattern("^(?!x)[a-z]+$", "abc")
    assert not has_pattern("^(?!x)[a-z]+$", "xbc")


def test_a_pattern_that_nobody_can_read_is_not_held_against_anybody() -> None:
    assert has_pattern("(", "anything")
    assert has_pattern(r"\p{L}+", "anything")


def test_a_call_that_cannot_be_checked_is_refused_and_the_model_reads_why() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "(?=a)(a+)+b"}}}
    tool = Tool("find", schema=schema, side_effects=False)
    ruling = enforce(ToolCall("1", "find", encode({"name": "a" * 40}).decode()), situation(), [tool])
    assert not ruling.is_allowed
    assert "40 characters cannot be checked" in ruling.text
