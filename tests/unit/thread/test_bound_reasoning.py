"""Reasoning that a model takes back only behind an unchanged prefix: kept, left out, or left to the provider."""

from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects

BOUND, FREE = "claude-sonnet-5-5", "claude-3-7-sonnet"
THINKING = {"type": "adaptive"}
STALE = "reasoning is left out: what stands before it has changed since it was written"


def thought(number: int) -> dict[str, Any]:
    thinking = {"type": "thinking", "thinking": f"hm {number}", "signature": f"sig{number}"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"Answer {number}."}]}


def talk(session: cf.Session, turns: int, **surroundings: Any) -> list[int]:
    """Ask and answer; the seqs of the answers."""
    answers = []
    for number in range(turns):
        session.append({"role": "user", "content": f"Question {number}?"})
        session.prepare(**surroundings)
        answers.append(session.append(thought(number)))
    session.append({"role": "user", "content": "And now?"})
    return answers


def signatures(request: cf.Request) -> list[str]:
    blocks = [block for message in request.body["messages"] for block in message["content"] if isinstance(block, dict)]
    return [block["signature"] for block in blocks if block["type"] == "thinking"]


@pytest.mark.seed("R7")
def test_reasoning_stays_as_long_as_nothing_before_it_changes() -> None:
    with cf.Session.open(model=BOUND) as session:
        talk(session, 3, system="Be brief.")
        request = session.prepare()
        assert signatures(request) == ["sig0", "sig1", "sig2"]
        assert request.report.losses == ()


@pytest.mark.parametrize("change", [{"system": "Be long."}, {"tools": [{"name": "f", "input_schema": {}}]}])
def test_other_instructions_or_tools_take_all_reasoning_along(change: dict[str, Any]) -> None:
    with cf.Session.open(model=BOUND) as session:
        talk(session, 2, system="Be brief.")
        request = session.prepare(**change)
        assert signatures(request) == []
        assert request.report.losses == (f"{STALE} (2 times)",)
        session.append(thought(9))
        session.append({"role": "user", "content": "Go on."})
        assert signatures(session.prepare()) == ["sig9"]


def test_a_fold_takes_the_reasoning_behind_it_and_leaves_the_reasoning_before_it() -> None:
    with cf.Session.open(model=BOUND) as session:
        first, second, third = talk(session, 3)
        session.thread.fold([second - 2], "[A question was here.]")
        assert first < second < third
        request = session.prepare()
        assert signatures(request) == ["sig0"]
        assert request.report.losses == (f"{STALE} (2 times)",)


def test_unfolding_brings_back_what_was_written_before_the_fold_and_takes_what_came_after() -> None:
    with cf.Session.open(model=BOUND) as session:
        answers = talk(session, 2)
        fold = session.thread.fold([answers[0] - 2], "[A question was here.]")
        assert signatures(session.prepare()) == []
        session.append(thought(7))
        session.append({"role": "user", "content": "Go on."})
        assert signatures(session.prepare()) == ["sig7"]
        session.unfold(fold)
        assert signatures(session.prepare()) == ["sig0", "sig1"]


def test_what_was_said_between_request_and_answer_is_seen() -> None:
    with cf.Session.open(model=BOUND) as session:
        session.append({"role": "user", "content": "Question?"})
        session.prepare()
        session.append({"role": "user", "content": "Wait, one more thing."})
        session.append(thought(1))
        session.append({"role": "user", "content": "Go on."})
        assert signatures(session.prepare()) == []


def test_a_model_that_does_not_check_keeps_its_reasoning() -> None:
    with cf.Session.open(model=FREE) as session:
        talk(session, 2, system="Be brief.")
        request = session.prepare(system="Be long.")
        assert signatures(request) == ["sig0", "sig1"]
        assert request.prefix == ""


def test_the_provider_may_be_asked_to_drop_by_itself() -> None:
    policy = cf.recipes.balanced().with_(reasoning="drop_block")
    with cf.Session.open(model=BOUND, policy=policy) as session:
        talk(session, 2, system="Be brief.")
        asked = session.prepare(system="Be long.", thinking=THINKING)
        assert asked.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
        assert signatures(asked) == ["sig0", "sig1"]
        assert "thinking-binding-controls-2026-08-01" in asked.betas
        # Without thinking there is nothing to ask for, so it is left out here.
        assert signatures(session.prepare()) == []


@pytest.mark.parametrize(("wish", "dropped", "left"), [("strip", True, False), ("drop_block", False, True)])
def test_a_fold_reports_what_becomes_of_bound_reasoning(wish: str, dropped: bool, left: bool) -> None:
    policy = cf.recipes.roo_code().with_(reasoning=wish)
    with cf.Session.open(model=BOUND, policy=policy) as session:
        for number in range(12):
            session.append({"role": "user", "content": f"Question {number}? " + "word " * 400})
            session.prepare()
            session.append(thought(number))
        report = session.fold()
        assert report.folds
        assert report.cache is not None
        assert bool(report.cache.reasoning_dropped) == dropped
        assert bool(report.cache.reasoning_left) == left


@pytest.mark.parametrize(("model", "left"), [(BOUND, 1), (FREE, 3)])
def test_a_request_is_rebuilt_with_the_reasoning_that_it_showed(model: str, left: int) -> None:
    with cf.Session.open(model=model) as session:
        talk(session, 2, system="Be brief.")
        session.prepare(system="Be long.")
        session.append(thought(2))
        session.append({"role": "user", "content": "Go on."})
        request = session.prepare()
        assert len(signatures(request)) == left
        answer = session.append(thought(3))
        assert session.request_at(answer).json == request.json


def test_only_anthropics_thinking_is_dropped_by_the_provider_where_it_was_asked_to() -> None:
    wish = {"thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}}
    assert [name for name in dialects.names() if dialects.find(name).drops_stale(wish)] == ["anthropic"]
    assert [name for name in dialects.names() if dialects.find(name).drops_stale({"thinking": THINKING})] == []


@pytest.mark.parametrize(
    ("model", "wish", "is_asked"), [(BOUND, "drop_block", True), (BOUND, "strip", False), (FREE, "drop_block", False)]
)
def test_a_provider_is_asked_to_drop_only_what_its_model_checks_and_the_policy_leaves(
    model: str, wish: str, is_asked: bool
) -> None:
    policy = cf.recipes.balanced().with_(reasoning=wish)
    with cf.Session.open(model=model, policy=policy) as session:
        session.append({"role": "user", "content": "Question?"})
        assert ("block_binding" in session.prepare(thinking=THINKING).body["thinking"]) is is_asked
