"""A turn that is like the one before does little, and still says what the caller says now."""

from typing import Any

import pytest

import contextfold as cf
from contextfold import models
from contextfold.dialects import MarkCarriers, RequestSettings, find
from contextfold.dialects.dialect import worth_marking
from contextfold.testing import tools as sample_tools

MODEL = "claude-sonnet-4-5"


def said(session: cf.Session, text: str) -> None:
    session.append({"role": "user", "content": text})


def answered(session: cf.Session, text: str = "Done.") -> None:
    session.append({"role": "assistant", "content": text})


@pytest.mark.finding("P3")
def test_a_list_of_tools_that_was_changed_where_it_stands_is_sent_as_it_is_now() -> None:
    given = sample_tools()
    with cf.Session.open(model=MODEL, tools=given) as session:
        said(session, "Begin.")
        first = session.prepare(max_tokens=100).body
        answered(session)
        said(session, "Go on.")
        given.pop()
        second = session.prepare(max_tokens=100)
        answered(session)
        assert len(second.body["tools"]) == len(first["tools"]) - 1
        assert session.request_at(session.view.head).json == second.json


@pytest.mark.finding("P3")
def test_a_setting_that_was_changed_where_it_stands_is_sent_as_it_is_now() -> None:
    metadata = {"user_id": "ann"}
    with cf.Session.open(model=MODEL) as session:
        said(session, "Begin.")
        assert session.prepare(max_tokens=100, metadata=metadata).body["metadata"] == {"user_id": "ann"}
        metadata["user_id"] = "ben"
        changed = session.prepare(max_tokens=100, metadata=metadata)
        answered(session)
        assert changed.body["metadata"] == {"user_id": "ben"}
        assert session.request_at(session.view.head).body["metadata"] == {"user_id": "ben"}


@pytest.mark.finding("P3")
def test_settings_of_one_request_are_not_those_of_the_next() -> None:
    bodies: list[dict[str, Any]] = []
    with cf.Session.open(model=MODEL, system="Be brief.") as session:
        given: list[dict[str, Any]] = [{"temperature": 0.5}, {}, {"max_tokens": 50}, {"cache": False}, {"stream": True}]
        for settings in given:
            said(session, "Go on.")
            bodies.append(session.prepare(**{"max_tokens": 100, **settings}).body)
            answered(session)
    assert [body.get("temperature") for body in bodies] == [0.5, None, None, None, None]
    assert [body["max_tokens"] for body in bodies] == [100, 100, 50, 100, 100]
    assert ["cache_control" in body for body in bodies] == [True, True, True, False, True]
    assert [body.get("stream") for body in bodies] == [None, None, None, None, True]


@pytest.mark.finding("P3")
def test_a_secret_is_sent_and_never_kept_also_when_it_is_given_again() -> None:
    server = {"type": "url", "url": "https://tools.example", "name": "t", "authorization_token": "secret-1234"}
    with cf.Session.open(model=MODEL) as session:
        for _ in range(2):
            said(session, "Go on.")
            request = session.prepare(max_tokens=100, mcp_servers=[server])
            answered(session)
            assert b"secret-1234" in request.json
            assert b"secret-1234" not in session.request_at(session.view.head).json


@pytest.mark.finding("P3")
def test_preparing_again_after_nothing_happened_gives_the_same_request() -> None:
    with cf.Session.open(model=MODEL, system="Be brief.", tools=sample_tools()) as session:
        said(session, "Begin.")
        first = session.prepare(max_tokens=100)
        assert session.prepare(max_tokens=100).json == first.json
        assert [part.seq for part in first.parts] == [1]


@pytest.mark.finding("H7")
def test_a_call_that_goes_unread_still_names_the_function_of_a_result_from_elsewhere() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "forty-two"}
    with cf.Session.open(model="gemini-2.5-pro") as session:
        session.append({"role": "user", "parts": [{"text": "Read it."}]})
        session.append({"role": "model", "parts": [{"functionCall": {"id": "a", "name": "read", "args": {}}}]})
        session.append({"role": "user", "content": [result]}, dialect="anthropic")
        (part,) = session.prepare(max_tokens=100).body["contents"][-1]["parts"]
    assert part["functionResponse"]["name"] == "read"


def test_a_tool_that_its_provider_runs_is_told_as_lost_in_each_request_elsewhere() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    with cf.Session.open(model="gpt-5.2") as session:
        for given in ([*sample_tools(), search], sample_tools()):
            said(session, "Go on.")
            losses = [session.prepare(max_tokens=100, tools=given).report.losses for _ in range(2)]
            answered(session)
            assert losses[0] == losses[1]
            assert bool(losses[0]) == (search in given)


def test_the_first_frame_of_a_session_without_system_and_tools_is_weighed() -> None:
    with cf.Session.open(model="gpt-5.2") as session:
        said(session, "Begin.")
        request = session.prepare(max_tokens=100)
        assert request.raw_tokens > session.view.tokens()


@pytest.mark.finding("P3")
@pytest.mark.parametrize("place", [0, 3, 9, 10, 15])
def test_a_mark_goes_to_the_nearest_message_that_can_carry_one_also_when_asked_again(place: int) -> None:
    chunks = [b'{"role":"user","content":"words"}'] * 16
    chunks[1] = b'{"role":"user","content":[{"type":"text","text":"blocks"}]}'
    carriers = MarkCarriers(find("anthropic"))
    first = carriers.put(chunks[:], [place])
    assert [at for at, chunk in enumerate(first) if b"cache_control" in chunk] == ([1] if 1 <= place <= 10 else [])
    assert carriers.put(chunks[:], [place]) == first
    chunks[place] = chunks[1]
    moved = carriers.put(chunks[:], [place])
    assert [at for at, chunk in enumerate(moved) if b"cache_control" in chunk] == [place]


def test_a_place_is_worth_a_mark_from_the_shortest_prefix_on_that_the_provider_keeps() -> None:
    model = models.find(MODEL)
    assert model.cache is not None
    least = model.cache.least or 0
    with cf.Session.open(model=MODEL) as session:
        said(session, "Begin.")
        answered(session)
        said(session, "Go on.")
        view, first = session.view, session.view.tokens(0, 1)
        second = session.view.tokens(0, 2)
    assert worth_marking(view, model, least - first, {-1, 0, 1}) == (0, 1)
    assert worth_marking(view, model, least - first - 1, {-1, 0, 1}) == (1,)
    assert worth_marking(view, model, least - second - 1, {0, 1}) == ()


def test_settings_without_some_fields_keep_the_others_in_their_order() -> None:
    given = RequestSettings(find("openai-responses"), {"model": "m", "previous_response_id": "r", "store": True})
    assert given.chains == ("previous_response_id",)
    assert list(given.without(given.chains).fields) == ["model", "store"]
