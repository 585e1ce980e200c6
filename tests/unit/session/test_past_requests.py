"""What was sent can be written again byte for byte, and tells where each of its messages came from."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import NewEvent, Sent, digest, encode
from contextfold.errors import NotFound
from contextfold.layers import System
from tests.crash.traces import readable

TOOLS = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}}]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def sents(session: cf.Session) -> list[tuple[int, Sent]]:
    return [(each.seq, each.event) for each in session.thread.events if isinstance(each.event, Sent)]


@pytest.mark.parametrize("model", ["claude-opus-4-8", "gpt-4.1", "gemini-2.5-pro"])
def test_a_request_is_rebuilt_with_its_settings_system_and_tools_after_reopening(tmp_path: Path, model: str) -> None:
    with cf.Session.open(tmp_path / "s.db", model=model) as session:
        session.append(said("Hello."))
        settings: dict[str, Any] = {"temperature": 0.5} if "opus" not in model else {"thinking": {"type": "adaptive"}}
        first = session.prepare(system="Be brief.", tools=TOOLS, max_tokens=500, **settings)
        seq = session.append(answer("Hi."))
        session.append(said("Go on."))
        second = session.prepare(system="Be long.", stream=True)
        other = session.append(answer("Well."))
    with cf.Session.open(tmp_path / "s.db", model=model) as session:
        past = session.request_at(seq)
        assert (past.json, past.body, past.betas, past.is_answered) == (first.json, first.body, first.betas, True)
        assert session.request_at(past.seq) == past
        assert session.request_at(other).json == second.json
        assert past.parts == first.parts


def test_a_request_without_an_answer_is_kept_once_it_is_known_that_none_came(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        session.append(said("Hello."))
        lost = session.prepare(max_tokens=100)
        assert session.prepare(max_tokens=100).json == lost.json  # the same again
        kept = session.prepare(max_tokens=200)
        assert sents(session) == []
        seq = session.append(answer("Hi."))
        session.append(said("Go on."))
        last = session.prepare(max_tokens=300)
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        requests = [session.request_at(seq) for seq, _ in sents(session)]
        assert [(each.json, each.is_answered) for each in requests] == [
            (lost.json, False),
            (kept.json, True),
            (last.json, False),
        ]
        assert session.request_at(seq).json == kept.json
        assert session.stats.requests == 1


def test_what_a_rewind_leaves_unanswered_is_kept_and_is_nobodys_request(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-opus-4-8") as session:
        seq = session.append(said("Hello."))
        request = session.prepare()
        session.edit(seq, said("Good morning."))
        session.append(answer("From elsewhere."))
        ((at, sent),) = sents(session)
        assert (session.request_at(at).json, sent.is_answered) == (request.json, False)
        with pytest.raises(NotFound, match="nor the answer"):
            session.request_at(session.view.messages[-1].seq)


def test_no_key_and_no_header_is_written_down() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append(said("Hello."))
        servers = [{"type": "url", "url": "https://x", "name": "x", "authorization_token": "tok-canary"}]
        request = session.prepare(extra_headers={"x-api-key": "key-canary"}, mcp_servers=servers)
        assert b"key-canary" in request.json
        past = session.request_at(session.append(answer("Hi.")))
        assert b"canary" not in past.json
        assert past.body["mcp_servers"] == [{"type": "url", "url": "https://x", "name": "x"}]


def test_no_key_of_a_server_among_the_tools_is_written_down(tmp_path: Path) -> None:
    server = {"type": "mcp", "server_label": "x", "server_url": "https://x", "authorization": "key-canary"}
    own = {"type": "function", "name": "log_in", "parameters": {"properties": {"authorization": {"type": "string"}}}}
    with cf.Session.open(tmp_path / "a.db", model="gpt-6-sol", dialect="openai-responses") as session:
        session.append({"role": "user", "content": "Hello."})
        request = session.prepare(tools=[server, own])
        assert b"key-canary" in request.json
        past = session.request_at(session.append({"role": "assistant", "content": "Hi."}))
    del server["authorization"]
    assert past.body["tools"] == [server, own]
    assert b"key-canary" not in readable(tmp_path)


def test_a_request_from_before_settings_were_kept_says_so() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append(said("Hello."))
        old = Sent(1, "claude-sonnet-5-5", "anthropic", 9)
        (logged,) = session.thread.write(lambda now: [NewEvent(old, now.head, 1.0)])
        with pytest.raises(NotFound, match="older version"):
            session.request_at(logged.seq)
        with pytest.raises(NotFound, match="nearest one is"):
            session.request_at(99)


def test_a_request_that_showed_what_was_forgotten_is_not_made_up() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        first = session.append(said("The key is 12."))
        session.prepare()
        seq = session.append(answer("Hi."))
        session.store.forget(session.thread.name, first)
        with pytest.raises(NotFound, match="forgotten"):
            session.request_at(seq)


def test_parts_name_messages_folds_attachments_and_completions() -> None:
    with cf.Session.open(model="gpt-4.1") as session:
        first = session.append(said("Hello."))
        second = session.append({"role": "assistant", "content": "Hi."})
        fold = session.thread.fold([first, second], "They greeted.")
        third = session.append(said("Read."))
        call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        fourth = session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        fifth = session.append(said("Never mind."))
        request = session.prepare(system="Be brief.")
        told = [(part.seq, part.kind, part.is_touched) for part in request.parts]
    assert told == [
        (0, "frame", False),
        (fold, "stand_in", False),
        (third, "message", False),
        (fourth, "message", False),
        (fourth, "completion", False),
        (fifth, "message", False),
    ]
    assert len(request.parts) == len(request.body["messages"])


def test_a_message_with_a_folded_part_is_touched_and_its_marked_neighbours_are_not() -> None:
    with cf.Session.open(model="claude-sonnet-4-6") as session:
        call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
        session.append(said("Read. " * 3_000))
        session.append({"role": "assistant", "content": [call]})
        result = session.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x" * 500}]}
        )
        session.append(answer("Read."))
        session.thread.fold([(result, 0)], "[cleared]", kind="clear")
        session.append(said("Go on."))
        request = session.prepare(cache=True)
    assert [part.is_touched for part in request.parts] == [False, False, True, False, False]
    assert b"cache_control" in request.json


def test_a_session_opened_again_knows_its_system_and_its_tools(tmp_path: Path) -> None:
    system = "You are a careful engineer. " * 50
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        session.append(said("Hello."))
        session.prepare(system=system, tools=TOOLS)
        session.append(answer("Hi."))
        used, beside = session.preview().used, session.stats.beside
        assert beside > 200
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        assert (session.preview().used, session.stats.beside) == (used, beside)
        session.append(said("Go on."))
        assert session.prepare().body["tools"] == TOOLS


def test_layers_are_not_said_twice_by_a_session_opened_again(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        session.define(system=System("An engineer."))
        session.append(said("Hello."))
        before = session.prepare(system="Be brief.")
        session.append(answer("Hi."))
        session.append(said("Go on."))
        now = session.prepare().body["system"]
        assert now == before.body["system"]
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-5-5") as session:
        assert session.prepare().body["system"] == now


def test_the_awaited_twins_do_the_same() -> None:
    async def talk() -> None:
        async with await cf.aio.Session.open(model="claude-sonnet-5-5") as session:
            await session.append(said("Hello."))
            request = await session.prepare(system="Be brief.")
            seq = await session.append(answer("Hi."))
            assert (await session.request_at(seq)).json == request.json
            assert (await session.thread.request(seq)).parts == request.parts
            assert await session.thread.surroundings() == ("Be brief.", None)

    asyncio.run(talk())


def test_pieces_that_lead_nowhere_are_a_request_that_cannot_be_rebuilt(tmp_path: Path) -> None:
    frame = encode(["{", 2, "}"])
    with cf.open(tmp_path / "s.db") as store:
        thread = store.thread("forged", model="claude-sonnet-5-5")
        thread.append(said("Hello."))
        sent = Sent(1, "claude-sonnet-5-5", "anthropic", 1, settings=digest(frame), body="0" * 64)
        pieces = b'[",",[["sent",9,0,1]]]'
        thread.write(lambda now: [NewEvent(sent, now.head, 1.0, pieces)], blobs=[frame])
        with pytest.raises(NotFound, match="cannot be rebuilt byte for byte"):
            thread.request(2)
