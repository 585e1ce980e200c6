"""How deep, and of how many values, data from outside may be."""

from __future__ import annotations

from typing import Any

import pytest

from contextfold.domain import MOST_DEPTH, encode, is_deep, refuse_deep_json, refuse_many
from contextfold.domain.depth import MOST_VALUES
from contextfold.errors import BadMessage
from tests.effort import least


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


@pytest.mark.finding("K16")
def test_depth_is_counted_in_objects_and_arrays() -> None:
    assert not is_deep("text")
    assert not is_deep(nested(MOST_DEPTH))
    assert is_deep(nested(MOST_DEPTH + 1))
    assert is_deep((nested(MOST_DEPTH),))
    assert is_deep({"wide": [nested(3)] * 1_000, "deep": nested(MOST_DEPTH)})


@pytest.mark.finding("K16")
def test_brackets_within_a_text_make_nothing_deep() -> None:
    value = {"text": "[" * 10 * MOST_DEPTH}
    refuse_deep_json(encode(value), value)
    deep = nested(MOST_DEPTH + 1)
    with pytest.raises(BadMessage, match="nested too deeply"):
        refuse_deep_json(encode(deep), deep)


@pytest.mark.finding("K13")
@pytest.mark.parametrize(
    "value",
    [[[]] * (3 * MOST_VALUES), {f"k{number}": number for number in range(2 * MOST_VALUES)}, ["a"] * (2 * MOST_VALUES)],
)
def test_json_of_too_many_values_is_refused_before_it_is_read(value: object) -> None:
    with pytest.raises(BadMessage, match=str(MOST_VALUES)):
        refuse_many(encode({"content": value}))


@pytest.mark.finding("K13")
@pytest.mark.parametrize("text", [",", "[", '"', "\\", '\\"', '",', "{,", "1,2\n"])
def test_a_text_is_one_value_whatever_is_in_it(text: str) -> None:
    refuse_many(encode({"role": "user", "content": text * 3 * MOST_VALUES}))


@pytest.mark.finding("K13")
@pytest.mark.parametrize("piece", [b'["",', b'"\\', b',"a', b"[", b'"'])
def test_values_are_counted_in_time_that_grows_with_their_bytes(piece: bytes) -> None:
    def counted(size: int) -> float:
        raw = piece * (size // len(piece))

        def count() -> None:
            try:
                refuse_many(raw)
            except BadMessage:
                return

        return least(count, 3)

    assert counted(8_000_000) < 16 * max(counted(1_000_000), 0.002)
