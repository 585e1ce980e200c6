"""Plain JSON and JSONL of messages, of any provider's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold import transcripts
from contextfold.errors import BadMessage
from tests.unit.transcripts.samples import (
    Json,
    kinds,
    messages,
    only,
    places,
    put,
    put_json,
    put_lines,
    spelled,
    whole,
    words,
)

ANTHROPIC: list[Json] = [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "w", "input": {"city": "Oslo"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]},
    {"role": "assistant", "content": words("Rain.")},
]
OPENAI: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "w", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "rain"},
    {"role": "assistant", "content": "Rain."},
]
ITEMS: list[Json] = [
    {"role": "user", "content": "weather?"},
    {"type": "function_call", "call_id": "t1", "name": "w", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "t1", "output": "rain"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
]
CONTENTS: list[Json] = [
    {"role": "user", "parts": [{"text": "weather?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "w", "args": {"city": "Oslo"}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "w", "response": {"output": "rain"}}}]},
    {"role": "model", "parts": [{"thought": True, "text": "hm"}, {"text": "Rain."}]},
]


@pytest.mark.parametrize(
    "said", [ANTHROPIC, OPENAI[1:], ITEMS, CONTENTS], ids=["anthropic", "chat", "items", "contents"]
)
@pytest.mark.parametrize("shape", ["lines", "list", "object"])
def test_every_form_reads_alike_in_every_shape(tmp_path: Path, said: list[Json], shape: str) -> None:
    name = "contents" if "parts" in said[0] else "messages"
    path = {
        "lines": lambda: put_lines(tmp_path, said),
        "list": lambda: put_json(tmp_path, said),
        "object": lambda: put_json(tmp_path, {"model": "m", name: said}),
    }[shape]()

    read = whole(path)

    assert transcripts.detect(path) == "plain"
    assert [turn.message["role"] in ("user", "tool") for turn in read.turns] == [True, False, True, False]
    assert [turn.human for turn in read.turns] == [True, False, False, False]
    assert not read.defects
    assert places(read) == [1, 2, 3, 4]


def test_messages_that_a_thread_takes_keep_their_bytes(tmp_path: Path) -> None:
    odd = b'{"role":"user",  "content":"caf\\u00e9"}'

    (turn,) = whole(put_lines(tmp_path, [odd])).turns

    assert turn.raw == odd
    assert turn.original == b""


def test_bookkeeping_fields_are_left_out_and_kept_beside(tmp_path: Path) -> None:
    row = b'{"role":"user","content":"hi","ts":1700000000000,"tool_calls":null}'

    (turn,) = whole(put_lines(tmp_path, [row])).turns

    assert turn.raw == b'{"role":"user","content":"hi"}'
    assert turn.original == row
    assert turn.at == 1_700_000_000.0


def test_system_messages_in_front_are_the_system_text(tmp_path: Path) -> None:
    recording = only(put_lines(tmp_path, OPENAI))

    assert recording.system == "Be brief."
    assert recording.whole().account.skipped == {"system": 1}


def test_a_request_brings_its_system_text_along(tmp_path: Path) -> None:
    recording = only(put_json(tmp_path, {"system": words("Be brief."), "messages": ANTHROPIC, "model": "claude-x"}))

    assert recording.system == "Be brief."
    assert recording.details == {"model": "claude-x"}


@pytest.mark.parametrize("shape", ["lines of objects", "lines of lists", "list of lists", "list of objects"])
def test_a_file_may_hold_many_conversations(tmp_path: Path, shape: str) -> None:
    held: list[object] = [{"messages": ANTHROPIC}, {"messages": OPENAI}]
    lists: list[object] = [ANTHROPIC, OPENAI]
    path = {
        "lines of objects": lambda: put_lines(tmp_path, [spelled(each) for each in held]),
        "lines of lists": lambda: put_lines(tmp_path, [spelled(each) for each in lists]),
        "list of lists": lambda: put_json(tmp_path, lists),
        "list of objects": lambda: put_json(tmp_path, held),
    }[shape]()

    recordings = list(transcripts.read(path))

    assert [each.name for each in recordings] == ["session#1", "session#2"]
    assert [len(each.whole().turns) for each in recordings] == [4, 4]


def test_a_damaged_conversation_among_many_is_a_recording_of_its_report(tmp_path: Path) -> None:
    path = put_lines(tmp_path, [spelled({"messages": ANTHROPIC}), "{broken", spelled({"messages": ITEMS})])

    first, second, third = (each.whole() for each in transcripts.read(path))

    assert len(first.turns) == len(third.turns) == 4
    assert [(defect.line, defect.kind) for defect in second.defects] == [(2, "damaged")]
    with pytest.raises(BadMessage, match="line 2"):
        list(transcripts.read(path, strict=True))


def test_messages_without_role_or_id_are_damaged_and_silent_ones_empty(tmp_path: Path) -> None:
    rows: list[Json | str | bytes] = [
        ANTHROPIC[0],
        {"role": "wizard", "content": "?"},
        {"role": "tool", "content": "no id"},
        {"role": "assistant", "content": "  "},
        {"role": "assistant", "content": 7},
    ]

    read = whole(put_lines(tmp_path, rows))

    assert [each.kind for each in read.skipped] == ["damaged", "damaged", "empty", "damaged"]
    assert kinds(read) == ["damaged"] * 3
    assert messages(read) == [ANTHROPIC[0]]


def test_a_picture_in_a_responses_item_is_carried(tmp_path: Path) -> None:
    url = "data:image/png;base64,aGk="
    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url}]
    (turn,) = whole(put_lines(tmp_path, [{"type": "message", "role": "user", "content": parts}])).turns

    assert turn.message["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
    }


def test_an_id_no_provider_takes_is_replaced_in_call_and_result_alike(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"type": "function_call", "call_id": "a|b c", "name": "w", "arguments": "not json"},
        {"type": "function_call_output", "call_id": "a|b c", "output": [{"type": "input_text", "text": "rain"}]},
    ]

    called, answered = messages(whole(put_lines(tmp_path, rows)))

    assert called["content"][0]["id"] == answered["content"][0]["tool_use_id"]
    assert "|" not in called["content"][0]["id"]
    assert called["content"][0]["input"] == {"input": "not json"}
    assert answered["content"][0]["content"] == words("rain")


@pytest.mark.parametrize(
    "content", [b"", b"   \n\n", b"hello world", b"[]", b"{}", b"null", b"[[[[", b'{"a": 1}', b"\x00\x01"]
)
def test_a_file_that_is_no_transcript_is_refused_with_the_formats_we_know(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadMessage, match="claude-code, codex"):
        transcripts.detect(put(tmp_path, content))
