"""Pydantic AI's own messages: what they say is read, what nobody changed comes back, folds change one place."""

from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import elements, fields
from contextfold.domain import Bill, Edit, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, decode, encode
from contextfold.errors import BadMessage

from .outline import item

NAME = "pydantic-ai"
MODEL = "claude-sonnet-5-5"
Json = dict[str, Any]


def asked(*parts: Json) -> Json:
    return {"parts": list(parts), "instructions": "Be brief.", "kind": "request", "run_id": "r1"}


def said(*parts: Json) -> Json:
    return {"parts": list(parts), "kind": "response", "model_name": MODEL, "usage": {"input_tokens": 0}}


def user(content: Any) -> Json:
    return {"content": content, "part_kind": "user-prompt"}


THOUGHT = {"content": "Look first.", "signature": "sealed", "part_kind": "thinking"}
CALL = {"tool_name": "read", "args": {"path": "a"}, "tool_call_id": "c1", "part_kind": "tool-call"}
OTHER = {"tool_name": "read", "args": '{"path":"b"}', "tool_call_id": "c2", "part_kind": "tool-call"}
RESULT = {
    "tool_name": "read",
    "content": "text",
    "tool_call_id": "c1",
    "outcome": "success",
    "part_kind": "tool-return",
}
FAILED = {"tool_name": "read", "content": {"why": "x"}, "tool_call_id": "c2", "part_kind": "retry-prompt"}
TURN = [asked(user("Read both.")), said(THOUGHT, CALL, OTHER), asked(RESULT, FAILED), asked(user("And?"))]


def session(*messages: Json) -> cf.Session:
    opened = cf.Session.open(model=MODEL, dialect=NAME)
    for message in messages:
        opened.append(message)
    return opened


def shown(opened: cf.Session) -> list[Json]:
    return [decode(bytes(each)) for each in elements(fields(opened.prepare(max_tokens=500).json)["messages"])]


def test_a_response_and_what_answers_it_are_read_whole() -> None:
    dialect = dialects.find(NAME)
    calls = (ToolCall("c1", "read", '{"path":"a"}'), ToolCall("c2", "read", '{"path":"b"}'))
    assert dialect.parse(encode(TURN[1])).blocks == (Reasoning("Look first.", "sealed"), *calls)
    results = (ToolResult("c1", (Text("text"),)), ToolResult("c2", (Text('{"why":"x"}'),), True))
    assert dialect.parse(encode(TURN[2])).blocks == results
    assert [dialect.parse(encode(each)).role for each in TURN[:3]] == ["user", "assistant", "user"]
    assert dialect.parse(encode(asked({"content": "Be brief.", "part_kind": "system-prompt"}))).role == "system"


@pytest.mark.parametrize(
    ("content", "block"),
    [
        ("words", Text("words")),
        ({"kind": "image-url", "url": "https://a/b.png"}, Image(url="https://a/b.png")),
        ({"kind": "binary", "data": "QQ==", "media_type": "image/png"}, Image("image/png", "QQ==")),
        ({"kind": "odd"}, Opaque("odd", '{"kind":"odd"}')),
        (7, Opaque("", "7")),
    ],
)
def test_everything_a_user_gives_has_its_neutral_block(content: Any, block: object) -> None:
    assert dialects.find(NAME).parse(encode(asked(user([content])))).blocks == (block,)


def test_parts_that_nobody_knows_are_carried() -> None:
    built_in = {"part_kind": "builtin-tool-call", "tool_name": "search"}
    (block,) = dialects.find(NAME).parse(encode(said(built_in))).blocks
    assert isinstance(block, Opaque)
    feedback = {"part_kind": "retry-feedback", "content": "Try again."}
    assert dialects.find(NAME).parse(encode(asked(feedback))).blocks == (Text("Try again."),)


def test_what_is_no_message_of_pydantic_ai_is_refused() -> None:
    with pytest.raises(BadMessage, match="Pydantic AI"):
        dialects.find(NAME).parse(b'{"role":"user","parts":[]}')


def test_messages_that_nobody_touched_come_back_as_they_were() -> None:
    with session(*TURN) as opened:
        assert shown(opened) == TURN


def test_a_response_brings_its_bill() -> None:
    usage = {"input_tokens": 100, "cache_read_tokens": 30, "cache_write_tokens": 20, "output_tokens": 7}
    found = dialects.find(NAME).reply({**said(CALL), "usage": usage})
    assert found is not None
    assert dialects.find(NAME).bill(found.usage) == Bill(100, 7, 30, 20)
    assert dialects.find(NAME).reply(said(CALL)) is None


def test_a_folded_result_keeps_its_call_and_folded_reasoning_leaves() -> None:
    with session(*TURN) as opened:
        opened.thread.fold([(3, 0)], "[cleared]")
        opened.thread.fold([(2, 0)], "")
        _, called, results, _ = shown(opened)
        assert called["parts"] == [CALL, OTHER]
        assert results["parts"] == [{**RESULT, "content": "[cleared]"}, FAILED]


def test_folded_words_stand_where_the_words_stood() -> None:
    odd = {"kind": "odd"}
    spoken = {"part_kind": "text", "content": "long"}
    strange = {"part_kind": "strange", "content": "x"}
    with session(asked(user(["one", odd])), said(spoken, strange), asked(user("And?"))) as opened:
        opened.thread.fold([(1, 0)], "short")
        opened.thread.fold([(2, 0), (2, 1)], "told")
        first, answered, _ = shown(opened)
        assert first["parts"] == [user(["short", odd])]
        assert {each["content"] for each in answered["parts"]} <= {"told", "long", "x"}


def test_stand_ins_and_messages_of_other_formats_become_pydantic_ais() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}
    with cf.Session.open(model=MODEL, dialect=NAME) as opened:
        opened.append({"role": "user", "content": "Earlier."}, dialect="anthropic")
        opened.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]}, dialect="anthropic")
        given = [{"type": "tool_result", "tool_use_id": "c1", "content": "text"}]
        opened.append({"role": "user", "content": given}, dialect="anthropic")
        opened.append({"role": "user", "content": [picture, linked]}, dialect="anthropic")
        opened.thread.fold([1], "Something was asked.")
        first, called, result, last = shown(opened)
        assert "Something was asked." in first["parts"][0]["content"]
        assert [part["part_kind"] for part in called["parts"]] == ["text", "tool-call"]
        assert (result["parts"][0]["tool_name"], result["parts"][0]["tool_call_id"]) == ("read", "c1")
        assert [each["kind"] for each in last["parts"][0]["content"]] == ["binary", "image-url"]


def test_calls_under_one_id_come_to_differ_on_both_sides() -> None:
    once = [said(CALL), asked(RESULT)]
    with session(asked(user("a")), *once, asked(user("b")), *once, asked(user("c"))) as opened:
        parts = [part for message in shown(opened) for part in message["parts"]]
        names = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"]
        assert len(set(names)) == 2
        assert names == [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-return"]


def test_a_late_result_is_told_as_words() -> None:
    with session(asked(user("a")), said(CALL), asked(user("never mind")), asked(RESULT, user("b"))) as opened:
        *_, last = shown(opened)
        words = [part["content"] for part in last["parts"]]
        assert any("text" in each for each in words)
        assert all(part["part_kind"] == "user-prompt" for part in last["parts"])


def test_folded_thoughts_and_empty_words_leave_their_part_out() -> None:
    dialect = dialects.find(NAME)
    message = dialect.parse(encode(said(THOUGHT, {"content": "Yes.", "part_kind": "text"}, CALL)))

    def kinds(*edits: Edit) -> list[str]:
        return [part["part_kind"] for part in decode(dialect.chunk(item(message, *edits), message))["parts"]]

    assert kinds(Edit(0, "[folded]")) == ["text", "tool-call"]
    assert kinds(Edit(1, "")) == ["thinking", "tool-call"]
    assert kinds(Edit(1, "[folded]")) == ["thinking", "text", "tool-call"]


@pytest.mark.parametrize(
    "body",
    [
        {**said(), "usage": {"input_tokens": 0}},
        {**said(), "usage": None},
        {**asked(), "usage": {"input_tokens": 9}},
    ],
)
def test_only_a_response_with_a_bill_for_its_input_is_a_reply(body: Json) -> None:
    assert dialects.find(NAME).reply(body) is None
    assert dialects.find(NAME).reply({**said(), "usage": {"input_tokens": 1}}) is not None
