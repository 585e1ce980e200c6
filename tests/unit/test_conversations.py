"""Conversations that somebody else runs: objects given back, requests that grow, sessions that are let go and found."""

from pathlib import Path

import contextfold as cf
from contextfold.conversations import MOST_OPEN, Conversations, FoldSettings, SentMessages, WrittenObjects, given_back
from contextfold.domain import decode, encode

MODEL = "claude-sonnet-5-5"
Message = dict[str, str]


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def test_only_an_object_that_is_another_is_written_again() -> None:
    written, asked = WrittenObjects(), []

    def write(message: Message) -> bytes:
        asked.append(message["content"])
        return encode(message)

    messages = [said("user", "a"), said("assistant", "b")]
    written.of(messages, write)
    written.of([*messages, said("user", "c")], write)
    written.of([messages[0], said("assistant", "other")], write)
    assert asked == ["a", "b", "c", "other"]
    assert written.bytes == [encode(messages[0]), encode(said("assistant", "other"))]


def test_the_owners_own_objects_come_back_and_of_those_alike_the_newest() -> None:
    first, second = said("user", "yes"), said("user", "yes")
    owned = WrittenObjects().of([first, second], encode)
    stand_in, last = given_back([b'{"role":"user","content":"folded"}', encode(second)], owned, decode)
    assert last is second
    assert stand_in == said("user", "folded")


def test_the_messages_of_a_request_that_grew_or_was_folded_are_all_there() -> None:
    seen = SentMessages()
    with cf.Session.open(model="gpt-4.1", window=9_000) as session:
        for number in range(40):
            session.append(said("user", f"question {number} " + "word " * 200))
            request = session.prepare(max_tokens=500)
            assert [decode(each) for each in seen.of(request)] == request.body["messages"]
            session.append(said("assistant", f"answer {number}"))
        assert session.folds


def test_a_conversation_that_was_let_go_is_found_again(tmp_path: Path) -> None:
    kept = Conversations(tmp_path / "agent.db", FoldSettings(window=9_000))
    first = kept.of("thread 0", MODEL, "anthropic")
    first.turn([said("user", "hello")])
    first.answered(said("assistant", "hi"))
    assert kept.of("thread 0", MODEL, "anthropic") is first
    for number in range(1, MOST_OPEN + 1):
        kept.of(f"thread {number}", MODEL, "anthropic")
    again = kept.of("thread 0", MODEL, "anthropic")
    assert again is not first
    assert again.session.stats.messages == 2
    assert again.session.model.window == 9_000
    kept.close()
    with cf.open(tmp_path / "agent.db") as store:
        held = Conversations(store)
        assert held.of("thread 0", MODEL, "anthropic").session.view.length == 2
        held.close()
        assert "thread 0" in store, "a store that was given stays open"


def test_only_a_refusal_for_length_makes_the_next_request_shorter() -> None:
    kept = Conversations(None)
    conversation = kept.of("t", MODEL, "anthropic")
    conversation.turn([said("user", "hello")])
    assert not conversation.overflowed(ValueError("rate limit exceeded"))
    assert conversation.overflowed(ValueError("prompt is too long: 210000 tokens > 200000 maximum"))
    kept.close()
