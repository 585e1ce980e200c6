"""Cancelled at every effect of every step: the thread is as it was, or the fold is complete."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.domain import check_view, encode
from contextfold.folding import Effect, Steps
from contextfold.session import Desk, Surroundings, answer, preparation
from contextfold.session.drivers import carry_out, drive
from contextfold.testing import histories, models

SUMMARY = "The shop's rounding was wrong in service.py; it was mended and the tests pass again. " * 4
WINDOW = "8000"


class Cancelled(BaseException):
    """What an interruption looks like to a step."""


def session(tmp_path: Path, name: str) -> cf.Session:
    policy = cf.recipes.balanced(summarizer=models.Scripted(SUMMARY))
    made = cf.Session.open(
        tmp_path / f"{name}.db", model="claude-sonnet-4-5", policy=policy, artifacts=tmp_path / "out"
    )
    for message in histories.session(2, tokens=14_000, language="en"):
        made.append(message)
    made.append({"role": "user", "content": "And now?"})
    return made


def preparing_one(desk: Desk) -> Steps[object]:
    return preparation.prepare(desk, Surroundings(output=500), None, {})


def folding_one(desk: Desk) -> Steps[object]:
    return preparation.fold_now(desk, "the API", 3_000)


def appending_one(desk: Desk) -> Steps[object]:
    desk.thread.append(
        {"role": "assistant", "content": [{"type": "tool_use", "id": "big", "name": "run", "input": {}}]}
    )
    big = "word " * 60_000
    result = {"type": "tool_result", "tool_use_id": "big", "content": big}
    return answer.append(desk, {"role": "user", "content": [result]}, None)


STEPS: dict[str, Callable[[Desk], Steps[object]]] = {
    "prepare": preparing_one,
    "fold": folding_one,
    "append": appending_one,
}


def effects_of(steps: Steps[object], desk: Desk) -> list[str]:
    """The effects a step asks for when nothing goes wrong."""
    names: list[str] = []

    def noting(effect: Effect) -> object:
        names.append(type(effect).__name__)
        return carry_out(effect, desk)

    try:
        effect = next(steps)
        while True:
            effect = steps.send(noting(effect))
    except StopIteration:
        return names


def cancelled_at(steps: Steps[object], desk: Desk, place: int, *, after: bool) -> None:
    """Interrupt a step at one of its effects, before or after the effect is carried out."""
    effect = next(steps)
    for _ in range(place):
        effect = steps.send(carry_out(effect, desk))
    if after:
        carry_out(effect, desk)
    with pytest.raises(Cancelled):
        steps.throw(Cancelled())
    steps.close()


@pytest.mark.parametrize("after", [False, True], ids=["before it happens", "after it happened"])
@pytest.mark.parametrize("step", STEPS)
def test_a_step_cancelled_at_any_effect_leaves_a_sound_thread(
    step: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", WINDOW)
    with session(tmp_path, "whole") as whole:
        expected = effects_of(STEPS[step](whole.desk), whole.desk)
    assert "Record" in expected
    for place in range(len(expected)):
        with session(tmp_path, f"{place}") as one:
            said = [entry.seq for entry in one.thread.events]
            cancelled_at(STEPS[step](one.desk), one.desk, place, after=after)
            assert [entry.seq for entry in one.thread.events][: len(said)] == said
            assert check_view(one.view.items) == []
            assert one.store.verify() == []
            request = one.prepare(max_tokens=500)
            assert request.report.after <= request.report.usable


def test_an_error_of_an_effect_reaches_the_step_that_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", WINDOW)
    with session(tmp_path, "one") as one:
        one.desk.policy = cf.recipes.balanced(summarizer=models.raising(RuntimeError("no model today")))
        report = drive(preparation.fold_now(one.desk, "", 3_000), one.desk)
        failed = [attempt for attempt in report.attempts if attempt.strategy == "summarizer"]
        assert ["no model today" in attempt.error for attempt in failed] == [True]
        assert report.folds


async def test_a_task_cancelled_while_the_summarizer_thinks_leaves_the_thread_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", WINDOW)
    thinking = asyncio.Event()

    async def never(_prompt: object) -> str:
        thinking.set()
        await asyncio.Event().wait()
        return SUMMARY

    policy = cf.recipes.balanced(summarizer=never)
    async with await cf.aio.Session.open(tmp_path / "a.db", model="claude-sonnet-4-5", policy=policy) as one:
        said = list(histories.session(2, tokens=14_000, language="en"))
        for message in said:
            await one.append(message)
        task = asyncio.ensure_future(one.fold(to=3_000))
        await thinking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        kept = [message.raw for message in (await one.view).messages if message.kind == "message"]
        assert kept == [encode(message) for message in said]
        assert await one.thread.append({"role": "user", "content": "still here"}) > 0
