"""Small facts out of foreign fields, whatever stands there."""

from __future__ import annotations

import pytest

from contextfold.transcripts.speech import (
    billed,
    call_id,
    flat,
    has_typed,
    input_object,
    kind,
    number,
    openai_usage,
    parsed,
    when,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-02T03:04:05Z", 1767323045.0),
        ("2026-01-02T03:04:05", 1767323045.0),
        ("2026-01-02T04:04:05+01:00", 1767323045.0),
        (1767323045, 1767323045.0),
        (1767323045000, 1767323045.0),
        (0.5, 0.5),
        ("yesterday", None),
        ("9999-99-99", None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_a_time_is_understood_or_left_out(value: object, expected: float | None) -> None:
    assert when(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (3.9, 3), (-3, 0), (True, 0), (None, 0), ("7", 0), (float("nan"), 0)]
)
def test_a_count_is_a_whole_number_or_nothing(value: object, expected: int) -> None:
    assert number(value) == expected


def test_nothing_billed_is_no_usage() -> None:
    assert billed(0, None, "x", []) is None
    assert openai_usage(None) is None
    assert openai_usage({"prompt_tokens": 5, "prompt_tokens_details": None}) == billed(5)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("x", "x"),
        (None, ""),
        (["a", {"text": "b"}, {"type": "image", "data": "…"}], "a\nb"),
        ({"content": {"output": "deep"}}, "deep"),
        ({"other": 1}, '{"other":1}'),
        (7, "7"),
    ],
)
def test_the_text_of_a_content_is_found(content: object, expected: str) -> None:
    assert flat(content) == expected


def test_a_kind_is_a_plain_word_or_other() -> None:
    assert kind("event_msg", None, "token_count") == "event_msg:token_count"
    assert kind("\x1b[31mred") == kind("") == kind("x" * 99) == kind(7) == "other"


def test_an_id_that_no_provider_takes_is_replaced_always_the_same_way() -> None:
    assert call_id("toolu_1-a") == "toolu_1-a"
    assert call_id("a|b") == call_id("a|b") != call_id("a|c")
    assert call_id("x" * 65) != "x" * 65
    assert call_id(None).startswith("call_")
    assert call_id("\ud800").startswith("call_")


def test_arguments_are_an_object_in_the_end() -> None:
    assert input_object('{"a":1}') == input_object({"a": 1}) == {"a": 1}
    assert input_object("[1]") == {"input": "[1]"}
    assert input_object("not json") == {"input": "not json"}
    assert input_object(None) == input_object("") == {}
    assert parsed("\ud800") is None


def test_only_text_that_no_product_marks_as_its_own_is_typed() -> None:
    assert has_typed("please")
    assert has_typed([{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "please"}])
    assert not has_typed("<system-reminder>x</system-reminder>")
    assert not has_typed([{"type": "image"}, "x"])
    assert not has_typed(None)
