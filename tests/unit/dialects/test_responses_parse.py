"""Items of OpenAI's Responses as neutral blocks."""

from typing import Any

import pytest

from contextfold.dialects import detect, find, openai_responses, reply
from contextfold.domain import Block, Document, Image, Opaque, Reasoning, Text, ToolCall, ToolResult, encode
from contextfold.errors import BadMessage

RESPONSES = find("openai-responses")


def blocks(value: Any) -> tuple[Block, ...]:
    return RESPONSES.parse(encode(value)).blocks


@pytest.mark.parametrize(
    ("item", "role", "expected"),
    [
        ({"role": "user", "content": "hi"}, "user", Text("hi")),
        ({"type": "message", "role": "developer", "content": "be brief"}, "system", Text("be brief")),
        ({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}, "user", Text("hi")),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}, "assistant", Text("hi")),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, "assistant", Text("no")),
        (
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"}],
            },
            "user",
            Image("image/png", "AA", detail="low"),
        ),
        ({"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}, "user", Image(url="file_1")),
        (
            {
                "role": "user",
                "content": [{"type": "input_file", "filename": "a", "file_data": "data:application/pdf;base64,AA"}],
            },
            "user",
            Document("application/pdf", data="AA", title="a"),
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_url": "https://a"}]},
            "user",
            Document(url="https://a"),
        ),
        (
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "x",
            },
            "assistant",
            Reasoning("hm", "rs_1", "x"),
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
            "assistant",
            ToolCall("c", "f", '{"a":1}'),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "go"},
            "assistant",
            ToolCall("c", "f", '"go"'),
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            "assistant",
            ToolCall("c", "shell", '{"commands":["ls"]}'),
        ),
        ({"type": "function_call_output", "call_id": "c", "output": "42"}, "user", ToolResult("c", (Text("42"),))),
        ({"type": "function_call_output", "call_id": "c", "output": ""}, "user", ToolResult("c")),
        (
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "image_url": "https://a"},
            },
            "user",
            ToolResult("c", (Image(url="https://a"),)),
        ),
        ({"type": "local_shell_call_output", "id": "c", "output": "done"}, "user", ToolResult("c", (Text("done"),))),
    ],
)
def test_every_kind_of_item_has_its_block(item: dict[str, Any], role: str, expected: Block) -> None:
    message = RESPONSES.parse(encode(item))
    assert (message.role, message.blocks) == (role, (expected,))


@pytest.mark.seed("E3")
def test_an_output_of_parts_keeps_each_part_as_what_it_is() -> None:
    parts = [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "https://a/b.png"}]
    output = {"type": "function_call_output", "call_id": "c", "output": parts}
    assert blocks(output) == (ToolResult("c", (Text("seen"), Image(url="https://a/b.png"))),)


@pytest.mark.seed("E3")
def test_an_output_that_only_its_own_kind_has_is_told_as_json() -> None:
    output = {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "ok", "stderr": ""}]}
    assert blocks(output) == (ToolResult("c", (Text('[{"stdout":"ok","stderr":""}]'),)),)


@pytest.mark.parametrize("kind", ["web_search_call", "compaction", "item_reference", "not_invented_yet"])
def test_what_is_the_providers_own_is_carried(kind: str) -> None:
    item = {"type": kind, "id": "x_1", "payload": {"deep": [None, 1.5]}}
    assert blocks(item) == (Opaque(kind, encode(item).decode()),)


def test_calls_that_the_provider_answered_itself_are_its_own() -> None:
    call = {"type": "shell_call", "call_id": "c", "action": {}}
    output = {"type": "shell_call_output", "call_id": "c", "output": []}
    message = RESPONSES.parse(encode([call, output]))
    assert (message.role, [block.kind for block in message.blocks if isinstance(block, Opaque)]) == (
        "assistant",
        ["shell_call", "shell_call_output"],
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("hi", "JSON object"),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "several sides"),
        ({"role": "model", "content": "a"}, "role 'model'"),
        ({"role": "user", "content": 3}, "'content' is a int"),
        ({"role": "user", "content": ["a"]}, "content part is a str"),
        ({"type": "function_call", "call_id": None, "name": "f", "arguments": "{}"}, "no 'call_id'"),
    ],
)
def test_what_no_reader_could_make_sense_of_is_refused(value: object, why: str) -> None:
    with pytest.raises(BadMessage, match=why):
        RESPONSES.parse(encode(value))


def test_an_input_is_taken_apart_into_messages_with_each_answer_whole() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1"},
        {"type": "function_call", "call_id": "2"},
        {"type": "function_call_output", "call_id": "1", "output": ""},
        {"type": "function_call_output", "call_id": "2", "output": ""},
        {"role": "assistant", "content": "b"},
    ]
    assert [len(turn) for turn in openai_responses.turns(items)] == [1, 3, 1, 1, 1]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c"},
        {"type": "custom_tool_call_output", "call_id": "c"},
        {"type": "compaction", "encrypted_content": "x"},
    ],
)
def test_an_item_is_recognised(item: dict[str, Any]) -> None:
    assert detect(item) == "openai-responses"
    assert reply(item) is None


def test_an_answer_that_was_cut_off_says_why() -> None:
    answer = reply(
        {
            "object": "response",
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [],
        }
    )
    assert answer is not None
    assert (answer.stop, answer.message.blocks, answer.message.role) == ("max_output_tokens", (), "assistant")


@pytest.mark.parametrize(("role", "side"), [("developer", "system"), ("user", "user"), ("unheard of", "assistant")])
def test_an_item_that_names_its_speaker_is_that_speakers(role: str, side: str) -> None:
    assert RESPONSES.parse(encode({"type": "additional_tools", "role": role, "tools": []})).role == side


@pytest.mark.parametrize(
    ("more", "stop"),
    [
        ({"status": "completed"}, "completed"),
        ({"status": "failed", "incomplete_details": None}, "failed"),
        ({"status": None, "incomplete_details": {"reason": None}}, ""),
    ],
)
def test_an_answer_that_tells_no_reason_ends_with_its_status(more: dict[str, Any], stop: str) -> None:
    answer = reply({"object": "response", "output": [], **more})
    assert answer is not None
    assert answer.stop == stop
