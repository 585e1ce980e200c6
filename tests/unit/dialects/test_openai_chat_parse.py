import pytest

from contextfold.dialects import find
from contextfold.domain import Block, Document, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, decode, encode
from contextfold.errors import BadMessage

from .outline import bytes_of

CHAT = find("openai-chat")

PARTS: list[tuple[dict[str, object], Block]] = [
    ({"type": "text", "text": "hi"}, Text("hi")),
    ({"type": "refusal", "refusal": "no"}, Text("no")),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;charset=x;base64,AAAA", "detail": "low"}},
        Image("image/png", "AAAA", detail="low"),
    ),
    ({"type": "image_url", "image_url": {"url": "https://a/b.png"}}, Image(url="https://a/b.png")),
    ({"type": "image_url", "image_url": {"url": "data:text/plain,hi"}}, Image(url="data:text/plain,hi")),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}},
        Document("application/pdf", data="AA", title="a.pdf"),
    ),
    ({"type": "file", "file": {"file_data": "AA"}}, Document(data="AA")),
    ({"type": "file", "file": {"file_id": "file-1"}}, Document(url="file-1")),
]
UNKNOWN: list[dict[str, object]] = [
    {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
    {"type": "not_invented_yet", "x": None},
    {"type": "image_url", "image_url": "not an object"},
    {"text": "no type"},
]


@pytest.mark.parametrize(("part", "block"), PARTS)
def test_each_kind_of_part_has_its_neutral_form(part: dict[str, object], block: Block) -> None:
    assert CHAT.parse(bytes_of(role="user", content=[part])).blocks == (block,)


@pytest.mark.seed("E3")
@pytest.mark.parametrize("part", UNKNOWN)
def test_what_is_not_known_is_carried_with_its_json(part: dict[str, object]) -> None:
    (block,) = CHAT.parse(bytes_of(role="user", content=[part])).blocks
    assert isinstance(block, Opaque)
    assert decode(block.json) == part


@pytest.mark.parametrize(
    ("role", "neutral"),
    [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant")],
)
def test_roles_are_those_of_the_house(role: str, neutral: str) -> None:
    message = CHAT.parse(bytes_of(role=role, content="hi"))
    assert (message.role, message.blocks, message.dialect) == (neutral, (Text("hi"),), "openai-chat")


@pytest.mark.seed("D14")
def test_null_content_beside_calls_is_daily_life() -> None:
    function = {"name": "f", "arguments": '{"a": 1}'}
    message = CHAT.parse(
        bytes_of(role="assistant", content=None, tool_calls=[{"id": "c1", "type": "function", "function": function}])
    )
    assert message.blocks == (ToolCall("c1", "f", '{"a": 1}'),)


@pytest.mark.seed("D14")
@pytest.mark.parametrize("fields", [{"content": None}, {}, {"content": ""}, {"content": []}])
def test_null_missing_and_empty_content_is_legal(fields: dict[str, object]) -> None:
    assert CHAT.parse(bytes_of(role="assistant", **fields)).blocks == ()


def test_an_assistant_message_is_read_from_thought_to_call() -> None:
    message = CHAT.parse(
        bytes_of(
            role="assistant",
            tool_calls=[
                {"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}},
                {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free text"}},
                {"id": "c3", "function": {}},
            ],
            function_call={"name": "old", "arguments": "{}"},
            audio={"id": "audio_1"},
            refusal="rather not",
            content="so",
            reasoning="hm",
        )
    )
    assert message.blocks == (
        Reasoning("hm"),
        Text("so"),
        Text("rather not"),
        Opaque("audio", '{"id":"audio_1"}'),
        ToolCall("c1", "f", '{"a":1}'),
        ToolCall("c2", "g", '"free text"'),
        ToolCall("c3", "", "{}"),
        ToolCall("function--old", "old", "{}"),
    )


def test_one_of_two_names_for_reasoning_is_enough() -> None:
    message = CHAT.parse(bytes_of(role="assistant", content="so", reasoning_content="hm", reasoning="hm"))
    assert message.blocks == (Reasoning("hm"), Text("so"))


def test_a_tool_speaks_for_the_users_side() -> None:
    message = CHAT.parse(bytes_of(role="tool", tool_call_id="c1", content=[{"type": "text", "text": "42"}]))
    assert (message.role, message.blocks) == ("user", (ToolResult("c1", (Text("42"),)),))


def test_a_function_message_is_paired_with_its_call_by_name() -> None:
    call = CHAT.parse(bytes_of(role="assistant", content=None, function_call={"name": "f"}))
    answer = CHAT.parse(bytes_of(role="function", name="f", content="42"))
    assert call.calls[0].id == answer.results[0].call


def test_the_bytes_are_kept_as_they_came() -> None:
    raw = b'{ "content" : "a\\ud800", "role":"user" , "x": 1.50 }'
    message = CHAT.parse(raw)
    assert message.raw is raw
    assert message.text == "a\\ud800"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"7", "JSON object"),
        (b'{"content":"hi"}', "no role"),
        (b'{"role":"model","content":"hi"}', "'model'"),
        (b'{"role":{},"content":"hi"}', "role"),
        (b'{"role":"user","content":7}', "'content' is a int"),
        (b'{"role":"user","content":[null]}', "content part is a NoneType"),
        (b'{"role":"tool","content":"42"}', "no 'tool_call_id'"),
        (b'{"role":"function","content":"42"}', "no 'name'"),
        (b'{"role":"assistant","tool_calls":{}}', "'tool_calls' is a dict"),
        (b'{"role":"assistant","tool_calls":[{"function":{}}]}', "no 'id'"),
        (b'{"role":"assistant","tool_calls":[{"id":"a"}]}', "no 'function'"),
        (b'{"role":"assistant","tool_calls":["a"]}', "no 'id'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        CHAT.parse(raw)


def test_a_whole_answer_gives_the_message_without_what_the_api_does_not_take_back() -> None:
    message: dict[str, object] = {"role": "assistant", "refusal": None, "tool_calls": None, "content": "done"}
    body = {
        "object": "chat.completion",
        "model": "gpt-6-sol",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message | {"annotations": []}}],
        "usage": {"prompt_tokens": 3},
    }
    reply = CHAT.reply(body)
    assert reply is not None
    assert reply.message.raw == encode({"role": "assistant", "content": "done", "annotations": []})
    assert (reply.usage, reply.model, reply.stop) == ({"prompt_tokens": 3}, "gpt-6-sol", "stop")


def test_an_answer_that_calls_keeps_its_null_content() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    reply = CHAT.reply({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]})
    assert reply is not None
    assert reply.message.raw == encode({"role": "assistant", "content": None, "tool_calls": calls})
    assert (reply.usage, reply.model, reply.stop) == ({}, "", "")


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{"delta": {}}]}, {"choices": "none"}])
def test_other_bodies_are_no_answer(body: dict[str, object]) -> None:
    assert CHAT.reply(body) is None
