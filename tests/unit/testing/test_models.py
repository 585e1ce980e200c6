"""Scripted and faulty models: they do as they are told, they count, and each fault is the fault it is named for."""

import asyncio

import pytest

from contextfold.testing import FAULTY, Hanging, Overloaded, Scripted
from contextfold.testing.models import in_the_wrong_language, too_long


def test_a_scripted_model_answers_in_order_and_repeats_the_last() -> None:
    model = Scripted("one", lambda request: f"heard {request}", "three")
    assert [model(n) for n in range(4)] == ["one", "heard 1", "three", "three"]
    assert model.asked == [0, 1, 2, 3]
    assert model.calls == 4


def test_a_scripted_model_raises_what_stands_in_its_script_and_goes_on() -> None:
    model = Scripted(Overloaded(), "better")
    with pytest.raises(Overloaded, match="529"):
        model("first")
    assert model("second") == "better"
    assert model.calls == 2


def test_a_scripted_model_without_a_script_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Scripted()


async def test_synchronous_and_asynchronous_callers_share_one_script() -> None:
    model = Scripted("one", "two")
    assert await model.aio("a") == "one"
    assert model("b") == "two"
    assert model.asked == ["a", "b"]


async def test_a_hanging_model_can_be_timed_out_and_knows_it() -> None:
    model = Hanging()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(model.aio("?"), timeout=0.01)
    assert (model.calls, model.cancelled) == (1, 1)


@pytest.mark.parametrize("kind", ["raises", "times out"])
def test_a_model_that_fails_outright_raises(kind: str) -> None:
    model = FAULTY[kind]()
    with pytest.raises((Overloaded, TimeoutError)):
        model("summarize")
    assert model.calls == 1


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("is cut off", "compari"),
        ("refuses", "can't help"),
        ("calls a tool", "invoke name="),
        ("answers in the wrong language", "利用者"),
    ],
)
def test_a_model_that_answers_badly_answers_so(kind: str, mark: str) -> None:
    assert mark in FAULTY[kind]()("summarize")


def test_a_silent_model_says_nothing_twice() -> None:
    model = FAULTY["says nothing"]()
    assert not (model("?") + model("?")).strip()


def test_the_wrong_language_depends_on_the_right_one() -> None:
    assert in_the_wrong_language("ja")("要約").isascii()


def test_a_model_can_be_longer_than_any_window() -> None:
    assert len(too_long(5_000_000)("?")) >= 5_000_000


def test_a_model_can_repeat_what_it_was_told() -> None:
    assert FAULTY["repeats its instructions"]()("Summarize this: " + "x" * 5000).startswith("Summarize this: xx")
