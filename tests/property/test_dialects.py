"""What must hold for every message and every conversation, however odd."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from contextfold.dialects import Dialect, all_known, detect, find
from contextfold.dialects.repairs import short_and_simple
from contextfold.dialects.wire import readable
from contextfold.domain import (
    Block,
    Edit,
    Message,
    Reasoning,
    Text,
    ToolResult,
    ViewItem,
    decode,
    encodable,
    encode,
)
from tests.property.wire_conversations import SPELLED, conversations, original, originals
from tests.property.wire_messages import (
    ODD,
    chat_calls,
    chat_messages,
    chat_parts,
    claude_blocks,
    claude_messages,
    gemini_messages,
    json_values,
    responses_messages,
    written,
)
from tests.unit.dialects.outline import item


def speaks(message: Message) -> bool:
    """Whether every piece of text, inside results too, says something, and results come first."""
    texts = [inner for outer in message.blocks for inner in (outer, *getattr(outer, "blocks", ()))]
    results = [isinstance(one, ToolResult) for one in message.blocks]
    return (
        bool(message.blocks)
        and all(one.text.strip() for one in texts if isinstance(one, Text))
        and results == sorted(results, reverse=True)
    )


def bare(raw: bytes) -> bytes:
    """What stands in a request: an answer of several items without the brackets around them."""
    return raw[1:-1] if raw.startswith(b"[") else raw


@given(written)
def test_a_message_that_may_be_sent_is_sent_as_the_bytes_it_came_in(given_: tuple[str, Any]) -> None:
    """Fields and kinds that nobody has heard of are among them."""
    name, value = given_
    raw = encode(value)
    message = find(name).parse(raw)
    chunk = find(name).chunk(item(message), message)
    assert message.raw == raw
    said = any(not isinstance(one, Reasoning) for one in message.blocks)
    fields = value if isinstance(value, dict) else {}
    if speaks(message) and said and fields.get("tool_calls", True) and fields.get("content", True) is not None:
        assert chunk == readable(bare(raw))


@given(written)
def test_a_message_that_goes_unread_goes_as_it_would_once_read(given_: tuple[str, Any]) -> None:
    name, value = given_
    raw = encode(value)
    message = find(name).parse(raw)
    outline = item(message)
    if not any(block.kind in ("reasoning", "opaque") for block in outline.shape.blocks):
        unread = find(name).as_given(outline, raw)
        assert unread in (None, find(name).chunk(outline, message))


@given(written)
def test_blocks_hold_only_text_that_can_be_encoded(given_: tuple[str, Any]) -> None:
    name, value = given_
    message = find(name).parse(encode(value))
    assert msgspec.json.decode(msgspec.json.encode(message.blocks), type=tuple[Block, ...]) == message.blocks


@given(written)
def test_every_message_renders_in_every_dialect_and_reads_again(given_: tuple[str, Any]) -> None:
    name, value = given_
    message = find(name).parse(encode(value))
    for dialect in all_known():
        for one in decode(b"[" + dialect.chunk(item(message), message) + b"]"):
            assert dialect.parse(encode(one)).blocks
        assert all(dialect.losses(item(message), message))


@given(written)
def test_no_message_is_taken_for_another_dialects(given_: tuple[str, Any]) -> None:
    name, value = given_
    for one in value if isinstance(value, list) else [value]:
        assert detect(one) in (name, None)


@given(st.lists(claude_blocks, min_size=1, max_size=5), st.data())
def test_an_edit_leaves_every_other_block_byte_for_byte(blocks: list[dict[str, Any]], data: st.DataObject) -> None:
    message = find("anthropic").parse(encode({"role": "assistant", "content": blocks, "x": 1.0}))
    at = data.draw(st.integers(0, len(blocks) - 1))
    chunk = find("anthropic").chunk(item(message, Edit(at, "[folded]")), message)
    others = [one for index, one in enumerate(blocks) if index != at and _keeps_its_bytes(one)]
    kept = [bytes(raw) for raw in _content(chunk)]
    assert all(readable(encode(one)) in kept for one in others)
    assert len(kept) <= len(blocks)


def _content(chunk: bytes) -> list[Raw]:
    if not chunk:
        return []
    try:
        return msgspec.json.decode(bytes(msgspec.json.decode(chunk, type=dict[str, Raw])["content"]), type=list[Raw])
    except msgspec.MsgspecError:
        return [Raw(encode(one)) for one in decode(chunk)["content"]]


def _keeps_its_bytes(value: Mapping[str, Any]) -> bool:
    """Blank text is left out, and ids are written as the API takes them."""
    if short_and_simple(encodable(value.get("id", value.get("tool_use_id", "a")))) not in ("a", "b"):
        return False
    inside = value["content"] if isinstance(value.get("content"), list) else []
    texts = [one["text"] for one in (value, *inside) if one["type"] == "text"]
    content = value.get("content")
    return all(text.strip() for text in texts) and not (isinstance(content, str) and content and content.isspace())


@pytest.mark.seed("R10")
@pytest.mark.seed("C13")
@pytest.mark.peer("B7")
@pytest.mark.parametrize("origin", SPELLED)
@pytest.mark.parametrize("dialect", all_known(), ids=lambda dialect: dialect.name)
@settings(max_examples=15)
@given(data=st.data())
def test_every_conversation_is_valid_in_every_dialect(dialect: Dialect, origin: str, data: st.DataObject) -> None:
    history = data.draw(conversations(SPELLED[origin][1]))
    shown = originals(origin, history)
    assert dialect.check(request(dialect, shown)) == []


def request(dialect: Dialect, shown: list[tuple[ViewItem, Message]]) -> dict[str, Any]:
    chunks = dialect.limited([dialect.chunk(one, message) for one, message in shown], 0)
    body: dict[str, Any] = decode(dialect.body(chunks, {"model": "m", "system": "be brief"}, shown[0][0]))
    return body


@pytest.mark.seed("R7")
@pytest.mark.parametrize("dialect", all_known(), ids=lambda dialect: dialect.name)
@settings(max_examples=15)
@given(data=st.data())
def test_a_conversation_that_changed_its_provider_again_and_again_is_valid(
    dialect: Dialect, data: st.DataObject
) -> None:
    """Each turn in another API's words, as after switching models in mid-thread."""
    history = data.draw(conversations("ab_"))
    shown, origin = [], "anthropic"
    for one in history:
        if one.message.role == "assistant":
            origin = data.draw(st.sampled_from(sorted(SPELLED)))
        shown += original(origin, one)
    assert dialect.check(request(dialect, shown)) == []


@given(data=st.data())
def test_a_conversation_without_folds_keeps_every_byte(data: st.DataObject) -> None:
    origin = data.draw(st.sampled_from(sorted(SPELLED)))
    history = [one._replace(edits=(), late=()) for one in data.draw(conversations("ab"))]
    shown = [(one, message) for one, message in originals(origin, history) if message.raw and speaks(message)]
    assert [find(origin).chunk(one, message) for one, message in shown] == [bare(message.raw) for _, message in shown]


# -- the rules and the small parts -----------------------------------------------------------------------------------

broken_messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "function_call", "name", "type", "parts"]),
    json_values
    | st.lists(claude_blocks | chat_parts, max_size=3)
    | chat_calls
    | st.sampled_from(["user", "assistant"]),
    max_size=4,
)
bodies = st.dictionaries(
    st.sampled_from(["tools", "system", "thinking", "tool_choice", "cache_control", "temperature"]), json_values
)


anything = broken_messages | claude_messages | chat_messages | responses_messages | gemini_messages | json_values


@given(bodies, json_values | st.lists(anything, max_size=5))
def test_the_rules_answer_for_every_body_however_broken(body: dict[str, Any], messages: object) -> None:
    for dialect in all_known():
        for problem in dialect.check({**body, "messages": messages, "input": messages, "contents": messages}):
            assert problem.path
            assert problem.advice


@given(st.lists(st.text() | st.sampled_from(ODD), unique=True))
def test_ids_stay_apart_in_a_foreign_alphabet(calls: list[str]) -> None:
    fitted = [short_and_simple(encodable(call)) for call in calls]
    assert len(set(fitted)) == len({encodable(call) for call in calls})
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for one in fitted)
    assert all(0 < len(one) <= 64 for one in fitted)
    assert [short_and_simple(one) for one in fitted] == fitted
