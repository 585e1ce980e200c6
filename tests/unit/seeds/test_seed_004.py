"""Seed 004, requirements of a chat application: limits that hold, and an answer when nothing can be done."""

from collections.abc import Callable
from typing import Any

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.folding import Policy
from contextfold.testing import tools
from tests.unit.folding.scene import WORD, assistant, calls, chat, results, user

Window = Callable[..., str]

METHODS = [cf.recipes.sliding_window, cf.recipes.summary, cf.recipes.hybrid]


def opened(model: str, messages: list[dict[str, Any]], policy: Policy | None = None, **options: Any) -> cf.Session:
    session = cf.Session.open(model=model, policy=policy, **options)
    for message in messages:
        session.append(message)
    return session


@pytest.mark.seed("F3")
def test_a_turn_that_cannot_fit_is_said_with_the_size_of_each_part_and_nothing_is_sent_or_lost(window: Window) -> None:
    """FR-5, before there is an answer: the pending message with everything that came after it."""
    seen: list[cf.CannotFit] = []
    paste = user("log: " + WORD * 9_000)
    session = opened(window(8_000), [*chat(3)[:-1], paste], on_cannot_fit=seen.append)
    with pytest.raises(cf.CannotFit) as refused:
        session.prepare(system="be brief", tools=tools())
    parts = refused.value.parts
    assert set(parts) >= {"system", "tools", "the live request", "room for the answer"}
    assert sum(parts.values()) > refused.value.limit == 8_000
    assert max(parts, key=lambda name: parts[name]) == "the live request"
    assert seen == [refused.value]
    assert session.stats.requests == 0
    assert [session.thread.message(seq).text for seq in (1, 7)] == [chat(3)[0]["content"], paste["content"]]


@pytest.mark.seed("F3")
def test_the_pending_turn_includes_the_results_that_wait_for_an_answer(window: Window) -> None:
    """The answer that came before a regenerate is not part of the turn; open tool results are."""
    question = user("read them all")
    batch = [calls("a", "b"), results({"a": "short", "b": "short"})]
    session = opened(window(8_000), [*chat(40, 60)[:-1], question, *batch])
    body = session.prepare().body
    assert body["messages"][-3]["content"].endswith("read them all")
    assert body["messages"][-2:] == [calls("a", "b"), results({"a": "short", "b": "short"})]
    session.append(assistant("first try"))
    session.thread.rewind(before=session.view.messages[-1].seq)
    assert session.prepare().body["messages"] == body["messages"]


@pytest.mark.seed("F3")
def test_after_a_turn_that_could_not_fit_the_conversation_goes_on(window: Window) -> None:
    session = opened(window(8_000), [*chat(3)[:-1], user(WORD * 9_000)])
    with pytest.raises(cf.CannotFit):
        session.prepare()
    session.thread.rewind(before=7)
    session.append(user("never mind, what is 2 + 2?"))
    assert session.prepare().body["messages"][-1]["content"] == "never mind, what is 2 + 2?"


@pytest.mark.seed("F4")
@pytest.mark.parametrize("words", [5_800, 5_995, 6_000, 6_100, 9_000])
def test_a_system_prompt_that_leaves_no_room_for_a_turn_is_refused_when_the_session_opens(
    window: Window, words: int
) -> None:
    model = window(8_000, "gpt-4o")  # 6,000 of them usable
    with pytest.raises(cf.CannotFit, match=r"system \d"):
        cf.Session.open(model=model, system=WORD * words, tools=tools("openai-chat"))


@pytest.mark.seed("F4")
def test_tools_and_the_reserve_for_an_answer_count_beside_the_system_prompt(window: Window) -> None:
    model = window(1_000, "gpt-4o")
    cf.Session.open(model=model, system=WORD * 600).close()
    with pytest.raises(cf.CannotFit) as refused:
        cf.Session.open(model=model, system=WORD * 600, tools=tools("openai-chat"))
    assert {"system", "tools", "room for the answer"} <= set(refused.value.parts)
    assert sum(refused.value.parts.values()) > 1_000


@pytest.mark.seed("F4")
def test_a_system_prompt_given_later_is_checked_too(window: Window) -> None:
    session = opened(window(8_000), [user("hi")])
    session.prepare(system="be brief")
    with pytest.raises(cf.CannotFit, match="system"):
        session.prepare(system=WORD * 8_000)
    session.prepare(system="be brief")


@pytest.mark.seed("F3", "F5")
@pytest.mark.parametrize("method", METHODS)
def test_a_limit_of_ones_own_holds_below_the_models_window(method: Callable[..., Policy]) -> None:
    """FR-1 and FR-5: what was set is never passed, even where the model would take more."""
    for length in (5, 20, 60, 120):
        request = cf.fit(chat(length, 60), model="gpt-4o", policy=method(limit=2_000))
        counted = cf.count(request.body["messages"], model="gpt-4o").tokens
        assert counted <= request.report.after <= 2_000
        assert request.body["messages"][-1]["content"] == "the live question"
    with pytest.raises(cf.CannotFit) as refused:
        cf.fit([user(WORD * 2_100)], model="gpt-4o", policy=method(limit=2_000))
    assert refused.value.parts["the live request"] > 2_000


@pytest.mark.seed("F5")
def test_a_turn_is_what_a_person_said_and_everything_up_to_when_they_speak_again(window: Window) -> None:
    """Not pairs: people speak twice, tools answer. Whole turns leave, the oldest first, and never the last."""
    turns = [
        [user("one " + WORD * 700), user("oh, and this"), assistant("yes " + WORD * 700)],
        [user("two"), calls("a"), results({"a": WORD * 1_000}), assistant("found it")],
        [user("three"), assistant("fine " + WORD * 900)],
    ]
    session = opened(
        window(4_000, "gpt-4o"), [*(m for turn in turns for m in turn), user("four")], cf.recipes.sliding_window()
    )
    session.prepare()
    shown = [message.text.partition(" ")[0] for message in session.view.messages if message.kind == "message"]
    assert shown == ["two", "", "", "found", "three", "fine", "four"]
    session.append(assistant("and " + WORD * 1_300))
    session.append(user("five"))
    session.prepare()
    shown = [message.text.partition(" ")[0] for message in session.view.messages if message.kind == "message"]
    assert shown == ["three", "fine", "four", "and", "five"]


@pytest.mark.seed("F8")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_people_are_told_in_their_language_what_left_the_window(window: Window, language: str) -> None:
    words = {"en": "and then the next word ", "ja": "次の言葉を続けてください。"}[language]
    told: list[str] = []
    session = opened(
        window(4_000, "gpt-4o"),
        [m for n in range(30) for m in (user(f"{n} {words * 12}"), assistant(f"{n} {words * 12}"))],
        cf.recipes.sliding_window(),
        on_fold=lambda notice: told.append(notice.text),
    )
    session.append(user(words))
    (fold,) = session.prepare().report.folds
    assert len(told) == 1
    assert str(fold.messages) in told[0]
    assert ("件" in told[0]) is (language == "ja")
    assert f"recall(fold={fold.id})" in session.view.messages[0].text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_leaves_room_for_nothing_is_refused(method: Callable[..., Policy], limit: int) -> None:
    with pytest.raises(BadConfiguration, match="leaves room for nothing"):
        method(limit=limit)
