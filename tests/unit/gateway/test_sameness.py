"""Messages that look alike and are not the same: each pair once, in every place where a wire format can hold words."""

import json
from typing import Any

import pytest

from contextfold.dialects import find
from contextfold.gateway.client_shapes import shapes_named
from contextfold.gateway.recognition import MessageForm, Normaliser

pytestmark = pytest.mark.finding("K9")


def block(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "x"}, fields]}


def answer(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "x", **fields}


def deep(text: str, levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "text", "text": "x", "note": text}
    for _ in range(levels):
        inner = {"type": "tool_result", "tool_use_id": "t", "content": [inner]}
    return inner


def call(**function: Any) -> dict[str, Any]:
    return answer(
        tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", **function}}]
    )


# By name: the dialect, and a message that holds a word.
PAIRS: dict[str, tuple[str, Any]] = {
    "a number that no float holds": (
        "anthropic",
        lambda w: block(type="tool_use", id="t", name="f", input={"n": len(w) + 10**30}),
    ),
    "composed and decomposed letters": (
        "anthropic",
        lambda w: {"role": "user", "content": "\u00e9" if w == "a" else "e\u0301"},
    ),
    "space between words": ("anthropic", lambda w: {"role": "user", "content": "a b" if w == "a" else "a  b"}),
    "the text of a cache mark": (
        "anthropic",
        lambda w: {"role": "user", "content": f'{{"cache_control": {{"type": "{w}"}}}}'},
    ),
    "a cache mark among arguments": (
        "anthropic",
        lambda w: block(type="tool_use", id="t", name="f", input={"cache_control": {"type": w}}),
    ),
    "a document's context": (
        "anthropic",
        lambda w: block(type="document", context=w, source={"type": "text", "data": "d"}),
    ),
    "a picture in a document": (
        "anthropic",
        lambda w: block(
            type="document",
            source={"type": "content", "content": [{"type": "image", "source": {"type": "url", "url": w}}]},
        ),
    ),
    "a picture's name": ("anthropic", lambda w: block(type="image", alt=w, source={"type": "url", "url": "u"})),
    "a field of a source": (
        "anthropic",
        lambda w: block(type="image", source={"type": "url", "url": "u", "caption": w}),
    ),
    "a citation": ("anthropic", lambda w: block(type="text", text="y", citations=[{"cited_text": w}])),
    "a redacted thought": ("anthropic", lambda w: block(type="redacted_thinking", data=w)),
    "a block of a block of a block": ("anthropic", lambda w: block(**deep(w, 12))),
    "an error that is none": (
        "anthropic",
        lambda w: block(type="tool_result", tool_use_id="t", content="r", is_error=w == "a"),
    ),
    "a speaker": ("openai-chat", lambda w: {"role": "user", "content": "x", "name": w}),
    "a tool's speaker": ("openai-chat", lambda w: {"role": "tool", "tool_call_id": "c", "content": "x", "name": w}),
    "a field of a function": ("openai-chat", lambda w: call(description=w)),
    "arguments that are no JSON": ("openai-chat", lambda w: call(arguments=f"{{{w}")),
    "a field of a call": (
        "openai-chat",
        lambda w: answer(
            tool_calls=[{"id": "c", "type": "function", "note": w, "function": {"name": "f", "arguments": "{}"}}]
        ),
    ),
    "a transcript": ("openai-chat", lambda w: answer(audio={"id": "i", "transcript": w})),
    "other reasoning": ("openai-chat", lambda w: answer(reasoning_content=w)),
    "a silent message with a note": ("openai-chat", lambda w: {"role": "user", "content": "", "note": w}),
    "a summary of reasoning": (
        "openai-responses",
        lambda w: {"type": "reasoning", "summary": [{"type": "summary_text", "text": w}]},
    ),
    "encrypted reasoning": ("openai-responses", lambda w: {"type": "reasoning", "summary": [], "encrypted_content": w}),
    "a kind of item that nobody knows": ("openai-responses", lambda w: {"type": "weather_call", "id": "i", "sky": w}),
    "an output in parts": (
        "openai-responses",
        lambda w: {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_text", "text": "x", "note": w}],
        },
    ),
    "a file's name": (
        "gemini",
        lambda w: {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "A", "displayName": w}}]},
    ),
    "a part's note": ("gemini", lambda w: {"role": "user", "parts": [{"text": "x", "note": {"deep": [w]}}]}),
    "a field of a call's result": (
        "gemini",
        lambda w: {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "note": w, "response": {"output": "r"}}}],
        },
    ),
    "a role that nobody knows": ("anthropic", lambda w: {"role": w, "content": "x"}),
    "a key of an unknown field": ("anthropic", lambda w: {"role": "user", "content": "x", "note": {w: 1}}),
    "a number in an unknown field": ("anthropic", lambda w: {"role": "user", "content": "x", "amount": len(w)}),
    "words in a cache mark": (
        "anthropic",
        lambda w: block(type="text", text="y", cache_control={"type": "ephemeral", "note": w}),
    ),
    "an empty message with a title": ("anthropic", lambda w: {"role": "user", "content": "", "title": w}),
    "a result's title": ("anthropic", lambda w: block(type="tool_result", tool_use_id="t", content="r", title=w)),
    "data beside an address": (
        "anthropic",
        lambda w: block(type="document", source={"type": "url", "url": "u", "data": w}),
    ),
    "a text on a picture": ("anthropic", lambda w: block(type="image", text=w, source={"type": "url", "url": "u"})),
    "a source that is a word": ("anthropic", lambda w: {"role": "user", "content": "x", "source": w}),
    "the tool of a result": (
        "gemini",
        lambda w: {"role": "user", "parts": [{"functionResponse": {"name": w, "response": {"output": "r"}}}]},
    ),
    "code that was run": (
        "gemini",
        lambda w: {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": w}}]},
    ),
}


_READ_ELSEWHERE = """
    text input title data reasoning reasoning_content summary status output parts thought response detail name function
    image_url inlineData arguments refusal audio logprobs provider_specific_fields reasoning_details
"""
for _name in _READ_ELSEWHERE.split():
    PAIRS[f"{_name} on a message"] = (
        "openai-chat",
        lambda w, name=_name: {"role": "user", "content": "x", name: w},
    )
    if _name != "text":
        PAIRS[f"{_name} on a block"] = ("anthropic", lambda w, name=_name: block(type="text", text="y", **{name: w}))


def form(dialect: str, message: Any, client: str = "") -> MessageForm:
    return Normaliser(find(dialect), shapes_named(client)).read(json.dumps(message).encode())


@pytest.mark.parametrize("name", PAIRS)
def test_another_word_is_another_message(name: str) -> None:
    dialect, written = PAIRS[name]
    one, other = form(dialect, written("a")), form(dialect, written("bb"))
    assert one.digest != other.digest or not (one.loose <= other.loose or other.loose <= one.loose)


DATES = {
    "claude-code": ("Today's date is 2026-11-17.", "Today's date is the day of the heron."),
    "codex": ("  <current_date>2026-11-17</current_date>", "  <current_date>heron</current_date>"),
    "geminicli": ("Today's date is Tuesday, November 17, 2026.", "Today's date is Heronday, November 17, 2026."),
    "opencode": ("  Today's date: Tue Nov 17 2026", "  Today's date: Her Nov 17 2026"),
    "roocode": (
        "Current time in ISO 8601 UTC format: 2026-11-17T10:00:00.000Z",
        "Current time in ISO 8601 UTC format: heron",
    ),
}


@pytest.mark.parametrize("client", DATES)
def test_a_date_of_a_known_client_is_left_out_only_where_it_is_a_date(client: str) -> None:
    date, words = DATES[client]
    tag = shapes_named(client).moved[-1]
    other = date.replace("2026", "2025")
    one, renewed, worded = (
        form("anthropic", {"role": "user", "content": f"<{tag}>\n{line}\n</{tag}>\nHello."}, client)
        for line in (date, other, words)
    )
    assert one == renewed != worded
    own, others = (form("anthropic", {"role": "user", "content": f"Hello.\n{line}"}, client) for line in (date, other))
    assert own != others, "outside of the client's own tag a date is its user's"
    assert form("anthropic", {"role": "user", "content": f"Hello.\n{date}"}) != form(
        "anthropic", {"role": "user", "content": "Hello."}
    )
