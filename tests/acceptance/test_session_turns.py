"""A session as its user sees it: turns through several windows, every verb, every hook, awaited or not.

Each scenario is written once and run twice, with `Session` and with `aio.Session`: the same calls, the same outcome.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import testing
from contextfold.dialects import find
from contextfold.errors import CannotFit, KeyConflict, NotFound
from contextfold.folding import Decision, Plan, Situation
from contextfold.hooks import FoldNotice
from contextfold.summaries import Prompt
from contextfold.testing.models import raising
from contextfold.testing.wire import WireMessage
from contextfold.tokens import Drift

MODEL = "claude-sonnet-5-5"
SUMMARY = "The user asked for several changes to the shop, and the assistant made each of them and ran the tests."
WORD = "word "


def user(text: str) -> WireMessage:
    return {"role": "user", "content": text}


def assistant(text: str) -> WireMessage:
    return {"role": "assistant", "content": text}


def answer(text: str, billed: int) -> WireMessage:
    """A whole answer of the provider's API, with its bill."""
    usage = {"input_tokens": billed, "output_tokens": 12}
    content = [{"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": content, "model": MODEL, "usage": usage}


def result(call: str, output: str) -> list[WireMessage]:
    use = {"type": "tool_use", "id": call, "name": "run", "input": {"command": "make log"}}
    done = {"type": "tool_result", "tool_use_id": call, "content": output}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [done]}]


async def got(value: Any) -> Any:
    """What a call gave, awaited if it must be: the only difference between the two kinds of session."""
    return await value if inspect.isawaitable(value) else value


class Used:
    """A session that remembers which of its public names were used."""

    def __init__(self, session: Any) -> None:
        self._session, self.names = session, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._session, name)


Open = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["plain", "awaited"])
async def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Open a session of either kind whose window has this many tokens; closed when the test ends."""
    kind = cf.Session if request.param == "plain" else cf.aio.Session
    sessions: list[Any] = []

    async def open_session(window: int, path: Path | None = None, **options: Any) -> Any:
        monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(window))
        sessions.append(await got(kind.open(path, model=options.pop("model", MODEL), **options)))
        return sessions[-1]

    yield open_session
    for session in reversed(sessions):
        await got(session.close())


async def say(session: Any, messages: Iterable[WireMessage]) -> list[int]:
    return [await got(session.append(message)) for message in messages]


async def run(session: Any, messages: Iterable[WireMessage], **frame: Any) -> list[cf.Request]:
    """A recorded conversation, a request before each answer as an agent would ask for it."""
    made = []
    for message in messages:
        if message["role"] == "assistant":
            made.append(await got(session.prepare(**frame)))
        await got(session.append(message))
    return made


def exchanges(many: int, words: int = 150, text: str = "question", word: str = WORD) -> list[WireMessage]:
    said = [
        message
        for number in range(many)
        for message in (user(f"{text} {number} {word * words}"), assistant(f"reply {number} {word * words}"))
    ]
    return [*said, user("the live question")]


def rejected(requests: Iterable[cf.Request]) -> list[str]:
    return [problem.rule for request in requests for problem in find(request.dialect).check(request.body)]


def shown(request: cf.Request) -> str:
    return request.json.decode()


# -- several windows ------------------------------------------------------------------------------------------------


async def test_a_session_of_many_windows_stays_valid_and_within_each(opened: Open) -> None:
    session = await opened(24_000)
    conversation = testing.session(7, tokens=90_000, language="en")
    made = await run(session, conversation, system=testing.SYSTEM, tools=testing.tools())
    assert sum(bool(request.report.folds) for request in made) >= 4
    assert rejected(made) == []
    assert [request.report.after for request in made if request.report.after > request.report.usable] == []


async def test_everything_hidden_is_recalled_by_the_handles_that_the_model_reads(opened: Open) -> None:
    session = await opened(24_000)
    seqs = await say(session, testing.session(3, tokens=60_000, language="en"))
    await say(session, [user("and now?")])
    text = shown(await got(session.prepare()))
    folds = {int(number) for number in re.findall(r"recall\(fold=(\d+)\)", text)}
    recalled = {message.raw for fold in folds for message in await got(session.recall(fold=fold))}
    view = await got(session.view)
    whole = {item.seq for item in view if item.kind == "message"}
    hidden = [seq for seq in seqs if seq not in whole]
    originals = {seq: (await got(session.recall(seq=seq)))[0].raw for seq in seqs}
    assert len(hidden) > 20
    assert [seq for seq in hidden if originals[seq] not in recalled] == []
    touched = {item.seq for item in view if any(item.shape.blocks[part.block].kind == "result" for part in item.folded)}
    assert touched <= {int(number) for number in re.findall(r"recall\(seq=(\d+)\)", text)}


async def test_what_will_be_folded_is_known_before_it_happens(opened: Open) -> None:
    session = await opened(10_000)
    foretold = []
    for message in exchanges(40, 100):
        await say(session, [message])
        if message["role"] == "user":
            expected = await got(session.will_fold)
            folded = bool((await got(session.prepare())).report.folds)
            foretold.append((expected, folded))
    assert {expected for expected, _ in foretold} == {True, False}
    assert [pair for pair in foretold if pair[0] != pair[1]] == []


async def test_every_public_verb_works_and_none_is_left_out(opened: Open, tmp_path: Path) -> None:
    session = Used(await opened(16_000, tmp_path / "agent.db", thread="refactor-42"))
    await say(session, exchanges(12))
    request = await got(session.prepare(system="Be brief.", max_tokens=500, temperature=0))
    assert (request.body["model"], request.body["max_tokens"], request.body["temperature"]) == (MODEL, 500, 0)
    await say(session, [assistant("done"), user("fold now, please")])
    report = await got(session.fold(instructions="focus on the API changes", to=2_500))
    assert report.after < report.before
    (fold,) = [each for each in await got(session.folds) if each.is_showing]
    assert len(await got(session.recall(fold=fold.id))) == fold.details["messages"]
    await got(session.unfold(fold.id))
    assert await got(session.folds) == ()
    assert (await got(session.preview())).action == "send"
    assert await got(session.will_fold) is False
    await got(session.overflowed(9_000))
    assert await got(session.will_fold) is True
    child = await got(session.child("search", model="gpt-6-luna"))
    await say(child, [user("find it"), assistant("it is in service.py")])
    assert await got(child.result()) == "it is in service.py"
    assert await got(session.result()) == "done"
    stats = await got(session.stats)
    assert (stats.messages, stats.folds, stats.requests) == (27, 0, 1)
    assert (session.thread.name, session.model.window, session.policy.name) == ("refactor-42", 9_000, "balanced")
    assert (await got(session.view)).length == 27
    kind = type(session._session)
    store = cf.open(tmp_path / "other.db") if kind is cf.Session else cf.aio.open(tmp_path / "other.db")
    other = await got(kind.on(store, "t", MODEL))
    assert other.thread.name == "t"
    await got(store.close())
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert public - session.names == {"open", "on", "close"}


async def test_one_turn_needs_no_session(opened: Open) -> None:
    messages = exchanges(16)
    session = await opened(9_000)
    await say(session, messages)
    expected = (await got(session.prepare(system="Be brief."))).json
    fit = cf.fit if isinstance(session, cf.Session) else cf.aio.fit
    assert (await got(fit(messages, model=MODEL, system="Be brief."))).json == expected


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
    told: list[Decision] = []
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


async def test_progress_is_told_stage_by_stage(opened: Open) -> None:
    told: list[tuple[str, int, int]] = []
    session = await opened(9_000, on_progress=lambda *step: told.append(step))
    await say(session, exchanges(16))
    await got(session.prepare())
    assert told == [("clear", 0, 2), ("summary", 1, 2)]


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
    assert [notice.fold.text for notice in told] == [SUMMARY]


def test_a_synchronous_session_waits_for_an_asynchronous_summarizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "9000")
    policy = cf.recipes.balanced(summarizer=testing.Scripted(SUMMARY).aio)
    with cf.Session.open(model=MODEL, policy=policy) as session:
        for message in exchanges(16):
            session.append(message)
        assert session.prepare().report.summary == SUMMARY


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
            go_on.wait(10)
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


# -- artifacts, limits, learning --------------------------------------------------------------------------------------


async def test_a_large_output_is_put_into_a_file_that_the_agent_can_read(opened: Open, tmp_path: Path) -> None:
    session = await opened(200_000, artifacts=tmp_path / "artifacts")
    output = "".join(f"{number:06d} a line of the log\n" for number in range(9_000))
    *_, seq = await say(session, [user("show the log"), *result("c1", output)])
    text = shown(await got(session.prepare()))
    (file,) = (tmp_path / "artifacts").iterdir()
    assert file.read_text() == output
    assert str(file) in text
    assert "004500 a line of the log" not in text
    assert "004500 a line of the log" in (await got(session.recall(seq=seq)))[0].raw.decode()


async def test_the_same_output_twice_is_one_file(opened: Open, tmp_path: Path) -> None:
    session = await opened(400_000, artifacts=tmp_path / "artifacts")
    output = "".join(f"{number:06d} a line of the log\n" for number in range(9_000))
    await say(session, [user("show the log"), *result("c1", output), *result("c2", output)])
    assert len(list((tmp_path / "artifacts").iterdir())) == 1


async def test_without_automatic_folding_no_model_is_asked_and_only_the_last_resort_hides(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    session = await opened(9_000, policy=cf.recipes.balanced(summarizer=model).with_(automatic=False))
    kinds = []
    for message in exchanges(30):
        await say(session, [message])
        if message["role"] == "user":
            report = (await got(session.prepare())).report
            kinds += [(fold.kind, report.before > report.usable) for fold in report.folds]
    assert set(kinds) == {("window", True)}
    assert model.calls == 0


async def test_without_automatic_folding_a_person_may_still_ask_for_a_summary(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    session = await opened(50_000, policy=cf.recipes.balanced(summarizer=model).with_(automatic=False))
    await say(session, exchanges(16))
    assert (await got(session.fold())).summary == SUMMARY


async def test_without_automatic_folding_and_last_resort_the_limit_is_an_error(opened: Open) -> None:
    model = testing.Scripted(SUMMARY)
    policy = cf.recipes.balanced(summarizer=model).with_(automatic=False, last_resort=())
    session = await opened(9_000, policy=policy)
    await say(session, exchanges(30))
    with pytest.raises(CannotFit):
        await got(session.prepare())
    assert (model.calls, await got(session.folds)) == (0, ())


async def test_after_an_overflow_the_next_request_is_smaller_than_what_the_provider_named(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, exchanges(40))
    before = (await got(session.prepare())).report
    await got(session.overflowed(8_000))
    after = (await got(session.prepare())).report
    assert (before.folds, after.trigger) == ((), "overflow")
    assert after.after < 8_000 < before.after


async def test_after_an_overflow_without_a_number_the_next_request_is_smaller(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, exchanges(40))
    before = (await got(session.prepare())).report.after
    await got(session.overflowed())
    assert (await got(session.prepare())).report.after < 0.75 * before


async def test_what_bills_taught_is_known_again_after_reopening(opened: Open, tmp_path: Path) -> None:
    session = await opened(100_000, tmp_path / "a.db")
    for number in range(8):
        await say(session, [user(f"question {number} {WORD * 400}")])
        raw = (await got(session.prepare())).raw_tokens
        await say(session, [answer("ok", int(raw * 1.4))])
    learned = (await got(session.view)).count.tokens
    again = await opened(100_000, tmp_path / "a.db")
    view = await got(again.view)
    assert view.count.tokens == learned
    assert learned > 1.2 * view.tokens()


async def test_a_key_makes_saying_it_again_harmless(opened: Open, tmp_path: Path) -> None:
    session = await opened(100_000, tmp_path / "a.db")
    first = await got(session.append(user("hello"), key="turn-1"))
    await say(session, [assistant("hi"), user("more")])
    again = await opened(100_000, tmp_path / "a.db")
    assert await got(again.append(user("hello"), key="turn-1")) == first
    assert (await got(again.stats)).messages == 3


async def test_a_key_makes_an_answer_that_is_taken_in_twice_harmless(opened: Open) -> None:
    session = await opened(100_000)
    await say(session, [user("hello")])
    await got(session.prepare())
    first = await got(session.append(answer("hi", 20), key="answer-1"))
    await got(session.prepare())
    assert await got(session.append(answer("hi", 20), key="answer-1")) == first
    stats = await got(session.stats)
    assert (stats.messages, stats.requests, stats.billed) == (2, 1, 20)


async def test_a_key_with_other_words_is_refused(opened: Open) -> None:
    session = await opened(100_000)
    await got(session.append(user("hello"), key="turn-1"))
    with pytest.raises(KeyConflict):
        await got(session.append(user("goodbye"), key="turn-1"))


# -- sub-agents -----------------------------------------------------------------------------------------------------


async def test_a_child_has_its_own_window_and_thread_in_the_same_store(opened: Open, tmp_path: Path) -> None:
    session = await opened(32_000, tmp_path / "a.db", thread="main")
    await say(session, [user("find it")])
    child = await got(session.child("search", model="gpt-6-luna"))
    await say(child, exchanges(10, 1_500))
    assert (await got(child.prepare())).report.folds
    assert (await got(session.view)).length == 1
    with cf.open(tmp_path / "a.db") as store:
        rows = {row.name: row.settings for row in store.threads()}
    assert rows["main/search"] == {"model": "gpt-6-luna", "parent": "main"}


async def test_what_a_child_hands_back_is_cut_to_size_and_says_so(opened: Open) -> None:
    session = await opened(100_000)
    child = await got(session.child("search"))
    await say(child, [user("find it"), assistant(f"it begins {WORD * 5_000}and it ends")])
    handed = await got(child.result(300))
    assert handed.startswith("it begins")
    assert handed.endswith("and it ends")
    assert "main/search" in handed
    assert cf.count([assistant(handed)], model=MODEL).tokens < 330


async def test_a_child_that_has_not_answered_has_no_result(opened: Open) -> None:
    session = await opened(100_000)
    child = await got(session.child("search"))
    await say(child, [user("find it")])
    with pytest.raises(NotFound):
        await got(child.result())


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
