import pytest

from contextfold.dialects import find
from contextfold.domain import Block, Document, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, decode, encode
from contextfold.errors import BadMessage

from .outline import bytes_of

ANTHROPIC = find("anthropic")

BLOCKS: list[tuple[dict[str, object], Block]] = [
    ({"type": "text", "text": "hi", "citations": None}, Text("hi")),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        Image("image/png", "AAAA"),
    ),
    ({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}, Image(url="https://a/b.png")),
    ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, Image(url="file_1")),
    (
        {
            "type": "document",
            "title": "T",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"},
        },
        Document("application/pdf", data="AA", title="T"),
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        Document("text/plain", text="words"),
    ),
    ({"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}}, Document(url="https://a/b.pdf")),
    ({"type": "document", "source": {"type": "file", "file_id": "file_2"}}, Document(url="file_2")),
    (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "inside"}]}},
        Document("text/plain", text="inside"),
    ),
    (
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"a": [1, 2.5]}},
        ToolCall("t1", "Bash", '{"a":[1,2.5]}'),
    ),
    ({"type": "tool_result", "tool_use_id": "t1", "content": "out"}, ToolResult("t1", (Text("out"),))),
    ({"type": "tool_result", "tool_use_id": "t1", "is_error": True}, ToolResult("t1", (), True)),
    (
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                {"type": "tool_reference", "tool_name": "x"},
            ],
        },
        ToolResult(
            "t1",
            (
                Text("a"),
                Image("image/png", "AA"),
                Opaque("tool_reference", '{"type":"tool_reference","tool_name":"x"}'),
            ),
        ),
    ),
    ({"type": "thinking", "thinking": "hm", "signature": "sig"}, Reasoning("hm", "sig")),
    ({"type": "redacted_thinking", "data": "sealed"}, Reasoning(sealed="sealed")),
]
UNKNOWN: list[dict[str, object]] = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    {"type": "compaction", "content": "signed"},
    {"type": "not_invented_yet", "x": {"y": [None]}},
    {"type": "image", "source": {"type": "hologram"}},
    {"type": "document", "source": None},
    {"type": "text", "text": 3},
    {"type": "thinking"},
    {"type": "redacted_thinking"},
    {"type": ["odd"]},
    {},
]


@pytest.mark.parametrize(("wire", "block"), BLOCKS)
def test_each_kind_of_block_has_its_neutral_form(wire: dict[str, object], block: Block) -> None:
    assert ANTHROPIC.parse(bytes_of(role="assistant", content=[wire])).blocks == (block,)


@pytest.mark.seed("E3")
@pytest.mark.parametrize("wire", UNKNOWN)
def test_what_is_not_known_is_carried_with_its_json(wire: dict[str, object]) -> None:
    (block,) = ANTHROPIC.parse(bytes_of(role="assistant", content=[wire])).blocks
    assert isinstance(block, Opaque)
    assert decode(block.json) == wire


@pytest.mark.seed("D14")
@pytest.mark.parametrize("fields", [{"content": None}, {}, {"content": ""}, {"content": []}])
def test_null_missing_and_empty_content_is_legal(fields: dict[str, object]) -> None:
    assert ANTHROPIC.parse(bytes_of(role="user", **fields)).blocks == ()


def test_the_bytes_are_kept_as_they_came() -> None:
    raw = b'{ "content" : "hi", "role":"user" , "x": 1.50 }'
    message = ANTHROPIC.parse(raw)
    assert message.raw is raw
    assert (message.role, message.dialect, message.text) == ("user", "anthropic", "hi")


def test_a_lone_surrogate_is_spelled_out() -> None:
    message = ANTHROPIC.parse(b'{"role":"user","content":"a\\ud800b"}')
    assert message.blocks == (Text("a\\ud800b"),)


def test_a_call_without_input_has_empty_arguments() -> None:
    (call,) = ANTHROPIC.parse(bytes_of(role="assistant", content=[{"type": "tool_use", "id": "a", "name": "f"}])).calls
    assert call.arguments == "{}"


def test_a_system_message_in_mid_conversation_is_read() -> None:
    assert ANTHROPIC.parse(bytes_of(role="system", content="be brief")).role == "system"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[]", "JSON object"),
        (b'"hi"', "JSON object"),
        (b"{not json", "not JSON"),
        (b'{"content":"hi"}', "no role"),
        (b'{"role":"tool","content":"hi"}', "'tool'"),
        (b'{"role":["user"],"content":"hi"}', "role"),
        (b'{"role":"user","content":7}', "'content' is a int"),
        (b'{"role":"user","content":{"type":"text"}}', "'content' is a dict"),
        (b'{"role":"user","content":["hi"]}', "content block is a str"),
        (b'{"role":"user","content":[{"type":"tool_result"}]}', "no 'tool_use_id'"),
        (b'{"role":"assistant","content":[{"type":"tool_use","id":null}]}', "no 'id'"),
        (b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":7}]}', "'content' is a int"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        ANTHROPIC.parse(raw)


def test_a_whole_answer_gives_the_message_and_what_was_billed() -> None:
    content = [{"type": "text", "text": "done"}]
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": content,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 5},
    }
    reply = ANTHROPIC.reply(body)
    assert reply is not None
    assert reply.message.raw == encode({"role": "assistant", "content": content})
    assert (reply.usage["input_tokens"], reply.model, reply.stop) == (3, "claude-sonnet-5-5", "end_turn")


def test_an_answer_without_usage_is_still_an_answer() -> None:
    reply = ANTHROPIC.reply({"type": "message", "role": "assistant", "content": []})
    assert reply is not None
    assert (reply.usage, reply.model, reply.stop) == ({}, "", "")


@pytest.mark.parametrize(
    "body", [{}, {"role": "assistant", "content": []}, {"type": "message", "role": "user", "content": []}]
)
def test_other_bodies_are_no_answer(body: dict[str, object]) -> None:
    assert ANTHROPIC.reply(body) is None
