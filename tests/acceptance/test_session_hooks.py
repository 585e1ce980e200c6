"""What a session tells while it works: hooks, the log, and what happens when somebody stops listening or cancels."""

from __future__ import annotations

import asyncio
import logging
import re
import threading

import pytest

import contextfold as cf
from contextfold import testing
from contextfold.errors import CannotFit
from contextfold.folding import FoldDecision, Plan, Situation
from contextfold.session import FoldNotice
from contextfold.summaries import Prompt
from contextfold.testing.models import raising
from contextfold.tokens import Drift
from tests.acceptance.scenario import MODEL, SUMMARY, WORD, Open, answer, exchanges, got, rejected, say, user

# -- hooks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "notice"),
    [
        (WORD, r"Summarized \d+ messages: [\d,]+ → [\d,]+ tokens\."),
        ("端数を直す。", r"メッセージ\d+件を要約しました：[\d,]+ → [\d,]+トークン。"),
    ],
    ids=["en", "ja"],
)
async def test_a_fold_is_told_with_its_reason_model_and_one_line_for_people(
    opened: Open, word: str, notice: str
) -> None:
    told: list[FoldNotice] = []
    session = await opened(9_000, on_fold=told.append)
    await say(session, exchanges(16, 150 if word == WORD else 25, word=word))
    (made,) = (await got(session.prepare())).report.folds
    assert [(each.fold, each.trigger, each.model.id) for each in told] == [(made, "percent", MODEL)]
    assert re.fullmatch(notice, told[0].text)


async def test_a_fold_by_hand_is_told_with_the_instructions_given(opened: Open) -> None:
    told: list[FoldNotice] = []
    model = testing.Scripted(SUMMARY)
    session = await opened(50_000, policy=cf.recipes.balanced(summarizer=model), on_fold=told.append)
    await say(session, exchanges(16))
    await got(session.fold(instructions="focus on the API changes"))
    assert [(each.trigger, each.instructions) for each in told] == [("explicit", "focus on the API changes")]
    (asked,) = model.asked
    assert isinstance(asked, Prompt)
    assert "focus on the API changes" in asked.text


async def test_taking_a_fold_back_is_told(opened: Open) -> None:
    told: list[int] = []
    session = await opened(50_000, on_unfold=told.append)
    await say(session, exchanges(16))
    (fold,) = (await got(session.fold())).folds
    await got(session.unfold(fold.id))
    assert told == [fold.id]


async def test_a_request_that_cannot_fit_is_told_raised_and_loses_nothing(opened: Open) -> None:
    told: list[CannotFit] = []
    session = await opened(2_000, on_cannot_fit=told.append)
    await say(session, [user(WORD * 5_000)])
    with pytest.raises(CannotFit) as caught:
        await got(session.prepare())
    assert told == [caught.value]
    assert caught.value.parts["the live request"] > 5_000
    assert (await got(session.view)).length == 1


async def test_counting_that_drifts_is_told_once(opened: Open) -> None:
    told: list[Drift] = []
    session = await opened(100_000, on_drift=told.append)
    for number in range(4):
        await say(session, [user(f"question {number} {WORD * 500}")])
        billed = (await got(session.prepare())).report.after * 2
        await say(session, [answer("ok", billed if number < 2 else billed // 2)])
    assert [(drift.model, drift.billed) for drift in told] == [(MODEL, told[0].estimated * 2)]


async def test_a_warning_is_told_once_for_each_time_the_ladder_is_climbed(opened: Open) -> None:
    told: list[FoldDecision] = []
    session = await opened(200_000, policy=cf.recipes.duckflow(maximum=4_000), on_warning=told.append)
    for number in range(9):
        await say(session, [user(f"{number} {WORD * 320}")])
        await got(session.prepare())
    first = len(told)
    await got(session.fold(to=1_000))
    await say(session, [user("a short question")])
    await got(session.prepare())
    for number in range(9):
        await say(session, [user(f"{number} {WORD * 320}")])
        await got(session.prepare())
    assert (first, len(told)) == (1, 2)


@pytest.mark.finding("S8")
async def test_a_window_that_fills_writes_a_line_for_the_log(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    session = await opened(200_000, policy=cf.recipes.duckflow(maximum=4_000))
    with caplog.at_level("INFO", "contextfold"):
        for number in range(9):
            await say(session, [user(f"{number} {WORD * 320}")])
            await got(session.prepare())
    (line,) = [each.message for each in caplog.records if each.message.startswith("nearly full")]
    assert "policy=duckflow" in line


async def test_progress_is_told_stage_by_stage(opened: Open) -> None:
    told: list[tuple[str, int, int]] = []
    session = await opened(9_000, on_progress=lambda *step: told.append(step))
    await say(session, exchanges(16))
    await got(session.prepare())
    stages = [stage.name for stage in session.policy.stages]
    assert told == [(name, done, len(stages)) for done, name in enumerate(stages)]
    assert stages[-1] == "summary"


async def test_a_hook_that_raises_ends_nothing(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the secret of the hook")

    session = await opened(9_000, on_fold=broken, on_progress=broken, on_unfold=broken)
    await say(session, exchanges(16))
    (fold,) = (await got(session.prepare())).report.folds
    await got(session.unfold(fold.id))
    assert "RuntimeError" in caplog.text
    assert "the secret of the hook" not in caplog.text


async def test_hooks_and_summarizers_may_be_coroutines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "9000")
    told: list[FoldNotice] = []

    async def tell(notice: FoldNotice) -> None:
        told.append(notice)

    policy = cf.recipes.balanced(summarizer=testing.Scripted(SUMMARY).aio)
    async with await cf.aio.Session.open(model=MODEL, policy=policy, on_fold=tell) as session:
        await say(session, exchanges(16))
        await session.prepare()
    assert [notice.fold.text.startswith(SUMMARY) for notice in told] == [True]  # and then what it left out


def test_a_synchronous_session_waits_for_an_asynchronous_summarizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "9000")
    policy = cf.recipes.balanced(summarizer=testing.Scripted(SUMMARY).aio)
    with cf.Session.open(model=MODEL, policy=policy) as session:
        for message in exchanges(16):
            session.append(message)
        assert session.prepare().report.summary.startswith(SUMMARY)


async def test_cancelling_while_a_summarizer_hangs_leaves_the_thread_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "9000")
    asked, never = asyncio.Event(), asyncio.Event()

    async def hang(_: Prompt) -> str:
        asked.set()
        await never.wait()
        return SUMMARY

    async with await cf.aio.Session.open(model=MODEL, policy=cf.recipes.balanced(summarizer=hang)) as session:
        await say(session, exchanges(16))
        before = (await session.view).length
        preparing = asyncio.create_task(session.prepare())
        await asked.wait()
        preparing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await preparing
        assert ((await session.view).length, await session.folds) == (before, ())


async def test_cancelling_while_a_strategy_is_at_work_leaves_the_thread_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "9000")
    loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    class Pondering:
        name = "pondering"

        def plan(self, _view: cf.View, _situation: Situation) -> Plan:
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(60)
            return Plan.nothing()

    policy = cf.recipes.balanced().with_(stages=(Pondering(),))
    async with await cf.aio.Session.open(model=MODEL, policy=policy) as session:
        await say(session, exchanges(16))
        preparing = asyncio.create_task(session.prepare())
        await begun.wait()
        preparing.cancel()
        loop.call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await preparing
        assert await session.folds == ()
        assert rejected([await session.prepare()]) == []


# -- the log --------------------------------------------------------------------------------------------------------


async def test_the_log_tells_folds_and_failures_and_no_word_of_the_conversation(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "contextfold")
    session = await opened(9_000, policy=cf.recipes.balanced(summarizer=raising()))
    await say(session, exchanges(16, text="canary"))
    await got(session.prepare(system="canary of the system"))
    await say(session, [user("canary " * 20_000)])
    with pytest.raises(CannotFit):
        await got(session.prepare())
    records = [record for record in caplog.records if record.name.startswith("contextfold")]
    events = {record.contextfold["event"] for record in records if hasattr(record, "contextfold")}
    assert {"folded", "refused", "cannot fit"} <= events
    assert [record for record in records if "canary" in f"{record.getMessage()} {record.__dict__}"] == []
