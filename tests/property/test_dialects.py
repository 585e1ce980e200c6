"""What must hold for every message and every conversation, however odd."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from contextfold.dialects import Format, all_known, detect, find
from contextfold.dialects.ids import short_and_simple
from contextfold.domain import (
    INTERRUPTED,
    Block,
    Edit,
    Image,
    Item,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    decode,
    encodable,
    encode,
)
from tests.unit.dialects.outline import item

# -- messages as clients write them ----------------------------------------------------------------------------------

ODD = ["", " ", "\n\n", "\x00", "a\ud800b", "日本語", "\u2028", '"}],{', "\\ud800", "🙂\ud83d", "tool_calls"]
words = st.sampled_from(ODD) | st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
extras = st.dictionaries(st.sampled_from(["x", "cache_control", "citations", "name", "日本"]), json_values, max_size=2)


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = st.fixed_dictionaries({"type": st.just(kind), **fields})
    return st.builds(lambda more, made: {**more, **made}, extras, fixed)


ids = st.sampled_from(["a", "b", "functions.f:0", ""])
claude_text = block("text", text=words)
claude_image = block("image", source=st.just({"type": "url", "url": "https://a/b"}) | json_values)
claude_unknown = block("not_invented_yet", payload=json_values)
claude_results = block(
    "tool_result",
    tool_use_id=ids,
    content=words | st.none() | st.lists(claude_text | claude_image | claude_unknown, max_size=3),
    is_error=st.booleans(),
)
claude_blocks = (
    claude_text
    | claude_image
    | claude_unknown
    | claude_results
    | block("tool_use", id=ids, name=words, input=st.dictionaries(words, json_values, max_size=2))
    | block("thinking", thinking=words, signature=words)
    | block("redacted_thinking", data=words)
)
claude_messages = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    words | st.none() | st.lists(claude_blocks, max_size=4),
    extras,
)

chat_parts = (
    block("text", text=words)
    | block("refusal", refusal=words)
    | block("image_url", image_url=st.just({"url": "data:image/png;base64,AA"}) | json_values)
    | block("input_audio", input_audio=json_values)
)
chat_content = words | st.none() | st.lists(chat_parts, max_size=3)
chat_calls = st.lists(
    st.fixed_dictionaries(
        {"id": ids, "type": st.just("function"), "function": st.fixed_dictionaries({"name": words, "arguments": words})}
    ),
    max_size=2,
)
chat_messages = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": chat_content}, optional={"name": words}
    ),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids, "content": chat_content}),
    st.fixed_dictionaries({"role": st.just("function"), "name": words, "content": chat_content}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": chat_content},
        optional={
            "tool_calls": chat_calls | st.none(),
            "function_call": st.just({"name": "f", "arguments": "{}"}) | st.none(),
            "refusal": words | st.none(),
            "reasoning_content": words,
            "audio": st.just({"id": "audio_1"}) | st.none(),
        },
    ),
)
written = st.one_of(
    st.tuples(st.just("anthropic"), claude_messages),
    st.tuples(st.just("openai-chat"), chat_messages),
)


def speaks(message: Message) -> bool:
    """Whether every piece of text, inside results too, says something, and results come first."""
    texts = [inner for outer in message.blocks for inner in (outer, *getattr(outer, "blocks", ()))]
    results = [isinstance(one, ToolResult) for one in message.blocks]
    return (
        bool(message.blocks)
        and all(one.text.strip() for one in texts if isinstance(one, Text))
        and results == sorted(results, reverse=True)
    )


@given(written)
def test_a_message_that_may_be_sent_is_sent_as_the_bytes_it_came_in(given_: tuple[str, dict[str, Any]]) -> None:
    name, value = given_
    raw = encode(value)
    message = find(name).parse(raw)
    chunk = find(name).chunk(item(message), message)
    assert message.raw == raw
    said = any(not isinstance(one, Reasoning) for one in message.blocks)
    if speaks(message) and said and value.get("tool_calls", True) and value.get("content", True) is not None:
        assert chunk == raw


@given(written)
def test_blocks_hold_only_text_that_can_be_encoded(given_: tuple[str, dict[str, Any]]) -> None:
    name, value = given_
    message = find(name).parse(encode(value))
    assert msgspec.json.decode(msgspec.json.encode(message.blocks), type=tuple[Block, ...]) == message.blocks


@given(written)
def test_every_message_renders_in_every_dialect_and_reads_again(given_: tuple[str, dict[str, Any]]) -> None:
    name, value = given_
    message = find(name).parse(encode(value))
    for dialect in all_known():
        for one in decode(b"[" + dialect.chunk(item(message), message) + b"]"):
            assert dialect.parse(encode(one)).blocks
        assert all(dialect.losses(item(message), message))


@given(written)
def test_no_message_is_taken_for_another_dialects(given_: tuple[str, dict[str, Any]]) -> None:
    name, value = given_
    assert detect(value) in (name, None)


@given(st.lists(claude_blocks, min_size=1, max_size=5), st.data())
def test_an_edit_leaves_every_other_block_byte_for_byte(blocks: list[dict[str, Any]], data: st.DataObject) -> None:
    message = find("anthropic").parse(encode({"role": "assistant", "content": blocks, "x": 1.0}))
    at = data.draw(st.integers(0, len(blocks) - 1))
    chunk = find("anthropic").chunk(item(message, Edit(at, "[folded]")), message)
    others = [one for index, one in enumerate(blocks) if index != at and _keeps_its_bytes(one)]
    kept = [bytes(raw) for raw in _content(chunk)]
    assert all(encode(one) in kept for one in others)
    assert len(kept) <= len(blocks)


def _content(chunk: bytes) -> list[Raw]:
    if not chunk:
        return []
    try:
        return msgspec.json.decode(bytes(msgspec.json.decode(chunk, type=dict[str, Raw])["content"]), type=list[Raw])
    except msgspec.MsgspecError:
        return [Raw(encode(one)) for one in decode(chunk)["content"]]


def _keeps_its_bytes(value: Mapping[str, Any]) -> bool:
    inside = value["content"] if isinstance(value.get("content"), list) else []
    texts = [one["text"] for one in (value, *inside) if one["type"] == "text"]
    return all(text.strip() for text in texts) and value.get("content") not in (" ", "\n\n")


# -- whole conversations, in each dialect, shown in each ---------------------------------------------------------------


class Said(NamedTuple):
    """A message of a conversation, and what the view does to it."""

    message: Message
    edits: tuple[Edit, ...] = ()
    late: tuple[int, ...] = ()


said = st.text(min_size=1, max_size=10).map(lambda text: f"{text}.").filter(lambda text: text.strip())
replaced = st.sampled_from(["", "[folded]"])


@st.composite
def conversations(draw: st.DrawFn, alphabet: str) -> list[Said]:
    """Calls answered in any order over any number of messages, interrupted ones, late results, folded blocks."""
    history = [Said(Message("user", (Text(draw(said)),)), _maybe(draw, 0))]
    for turn in range(draw(st.integers(0, 4))):
        calls = [f"{draw(st.sampled_from(alphabet))}{turn}{index}" for index in range(draw(st.integers(0, 3)))]
        thought = (Reasoning(draw(said), "signed"),) if draw(st.booleans()) else ()
        blocks = (*thought, Text(draw(said)), *(ToolCall(call, "f", '{"a":1}') for call in calls))
        history.append(Said(Message("assistant", blocks), _maybe(draw, len(thought))))
        history += _answers(draw, calls)
        if draw(st.booleans()):
            history.append(Said(Message("user", (ToolResult("gone", (Text(draw(said)),)),)), late=(0,)))
    return [*history, Said(Message("user", (Text("go on"),)))]


def _maybe(draw: st.DrawFn, at: int) -> tuple[Edit, ...]:
    return (Edit(at, draw(replaced)),) if draw(st.integers(0, 4)) == 0 else ()


def _answers(draw: st.DrawFn, calls: list[str]) -> list[Said]:
    answered = draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]
    messages = []
    while answered:
        taken = draw(st.integers(1, len(answered)))
        results = tuple(_result(draw, call) for call in answered[:taken])
        edits = (Edit(0, "[cleared]"),) if draw(st.booleans()) else ()
        messages.append(Said(Message("user", results), edits))
        answered = answered[taken:]
    given_ = {result.call for one in messages for result in one.message.results}
    missing = [call for call in calls if call not in given_]
    if missing:
        messages.append(Said(Message("user", tuple(ToolResult(call, (Text(INTERRUPTED),), True) for call in missing))))
    elif draw(st.booleans()) and messages:
        last = messages[-1]
        blocks = draw(st.permutations([*last.message.blocks, Text(draw(said)), Image("image/png", "AAAA")]))
        messages[-1] = last._replace(message=Message("user", tuple(blocks)))
    return messages


def _result(draw: st.DrawFn, call: str) -> ToolResult:
    inside = draw(st.lists(said.map(Text) | st.just(Image("image/png", "AAAA")), max_size=2))
    return ToolResult(call, tuple(inside))


def as_claude(message: Message) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": [_claude(one) for one in message.blocks]}]


def _claude(one: Block) -> dict[str, Any]:
    match one:
        case Text():
            return {"type": "text", "text": one.text}
        case Reasoning():
            return {"type": "thinking", "thinking": one.text, "signature": one.signature}
        case ToolCall():
            return {"type": "tool_use", "id": one.id, "name": one.name, "input": decode(one.arguments)}
        case ToolResult():
            inside = [_claude(inner) for inner in one.blocks]
            return {"type": "tool_result", "tool_use_id": one.call, "content": inside, "is_error": one.is_error}
        case Image():
            return {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.data}}
        case _:
            raise AssertionError(one)


def as_chat(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return [_chat_assistant(message)]
    results = [{"role": "tool", "tool_call_id": one.call, "content": _chat(one.blocks)} for one in message.results]
    others = [one for one in message.blocks if not isinstance(one, ToolResult)]
    return results + ([{"role": "user", "content": _chat(others)}] if others else [])


def _chat_assistant(message: Message) -> dict[str, Any]:
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in message.calls
    ]
    thought = [one.text for one in message.blocks if isinstance(one, Reasoning)]
    return {
        "role": "assistant",
        "content": message.text or None,
        **({"reasoning_content": thought[0]} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def _chat(blocks: Any) -> list[dict[str, Any]]:
    url = "data:image/png;base64,AAAA"
    return [
        {"type": "text", "text": one.text}
        if isinstance(one, Text)
        else {"type": "image_url", "image_url": {"url": url}}
        for one in blocks
    ]


SPELLED = {"anthropic": (as_claude, "ab_"), "openai-chat": (as_chat, "ab:.")}


def originals(name: str, history: list[Said]) -> list[tuple[Item, Message]]:
    """The conversation as a client of one dialect wrote it, with what the view does to each message."""
    spell, _ = SPELLED[name]
    shown = []
    for one in history:
        if one.message.results and one.message.results[0].is_error:  # completions have no original
            shown.append((item(one.message, kind="completion"), one.message))
            continue
        for wire in spell(one.message):
            message = find(name).parse(encode(wire))
            at = {index for index, _ in enumerate(message.blocks)}
            edits = tuple(edit for edit in one.edits if edit.block in at)
            shown.append((item(message, *edits, late=one.late), message))
    return shown


@pytest.mark.seed("R10")
@pytest.mark.seed("C13")
@pytest.mark.peer("B7")
@pytest.mark.parametrize("origin", SPELLED)
@pytest.mark.parametrize("dialect", all_known(), ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_every_conversation_is_valid_in_every_dialect(dialect: Format, origin: str, data: st.DataObject) -> None:
    history = data.draw(conversations(SPELLED[origin][1]))
    shown = originals(origin, history)
    chunks = [dialect.chunk(one, message) for one, message in shown]
    body = dialect.body(chunks, {"model": "m", "max_tokens": 1, "system": "be brief"}, shown[0][0])
    assert dialect.check(decode(body)) == []


@given(data=st.data())
def test_a_conversation_without_folds_keeps_every_byte(data: st.DataObject) -> None:
    origin = data.draw(st.sampled_from(sorted(SPELLED)))
    history = [one._replace(edits=(), late=()) for one in data.draw(conversations("ab"))]
    shown = [(one, message) for one, message in originals(origin, history) if message.raw and speaks(message)]
    assert [find(origin).chunk(one, message) for one, message in shown] == [message.raw for _, message in shown]


# -- the rules and the small parts -----------------------------------------------------------------------------------

broken_messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "function_call", "name"]),
    json_values
    | st.lists(claude_blocks | chat_parts, max_size=3)
    | chat_calls
    | st.sampled_from(["user", "assistant"]),
    max_size=4,
)
bodies = st.dictionaries(
    st.sampled_from(["tools", "system", "thinking", "tool_choice", "cache_control", "temperature"]), json_values
)


@given(bodies, json_values | st.lists(broken_messages | claude_messages | chat_messages | json_values, max_size=5))
def test_the_rules_answer_for_every_body_however_broken(body: dict[str, Any], messages: object) -> None:
    for dialect in all_known():
        for problem in dialect.check({**body, "messages": messages}):
            assert problem.path
            assert problem.advice


@given(st.lists(st.text() | st.sampled_from(ODD), unique=True))
def test_ids_stay_apart_in_a_foreign_alphabet(calls: list[str]) -> None:
    fitted = [short_and_simple(encodable(call)) for call in calls]
    assert len(set(fitted)) == len({encodable(call) for call in calls})
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for one in fitted)
    assert all(0 < len(one) <= 64 for one in fitted)
    assert [short_and_simple(one) for one in fitted] == fitted
