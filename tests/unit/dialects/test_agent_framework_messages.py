"""Agent Framework's own messages: what they say is read, what nobody changed comes back, folds change one place."""

from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import elements, fields
from contextfold.domain import Bill, Edit, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, decode, encode
from contextfold.errors import BadMessage

from .outline import item

NAME = "agent-framework"
MODEL = "gpt-6-sol"
Json = dict[str, Any]


def message(role: str, *contents: Json) -> Json:
    return {"type": "message", "role": role, "contents": list(contents), "additional_properties": {"a": 1}}


def text(words: str) -> Json:
    return {"type": "text", "text": words, "additional_properties": {}}


def result(call: str, words: str) -> Json:
    return {"type": "function_result", "call_id": call, "result": words, "items": [text(words)], "id": f"af-{call}"}


THOUGHT = {"type": "text_reasoning", "text": "Look first.", "protected_data": "sealed", "id": "rs_1"}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'}
OTHER = {"type": "function_call", "call_id": "c2", "name": "read", "arguments": {"path": "b"}}
TURN = [
    message("user", text("Read both.")),
    message("assistant", THOUGHT, text("I look."), CALL, OTHER),
    message("tool", result("c1", "text"), {**result("c2", ""), "exception": "gone"}),
    message("user", text("And?")),
]


def session(*messages: Json) -> cf.Session:
    opened = cf.Session.open(model=MODEL, dialect=NAME)
    for each in messages:
        opened.append(each)
    return opened


def shown(opened: cf.Session) -> list[Json]:
    return [decode(bytes(each)) for each in elements(fields(opened.prepare(max_tokens=500).json)["messages"])]


def test_an_answer_and_its_results_are_read_whole() -> None:
    dialect = dialects.find(NAME)
    calls = (ToolCall("c1", "read", '{"path":"a"}'), ToolCall("c2", "read", '{"path":"b"}'))
    thought = Reasoning("Look first.", sealed="sealed")
    assert dialect.parse(encode(TURN[1])).blocks == (thought, Text("I look."), *calls)
    results = (ToolResult("c1", (Text("text"),)), ToolResult("c2", (Text("gone"),), True))
    assert dialect.parse(encode(TURN[2])).blocks == results
    assert [dialect.parse(encode(each)).role for each in TURN] == ["user", "assistant", "user", "user"]


@pytest.mark.parametrize(
    ("content", "block"),
    [
        ({"type": "uri", "uri": "https://a/b.png", "media_type": "image/png"}, Image(url="https://a/b.png")),
        ({"type": "data", "uri": "data:image/png;base64,QQ==", "media_type": "image/png"}, Image("image/png", "QQ==")),
        ({"type": "odd"}, Opaque("odd", '{"type":"odd"}')),
        ("words", Opaque("", '"words"')),
        ({"type": "function_result", "call_id": "c", "result": {"a": 1}}, ToolResult("c", (Text('{"a":1}'),))),
    ],
)
def test_every_content_has_its_neutral_block(content: Any, block: object) -> None:
    assert dialects.find(NAME).parse(encode(message("user", content))).blocks == (block,)


def test_what_is_no_message_of_agent_framework_is_refused() -> None:
    with pytest.raises(BadMessage, match="Agent Framework"):
        dialects.find(NAME).parse(b'{"role":"user","content":"hello"}')


def test_messages_that_nobody_touched_come_back_as_they_were() -> None:
    with session(*TURN) as opened:
        assert shown(opened) == TURN


def test_usage_in_its_words_is_a_bill() -> None:
    usage = {"input_token_count": 100, "cache_read_input_token_count": 30, "output_token_count": 7}
    assert dialects.find(NAME).bill(usage) == Bill(100, 7, 30, 0)


def test_a_folded_result_keeps_its_call_and_folded_reasoning_leaves() -> None:
    with session(*TURN) as opened:
        opened.thread.fold([(3, 0)], "[cleared]")
        opened.thread.fold([(2, 0)], "")
        _, called, results, _ = shown(opened)
        assert called["contents"] == [text("I look."), CALL, OTHER]
        first, second = results["contents"]
        assert (first["call_id"], first["result"], first["items"][0]["text"]) == ("c1", "[cleared]", "[cleared]")
        assert first["id"] == "af-c1"
        assert second == TURN[2]["contents"][1]


def test_stand_ins_and_messages_of_other_formats_become_agent_frameworks() -> None:
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
        first, called, answered, last = shown(opened)
        assert "Something was asked." in first["contents"][0]["text"]
        assert [each["type"] for each in called["contents"]] == ["text", "function_call"]
        assert (answered["role"], answered["contents"][0]["call_id"]) == ("tool", "c1")
        assert [each["type"] for each in last["contents"]] == ["data", "uri"]


def test_calls_under_one_id_come_to_differ_on_both_sides() -> None:
    once = [message("assistant", CALL), message("tool", result("c1", "text"))]
    ask = [message("user", text(word)) for word in "abc"]
    with session(ask[0], *once, ask[1], *once, ask[2]) as opened:
        contents = [content for each in shown(opened) for content in each["contents"]]
        names = [content["call_id"] for content in contents if content["type"] == "function_call"]
        assert len(set(names)) == 2
        assert names == [content["call_id"] for content in contents if content["type"] == "function_result"]


def test_a_late_result_is_told_as_words() -> None:
    with session(
        message("user", text("a")),
        message("assistant", CALL),
        message("user", text("never mind")),
        message("tool", result("c1", "what was read")),
        message("user", text("b")),
    ) as opened:
        *_, told, _ = shown(opened)
        assert told["role"] == "user"
        assert "what was read" in told["contents"][0]["text"]


def test_folded_words_and_empty_words_change_their_content_alone() -> None:
    dialect = dialects.find(NAME)
    answer = dialect.parse(encode(message("assistant", THOUGHT, text("Yes."), CALL)))

    def contents(*edits: Edit) -> list[tuple[str, str]]:
        chunk = decode(dialect.chunk(item(answer, *edits), answer))
        return [(each["type"], each.get("text", "")) for each in chunk["contents"]]

    assert contents(Edit(1, "[folded]"))[1] == ("text", "[folded]")
    assert [kind for kind, _ in contents(Edit(1, ""))] == ["text_reasoning", "function_call"]
