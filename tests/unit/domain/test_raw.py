"""JSON at the border: every value a caller can hold goes in and comes out, or is refused with a reason."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.domain import decode, encodable, encode
from contextfold.errors import BadMessage

letters = st.characters(codec=None, exclude_categories=())
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(letters),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(letters), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_whatever_goes_in_comes_out_lone_surrogates_included(value: object) -> None:
    assert decode(encode(value)) == value


@given(st.text(letters))
def test_encodable_text_can_be_written_and_is_itself_where_it_could_be_already(text: str) -> None:
    encodable(text).encode()
    assert encodable(text) == text or any("\ud800" <= letter <= "\udfff" for letter in text)


def test_a_lone_surrogate_stands_as_its_escape() -> None:
    assert encodable("a\ud800b") == "a\\ud800b"
    assert encode("\ud800") == b'"\\ud800"'
    assert decode(b'"\\uD83D"') == decode('"\\ud83d"') == "\ud83d"


def test_keys_keep_the_order_they_came_in() -> None:
    assert encode({"b": 1, "a": 2}) == b'{"b":1,"a":2}'


def deep(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [object(), deep(100_000), {"a": "\ud800", "b": object()}, ["\ud800", math.nan], ["\ud800", deep(100_000)]],
    ids=["an object", "too deep", "an object beside a surrogate", "no number", "too deep beside a surrogate"],
)
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(BadMessage, match="cannot be written as JSON"):
        encode(value)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a":"\\ud800"',
        b'["\\ud800",NaN]',
        b'"\xff"',
        b"[" * 100_000,
        b'["\\ud800",' + b"[" * 100_000,
    ],
    ids=[
        "nothing",
        "cut off",
        "no number",
        "cut off surrogate",
        "no number with surrogate",
        "no text",
        "deep",
        "deep 2",
    ],
)
def test_bytes_that_are_not_json_are_refused(raw: bytes) -> None:
    with pytest.raises(BadMessage, match="This is not JSON"):
        decode(raw)
