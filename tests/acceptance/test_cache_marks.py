"""Cache marks where the view is stable: few, in the same places, never on reasoning; and the cache is read."""

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import Marks
from contextfold.dialects.dialect import boundary
from contextfold.models import find
from contextfold.testing import histories
from contextfold.testing.server import Say, StrictServer
from tests.acceptance.judge import strict_server

anthropic = pytest.importorskip("anthropic")

MODEL = "claude-sonnet-5-5"
SYSTEM = "You work on a project. " * 200
MARK = {"type": "ephemeral"}


def opened(**more: Any) -> cf.Session:
    return cf.Session.open(model=MODEL, system=SYSTEM, **more)


def turns(session: cf.Session, seed: int, tokens: int = 12_000) -> Iterator[cf.Request]:
    for message in histories.session(seed, tokens=tokens):
        if message["role"] == "assistant" and session.view.length:
            yield session.prepare(max_tokens=500, cache=True)
        session.append(message)


def marked_places(body: dict[str, Any]) -> list[int]:
    return [at for at, message in enumerate(body["messages"]) if "'cache_control'" in str(message["content"])]


def without_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [without_marks(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}


def test_marking_changes_nothing_but_marks() -> None:
    with opened() as session:
        for request in turns(session, 5):
            body = copy.deepcopy(request.body)
            assert cf.validate(body, dialect="anthropic") == []
            assert body.pop("cache_control") == MARK
            assert body["system"] == [{"type": "text", "text": SYSTEM, "cache_control": MARK}]
            unmarked = session.prepare(max_tokens=500, cache=False)
            assert without_marks(body["messages"]) == unmarked.body["messages"]
            assert unmarked.body["system"] == SYSTEM


def test_the_same_view_has_the_same_marks_and_appending_moves_only_the_last() -> None:
    with opened() as session:
        before: list[Any] = []
        for request in turns(session, 6):
            assert session.prepare(max_tokens=500, cache=True).json == request.json
            messages = request.body["messages"]
            assert without_marks(messages)[: len(before)] == without_marks(before)
            before = messages


def test_a_fold_is_marked_where_it_left_the_view_unchanged() -> None:
    with opened() as session:
        first = session.append({"role": "user", "content": [{"type": "text", "text": "Rules: be kind. " * 300}]})
        session.thread.pin(first)
        for message in histories.session(8, tokens=9_000):
            session.append(message)
        session.append({"role": "user", "content": "go on"})
        assert session.fold(to=5_000).folds
        body = session.prepare(max_tokens=500, cache=True).body
        unchanged = boundary(session.view.items)
        assert unchanged >= 1
        (place,) = marked_places(body)
        assert place < unchanged, "on the nearest message before it that is made of blocks"
        assert cf.validate(body) == []


def test_a_long_turn_is_marked_where_the_request_before_it_ended() -> None:
    calls = [{"type": "tool_use", "id": f"t{at}", "name": "read", "input": {}} for at in range(25)]
    results = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "x"} for at in range(25)]
    with opened() as session:
        session.append({"role": "user", "content": [{"type": "text", "text": "read all"}]})
        session.append({"role": "assistant", "content": calls})
        session.append({"role": "user", "content": results})
        assert marked_places(session.prepare(max_tokens=500, cache=True).body) == [0]


def test_marks_that_callers_put_are_theirs() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    system = [{"type": "text", "text": SYSTEM, "cache_control": hour}]
    with cf.Session.open(model=MODEL, system=system) as session:
        session.append({"role": "user", "content": "hi"})
        body = session.prepare(max_tokens=500, cache=True, cache_control=hour).body
        assert (body["system"], body["cache_control"]) == (system, hour)
        assert session.prepare(max_tokens=500, cache=True).body["system"] == system


def test_too_short_a_prefix_is_not_marked_and_other_formats_keep_their_own_ways() -> None:
    with opened() as session:
        session.append({"role": "user", "content": "hi"})
        opus = find("claude-opus-4-6")
        assert dialects.find("anthropic").marks(session.view, opus, 100, 1) == Marks((), frame=False, end=True)
        assert dialects.find("anthropic").marks(session.view, opus, 9_000, 1) == Marks((0,), frame=True, end=True)
        assert dialects.find("openai-chat").marks(session.view, find("gpt-4.1"), 9_000, 1) == Marks()
        assert dialects.find("openai-responses").marks(session.view, find("gpt-5.6-sol"), 9_000, 1) == Marks((0,))


def test_the_last_tool_is_marked_where_there_is_no_system_prompt() -> None:
    tools = [{"name": "f"}, {"name": "g"}]
    assert dialects.find("anthropic").marked_settings({"tools": tools}, Marks(frame=True, end=True))["tools"] == [
        tools[0],
        {"name": "g", "cache_control": MARK},
    ]
    assert dialects.find("anthropic").marked_settings({"tools": tools}, Marks()) == {"tools": tools}


@pytest.mark.parametrize("dialect", ["openai-responses", "openai-chat"])
def test_openais_breakpoint_stands_where_a_fold_left_the_view_unchanged(dialect: str) -> None:
    with cf.Session.open(model="gpt-5.6-sol", system=SYSTEM) as session:
        kind = "input_text" if dialect == "openai-responses" else "text"
        rules = {"role": "user", "content": [{"type": kind, "text": "Rules: be kind. " * 300}]}
        session.thread.pin(session.append(rules))
        for message in histories.session(9, tokens=9_000):
            session.append(message)
        session.append({"role": "user", "content": "go on"})
        assert session.fold(to=5_000).folds
        body = session.prepare(dialect=dialect, cache=True).body
        entries = body["messages"][1:] if dialect == "openai-chat" else body["input"]
        assert entries[0]["content"][-1]["prompt_cache_breakpoint"] == {"mode": "explicit"}
        assert str(body).count("prompt_cache_breakpoint") == 1
        assert cf.validate(body, dialect=dialect) == []


@pytest.fixture
def server() -> Iterator[StrictServer]:
    with strict_server() as server:
        server.always(Say("Done.", thinking="Short work."))
        yield server


def test_the_provider_reads_what_it_has_and_after_a_fold_up_to_the_mark(server: StrictServer) -> None:
    client = anthropic.Anthropic(base_url=server.url, api_key=server.token, max_retries=0)
    with client, opened() as session:
        session.thread.pin(session.append({"role": "user", "content": [{"type": "text", "text": "Be kind. " * 400}]}))
        for number in range(8):
            session.append({"role": "user", "content": [{"type": "text", "text": f"Task {number}. " * 100}]})
            session.append(client.messages.create(**session.prepare(max_tokens=500, cache=True).body))
        usages = [each.usage for each in server.exchanges]
        assert all(usage.read > 0.8 * before.input for before, usage in pairwise(usages))
        session.append({"role": "user", "content": "And now fold."})
        assert session.fold(to=4_000).folds
        session.append(client.messages.create(**session.prepare(max_tokens=500, cache=True).body))
        assert server.last.usage.read > 1_000, "system and the pinned rules come from the cache"
    assert server.refused == []
