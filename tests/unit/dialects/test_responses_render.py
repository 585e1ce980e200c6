"""Items of a view as items of OpenAI's Responses: the original bytes, or what had to change and nothing else."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import find
from contextfold.dialects.openai_responses import OpenAIResponsesDialect
from contextfold.dialects.openai_responses.render import led
from contextfold.domain import Edit, Message, ToolCall, decode, encode

from .outline import item

RESPONSES = OpenAIResponsesDialect()
REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
WORDS = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "x": 1.50}
ANSWER = [REASONING, WORDS, CALL]


def said(value: Any) -> Message:
    return RESPONSES.parse(value if isinstance(value, bytes) else encode(value))


def shown(message: Message, *edits: Edit, late: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = decode(b"[" + RESPONSES.chunk(item(message, *edits, late=late), message) + b"]")
    return found


@pytest.mark.parametrize(
    "raw", [b'{ "role":"user", "content":"hi", "x":1.50 }', b' [ {"type":"reasoning"} , {"type":"y"}]']
)
def test_what_came_is_sent_as_it_came(raw: bytes) -> None:
    message = said(raw)
    assert RESPONSES.chunk(item(message), message) == (raw.strip()[1:-1].strip() if raw.startswith(b" [") else raw)


@pytest.mark.seed("R7")
def test_reasoning_that_is_left_out_takes_the_ids_of_what_it_led_to() -> None:
    """The API looks for the reasoning of an item that it remembers."""
    words, call = shown(said(ANSWER), Edit(0, ""))
    assert (words, call) == (_without_id(WORDS), _without_id(CALL))


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "id"}


def test_reasoning_goes_with_the_last_thing_it_led_to() -> None:
    assert shown(said([REASONING, CALL]), Edit(1, "")) == []
    assert shown(said([WORDS, REASONING, CALL]), Edit(2, "")) == [WORDS]


def test_a_folded_call_keeps_its_pair() -> None:
    *before, call = shown(said(ANSWER), Edit(2, "[cleared]"))
    assert before == [REASONING, WORDS]
    assert call == _without_id({**CALL, "arguments": '{"folded":"[cleared]"}'})


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"type": "function_call_output", "call_id": "c", "output": "long"}, {"output": "[cleared]"}),
        (
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "long"}]},
            {"output": [{"stdout": "[cleared]", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
        ),
        ({"type": "tool_search_output", "call_id": "c", "tools": [{"type": "function"}]}, {"tools": []}),
    ],
)
def test_a_folded_output_keeps_its_form(output: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shown(said(output), Edit(0, "[cleared]")) == [{**output, **expected}]


def test_a_late_output_is_labelled_text_with_its_pictures() -> None:
    picture = {"type": "input_image", "image_url": "https://a/b.png"}
    output = {
        "type": "function_call_output",
        "call_id": "c",
        "output": [{"type": "input_text", "text": "seen"}, picture],
    }
    (late,) = shown(said(output), late=(0,))
    assert late == {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "[Late result of tool call c]\nseen"}, picture],
    }


def test_words_that_say_nothing_are_not_sent() -> None:
    assert shown(said({"role": "user", "content": " \n"})) == []
    assert shown(said([REASONING, {"role": "assistant", "content": ""}]), Edit(0, "")) == []


def test_parts_are_folded_one_by_one() -> None:
    parts = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "https://a"},
        {"type": "new", "x": 1},
    ]
    message = said({"role": "user", "content": parts})
    (folded,) = shown(message, Edit(1, "[a picture]"))
    assert folded["content"] == [parts[0], {"type": "input_text", "text": "[a picture]"}, parts[2]]


def body(chunks: list[Any], **settings: Any) -> dict[str, Any]:
    raw = [RESPONSES.chunk(item(said(chunk)), said(chunk)) for chunk in chunks]
    found: dict[str, Any] = decode(RESPONSES.body(RESPONSES.limited(raw, 0), settings, None))
    return found


@pytest.mark.seed("R7")
@pytest.mark.parametrize("after", [[], [{"role": "user", "content": "well?"}]])
def test_reasoning_that_led_nowhere_is_left_out(after: list[Any]) -> None:
    asked = {"role": "user", "content": "hi"}
    assert body([asked, REASONING, {**REASONING, "id": "rs_2"}, *after])["input"] == [asked, *after]
    assert body([asked, REASONING, WORDS])["input"] == [asked, REASONING, WORDS]


def test_the_system_prompt_becomes_instructions_in_its_place() -> None:
    system = [{"type": "text", "text": "Be brief."}]
    found = body([WORDS], model="m", system=system, store=False)
    assert list(found) == ["model", "instructions", "store", "input"]
    assert found["instructions"] == "Be brief."


def test_with_a_chain_only_what_is_new_is_sent() -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    found = body([{"role": "user", "content": "hi"}, ANSWER, output], previous_response_id="resp_1")
    assert found == {"previous_response_id": "resp_1", "input": [output]}
    assert RESPONSES.check(found) == []


def test_a_chain_is_broken_by_a_fold_and_told() -> None:
    with cf.Session.open(model="gpt-6-sol") as session:
        asked = session.append({"role": "user", "content": "Question?"})
        session.append(
            [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Answer."}]}]
        )
        session.append({"role": "user", "content": "And now?"})
        chained = session.prepare(previous_response_id="resp_1")
        assert [each["content"] for each in chained.body["input"]] == ["And now?"]
        session.thread.fold([asked], "[A question was here.]")
        whole = session.prepare(previous_response_id="resp_1")
        assert "previous_response_id" not in whole.body
        assert len(whole.body["input"]) == 3
        assert whole.report.losses == (
            "previous_response_id is left out: a fold changed what it stands for, so the whole view is sent",
        )


def test_the_longest_answer_is_said_in_the_apis_own_words() -> None:
    with cf.Session.open(model="gpt-6-sol") as session:
        session.append({"role": "user", "content": "Question?"})
        assert session.prepare(max_tokens=77).body["max_output_tokens"] == 77


def test_a_call_without_a_name_gets_one() -> None:
    message = Message("assistant", (ToolCall("c", "", ""),))
    chunk = find("openai-responses").chunk(item(message), message)
    assert decode(chunk) == {"type": "function_call", "call_id": "c", "name": "tool", "arguments": "{}"}


def test_reasoning_that_nothing_follows_is_left_out_to_the_last_chunk() -> None:
    lone, answer = encode(REASONING), encode(WORDS)
    assert led([lone, lone], 2) == [b"", b""]
    assert led([answer, b"", lone], 3) == [answer, b"", b""]
    assert led([], 0) == []
