"""LangChain's own messages: what they say is read, what nobody changed comes back as it was, folds change one place."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_from_dict

import contextfold as cf
from contextfold import dialects
from contextfold.dialects import elements, fields
from contextfold.domain import Bill, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, decode, encode
from contextfold.errors import BadMessage

NAME = "langchain"
MODEL = "claude-sonnet-5-5"
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
ITEM = {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "read", "arguments": '{"path":"a"}'}
CALLS = [{"name": "read", "args": {"path": "a"}, "id": "c1", "type": "tool_call"}]
THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "sealed"}


def raw(message: Any) -> bytes:
    return encode(message.model_dump(mode="json"))


def answer(*content: dict[str, Any], **more: Any) -> AIMessage:
    return AIMessage(content=list(content), tool_calls=CALLS, **more)


def session(*messages: Any) -> cf.Session:
    opened = cf.Session.open(model=MODEL, dialect=NAME)
    for message in messages:
        opened.append(raw(message))
    return opened


def shown(opened: cf.Session) -> list[Any]:
    """What LangChain makes of the messages of a request."""
    found = [decode(bytes(each)) for each in elements(fields(opened.prepare(max_tokens=500).json)["messages"])]
    return messages_from_dict([{"type": each["type"], "data": each} for each in found])


def test_an_answer_is_read_whole_and_its_calls_once() -> None:
    parsed = dialects.find(NAME).parse(raw(answer(THOUGHT, {"type": "text", "text": "I look."}, USE)))
    assert parsed.role == "assistant"
    assert parsed.blocks == (
        Reasoning("Look first.", "sealed"),
        Text("I look."),
        ToolCall("c1", "read", '{"path":"a"}'),
    )


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "redacted_thinking", "data": "x"}, Reasoning(sealed="x")),
        ({"type": "reasoning", "summary": [{"text": "a"}], "encrypted_content": "y"}, Reasoning("a", sealed="y")),
        ({"type": "image_url", "image_url": {"url": "https://a/b.png"}}, Image(url="https://a/b.png")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}, Image("image/png", "QQ==")),
        ({"type": "image", "base64": "QQ==", "mime_type": "image/png"}, Image("image/png", "QQ==")),
        (
            {"type": "image", "source": {"type": "base64", "data": "QQ==", "media_type": "image/png"}},
            Image("image/png", "QQ=="),
        ),
        ({"type": "odd", "x": 1}, Opaque("odd", '{"type":"odd","x":1}')),
        ("words", Text("words")),
    ],
)
def test_every_part_of_a_content_has_its_neutral_block(part: Any, block: object) -> None:
    assert dialects.find(NAME).parse(raw(HumanMessage(content=[part]))).blocks == (block,)


def test_what_a_tool_answered_names_its_call() -> None:
    failed = ToolMessage(content="no such file", tool_call_id="c1", status="error")
    assert dialects.find(NAME).parse(raw(failed)).blocks == (ToolResult("c1", (Text("no such file"),), True),)


def test_what_is_no_message_of_langchain_is_refused() -> None:
    with pytest.raises(BadMessage, match="LangChain"):
        dialects.find(NAME).parse(b'{"role":"user","content":"hi"}')


def test_messages_that_nobody_touched_come_back_byte_for_byte() -> None:
    said = [HumanMessage("Read a."), answer(THOUGHT, USE), ToolMessage("text", tool_call_id="c1"), HumanMessage("And?")]
    with session(*said) as opened:
        request = opened.prepare(max_tokens=500)
        assert [bytes(each) for each in elements(fields(request.json)["messages"])] == [raw(each) for each in said]


def test_an_answers_bill_is_all_of_its_prompt_and_what_the_cache_had_to_do_with_it() -> None:
    details = {"cache_read": 30, "cache_creation": 20}
    usage = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107, "input_token_details": details}
    found = dialects.find(NAME).reply(decode(raw(AIMessage(content="Done.", usage_metadata=usage))))
    assert found is not None
    assert dialects.find(NAME).bill(found.usage) == Bill(100, 7, 30, 20)
    assert dialects.find(NAME).reply(decode(raw(AIMessage(content="Done.")))) is None


def test_a_folded_result_keeps_its_call_and_folded_reasoning_leaves() -> None:
    said = [HumanMessage("Read a."), answer(THOUGHT, USE), ToolMessage("text", tool_call_id="c1"), HumanMessage("And?")]
    with session(*said) as opened:
        opened.thread.fold([(3, 0)], "[cleared]")
        opened.thread.fold([(2, 0)], "")
        _, called, result, _ = shown(opened)
        assert (result.content, result.tool_call_id) == ("[cleared]", "c1")
        assert called.content == [USE]


def test_folded_words_are_words_and_blank_ones_leave() -> None:
    two = AIMessage(content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
    with session(HumanMessage("Say two things."), two, HumanMessage("And?")) as opened:
        opened.thread.fold([(2, 0)], "short")
        assert shown(opened)[1].content == [{"type": "text", "text": "short"}, {"type": "text", "text": "two"}]


def test_stand_ins_and_messages_of_other_formats_become_langchains() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
    with cf.Session.open(model=MODEL, dialect=NAME) as opened:
        opened.append({"role": "user", "content": "Earlier."}, dialect="anthropic")
        opened.append({"role": "assistant", "content": [USE]}, dialect="anthropic")
        given = {"type": "tool_result", "tool_use_id": "c1", "content": "text", "is_error": True}
        opened.append({"role": "user", "content": [given]}, dialect="anthropic")
        looked = {"role": "user", "content": [picture, {"type": "text", "text": "Look."}]}
        opened.append(looked, dialect="anthropic")
        opened.thread.fold([1], "Something was asked.")
        first, called, result, last = shown(opened)
        assert isinstance(first, HumanMessage)
        assert "Something was asked." in first.text
        assert called.tool_calls[0]["id"] == result.tool_call_id == "c1"
        assert result.status == "error"
        assert last.content[1]["image_url"]["url"] == "data:image/png;base64,QQ=="


def test_an_instruction_among_the_messages_is_words_of_the_users_side() -> None:
    with cf.Session.open(model="gpt-4.1", dialect=NAME) as opened:
        opened.append(raw(HumanMessage("hello")))
        opened.append({"role": "developer", "content": "Be brief."}, dialect="openai-chat")
        assert "[System message]\nBe brief." in shown(opened)[1].text
        assert dialects.find(NAME).parse(raw(SystemMessage("Be brief."))).role == "system"


@pytest.mark.parametrize(("part", "field"), [(USE, "id"), (ITEM, "call_id")], ids=["Anthropic's", "OpenAI's"])
def test_calls_under_one_id_come_to_differ_on_both_sides(part: dict[str, Any], field: str) -> None:
    once = [answer(part), ToolMessage("text", tool_call_id="c1")]
    with session(HumanMessage("a"), *once, HumanMessage("b"), *once, HumanMessage("c")) as opened:
        found = shown(opened)
        names = [call["id"] for each in found if isinstance(each, AIMessage) for call in each.tool_calls]
        results = [each.tool_call_id for each in found if isinstance(each, ToolMessage)]
        written = [decode(raw(each))["content"][0][field] for each in found if isinstance(each, AIMessage)]
        assert len(set(names)) == 2
        assert names == results == written


def test_a_late_result_is_told_as_words() -> None:
    said = [HumanMessage("a"), answer(USE), HumanMessage("never mind"), ToolMessage("text", tool_call_id="c1")]
    with session(*said, HumanMessage("b")) as opened:
        found = shown(opened)
        assert sum(isinstance(each, ToolMessage) for each in found) == 1, "the completion of the call"
        assert any("text" in each.text for each in found if isinstance(each, HumanMessage))


def test_the_dialect_is_found_by_name_and_never_guessed() -> None:
    assert dialects.known(NAME) == NAME
    assert NAME not in [each.name for each in dialects.all_known()]
    assert dialects.find(NAME).claims(decode(raw(HumanMessage("hi"))))
    assert dialects.find(NAME).reads(decode(raw(HumanMessage("hi"))))
