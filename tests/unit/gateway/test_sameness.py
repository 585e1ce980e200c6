"""Messages that look alike and are not the same: each pair once, in every place where a wire format can hold words."""

import json
from typing import Any

import pytest

from contextfold.dialects import find
from contextfold.dialects.endpoint import AskedTurn, Envelope
from contextfold.gateway.client_shapes import shapes_named
from contextfold.gateway.prefix_index import LEAST_ANCHORS, common_calls
from contextfold.gateway.recognition import MessageForm, Normaliser
from contextfold.gateway.seen_words import SeenWords
from tests.effort import least

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


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_message_that_says_a_field_twice_is_no_other_message(dialect: str) -> None:
    normaliser = Normaliser(find(dialect))
    twice = b'{"role":"user","content":"the heron","content":"hello"}'
    assert normaliser.form(twice) != normaliser.form(b'{"role":"user","content":"hello"}')
    assert normaliser.form(b'{ "role": "user", "content": "hell\\u006f" }') == normaliser.form(
        b'{"role":"user","content":"hello"}'
    )


@pytest.mark.parametrize("arguments", ['{"id": 0.12345678901234567891}', '{"x": [1.00000000000000000001e-300]}'])
def test_a_fraction_that_no_float_holds_is_compared_as_it_is_written(arguments: str) -> None:
    other = arguments.replace("1}", "2}").replace("1e", "2e")
    one, two = (form("openai-chat", call(arguments=each)) for each in (arguments, other))
    assert one.digest != two.digest
    spaced = form("openai-chat", call(arguments=arguments.replace(": ", ":")))
    assert spaced.digest == one.digest


def envelope(dialect: str, **fields: Any) -> Envelope:
    endpoint = find(dialect).endpoint
    assert endpoint is not None
    listed = {endpoint.messages: [{"role": "user", "content": "hi"}]}
    return endpoint.open(json.dumps({"model": "m", **listed, **fields}).encode(), AskedTurn())


BESIDE = [
    ("gemini", "system_instruction", {"parts": [{"text": "{}"}]}),
    ("gemini", "systemInstruction", "{}"),
    ("gemini", "systemInstruction", {"parts": [{"inlineData": {"data": "{}"}}]}),
    ("gemini", "cached_content", "{}"),
    ("openai-chat", "functions", [{"name": "{}"}]),
    ("openai-chat", "documents", [{"text": "{}"}]),
    ("openai-chat", "prediction", {"content": "{}"}),
    ("openai-chat", "tool_choice", {"function": {"name": "{}"}}),
    ("openai-chat", "response_format", {"json_schema": {"description": "{}"}}),
    ("openai-responses", "instructions", "{}"),
    ("openai-responses", "conversation", "{}"),
    ("openai-responses", "text", {"format": {"name": "{}"}}),
    ("anthropic", "system", [{"type": "text", "text": "{}"}]),
    ("anthropic", "mcp_servers", [{"url": "{}"}]),
    ("anthropic", "container", {"skills": ["{}"]}),
]


@pytest.mark.parametrize(("dialect", "field", "value"), BESIDE, ids=[f"{each[0]}: {each[1]}" for each in BESIDE])
def test_what_the_writer_of_a_summary_may_read_is_seen_whatever_its_field(dialect: str, field: str, value: Any) -> None:
    written = json.dumps(value)
    one, two = (
        SeenWords.of(envelope(dialect, **{field: json.loads(written.replace("{}", word))}), Normaliser(find(dialect)))
        for word in ("wren", "finch")
    )
    assert not one.holds(two.mark)
    assert one.holds(one.mark)


@pytest.mark.parametrize("field", ["temperature", "max_tokens", "stream", "tool_choice", "metadata"])
def test_what_is_no_word_takes_no_summary_back(field: str) -> None:
    one, two = (
        SeenWords.of(envelope("anthropic", **{field: value}), Normaliser(find("anthropic"))) for value in (1, 2)
    )
    assert one.holds(two.mark)


@pytest.mark.finding("K13")
def test_calls_are_compared_in_the_time_of_their_number() -> None:
    def many(count: int, start: int = 0) -> list[bytes]:
        return [b"call %d" % (start + at) for at in range(count)]

    assert common_calls(many(9), many(9)) == LEAST_ANCHORS
    assert common_calls(many(9), list(reversed(many(9)))) == 1
    assert common_calls(many(9), many(9, 100)) == 0
    few, more = (least(lambda n=n: common_calls(many(n), many(n, 10**6)), 3) for n in (2_000, 16_000))  # type: ignore[misc]
    assert more < 24 * max(few, 0.001)
