"""Streams event by event: what the property tests do not draw. Errors, blocks of rare kinds, JSON cut in the middle."""

from typing import Any

import pytest

from contextfold.dialects import Heard, Listener, find
from contextfold.dialects.assembly import partial
from contextfold.dialects.streams import ServerEvents
from contextfold.errors import BadMessage


def heard(*events: dict[str, Any]) -> Heard:
    listener = Listener()
    for event in events:
        listener.hear(event)
    return listener.heard()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> list[dict[str, Any]]:
    events = [{"type": "content_block_start", "index": index, "content_block": start}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if stop else events


START: dict[str, Any] = {
    "type": "message_start",
    "message": {"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 3}},
}
END: list[dict[str, Any]] = [
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
CALL = {"type": "tool_use", "id": "t", "name": "run", "input": {}}
CUT = '{"path": "src/app.py", "lines": [1, 2], "text": "half a wo'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (CUT, {"path": "src/app.py", "lines": [1, 2]}),
        ('{"a": {"b": [true, fal', {"a": {"b": [True]}}),
        ('{"a": 12, "b": -', {"a": 12}),
        ('{"a": 1', {"a": 1}),
        ("[1, 2", [1, 2]),
        ("[1, [2, 3], ", [1, [2, 3]]),
        ('{"a": "x", "b"', {"a": "x"}),
        ('{"a": "", "b": "x", "c', {"a": "", "b": "x"}),
        ('{"a": "\\"", "b": "x', {"a": '"'}),
        ('{"a": "x",', {"a": "x"}),
        ("{", {}),
        ("[", []),
        ('{"a\\"b": 1, "c": []}', {'a"b': 1, "c": []}),
    ],
)
def test_json_that_was_cut_is_kept_as_far_as_it_goes(text: str, value: object) -> None:
    jiter = pytest.importorskip("jiter")
    assert partial(text) == value
    assert jiter.from_json(text.encode(), partial_mode=True) == value, "as the SDKs read it"


@pytest.mark.parametrize("text", ["", "   ", '"half a str', "tru"])
def test_nothing_whole_is_nothing(text: str) -> None:
    assert partial(text) is None


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a": nonsense, "b": 1}'])
def test_what_was_never_json_is_refused(text: str) -> None:
    with pytest.raises(BadMessage):
        partial(text)


@pytest.mark.parametrize(
    ("pieces", "given"),
    [
        ((CUT[:9], CUT[9:]), {"path": "src/app.py", "lines": [1, 2]}),
        (('"wo',), {}),
        (("{no json}",), {"arguments": "{no json}"}),
        (("",), {}),
    ],
)
def test_arguments_that_the_answers_length_cut_are_kept_as_the_sdk_keeps_them(
    pieces: tuple[str, ...], given: object
) -> None:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    came = heard(START, *block(0, CALL, *deltas), *END)
    assert came.is_complete
    assert came.answer is not None
    assert came.answer["content"] == [{**CALL, "input": given}]
    assert came.answer["usage"] == {"input_tokens": 3, "output_tokens": 9}


def test_citations_compactions_and_sealed_thinking_are_put_together() -> None:
    citation = {"type": "char_location", "cited_text": "x"}
    came = heard(
        START,
        *block(0, {"type": "redacted_thinking", "data": "sealed"}),
        *block(1, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "In short."}),
        *block(
            2,
            {"type": "text", "text": "", "citations": None},
            {"type": "text_delta", "text": "See."},
            {"type": "citations_delta", "citation": citation},
            {"type": "unheard_of_delta"},
        ),
        *END,
    )
    assert came.answer is not None
    assert came.answer["content"] == [
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "compaction", "content": "In short."},
        {"type": "text", "text": "See.", "citations": [citation]},
    ]


def test_a_cut_answer_of_anthropics_keeps_what_was_finished() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    came = heard(
        START,
        *block(0, thinking, {"type": "thinking_delta", "thinking": "hm"}),  # its signature never came
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "So far"}, stop=False),
        *block(2, CALL),
        *block(3, search),
        *block(4, {"type": "text", "text": ""}, stop=False),
        *block(5, {**CALL, "id": "u"}, stop=False),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    )
    assert came.answer is not None
    assert came.answer["content"] == [{"type": "text", "text": "So far"}, CALL]
    assert came.left_out == tuple(f"an unfinished {kind} block" for kind in ("thinking", "server_tool_use", "tool_use"))
    assert came.error == "overloaded_error: Overloaded"


def chat(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]}


def test_servers_that_say_ids_and_indexes_in_their_own_way_are_understood() -> None:
    def piece(**more: Any) -> dict[str, Any]:
        return {"index": 0, "type": "function", **more}

    came = heard(
        chat({"role": "assistant"}),
        chat({"role": "assistant", "tool_calls": [piece(id="a", function={"name": "f", "arguments": "{"})]}),
        chat({"tool_calls": [piece(id="a", function={"arguments": "}"})]}),
        chat({"tool_calls": [piece(id="b", function={"name": "g", "arguments": "{}"})]}),  # another one, same index
        chat({"tool_calls": [{"id": "c", "function": {"name": "h", "arguments": "{}"}}], "tags": ["x", 7]}),
        chat({"refusal": None}, finish_reason="tool_calls", logprobs={"content": [{"token": "x"}]}),
    )
    assert came.answer is not None
    (choice,) = came.answer["choices"]
    called = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in choice["message"]["tool_calls"]
    ]
    assert called == [("a", "f", "{}"), ("b", "g", "{}"), ("c", "h", "{}")]
    assert choice["message"]["tags"] == ["x", 7]
    assert choice["logprobs"] == {"content": [{"token": "x"}]}


def test_a_cut_chat_leaves_half_a_call_out_and_an_empty_one_keeps_nothing() -> None:
    half = {"index": 0, "id": "a", "function": {"name": "run", "arguments": '{"a": '}}
    came = heard(chat({"tool_calls": [half]}), {"error": {"message": "gone", "code": 500}})
    assert came == Heard(None, False, ("an unfinished call of run",), "500: gone")
    assert heard({"error": "no more"}) == Heard(error="no more")


def test_a_response_that_fails_tells_why_and_keeps_its_finished_items() -> None:
    message = {"type": "message", "role": "assistant", "content": []}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}

    def event(kind: str, at: int = 0, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "output_index": at, **more}

    came = heard(
        {"type": "response.created", "response": {"object": "response", "output": []}},
        event("output_text.delta", 7, delta="nowhere"),
        event("output_item.added", item=message),
        event("output_text.delta", content_index=0, delta="So"),
        event("output_text.annotation.added", content_index=0, annotation={"type": "url"}),
        event("output_item.added", 1, item={"type": "function_call", "call_id": "c", "arguments": ""}),
        event("function_call_arguments.delta", 1, delta='{"a'),
        event("output_item.added", 2, item=reasoning),
        event("reasoning_summary_text.delta", 2, summary_index=0, delta="hm"),
        event("output_item.done", 2, item=reasoning),
        {
            "type": "response.failed",
            "response": {"object": "response", "error": {"code": "server_error", "message": "no"}},
        },
    )
    assert came.answer is not None
    assert came.answer["output"] == [
        {**message, "status": "incomplete", "content": [{"text": "So", "annotations": [{"type": "url"}]}]}
    ]
    assert came.left_out == ("an unfinished function_call", "reasoning whose item did not come")
    assert came.error == "server_error: no"
    assert heard({"type": "response.created", "response": {}}, {"type": "error", "message": "bad"}).error == "bad"


def test_gemini_keeps_signed_parts_apart_and_says_what_was_blocked() -> None:
    def parts(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(listed)}, **more}]}

    signed = {"text": "", "thoughtSignature": "c2ln"}
    came = heard(
        parts({"text": "a"}), parts({"text": "b"}), parts(signed), parts({"text": "c"}, {}, finishReason="STOP")
    )
    assert came.answer is not None
    assert came.answer["candidates"][0]["content"]["parts"] == [{"text": "ab"}, signed, {"text": "c"}]
    assert came.answer["candidates"][0]["finishReason"] == "STOP"
    going_on = {"functionCall": {"name": "run", "willContinue": True}}
    cut = heard(parts(going_on), {"error": {"status": "UNAVAILABLE", "message": "later"}})
    assert cut == Heard(None, False, ("an unfinished call of run",), "UNAVAILABLE: later")
    assert heard({"promptFeedback": {"blockReason": "SAFETY"}}).error == "blocked: SAFETY"


def test_what_is_no_stream_is_reported_and_never_raised() -> None:
    listener = Listener()
    for piece in (b"data: <html>\n\n", b"data: [1]\n\n", 'data: {"type": "ping"}\n\n', object(), b""):
        listener.hear(piece)
    assert listener.heard().error.startswith("garbage in the stream: '<html>'")
    broken = Listener()
    broken.hear(START)
    broken.hear({"type": "content_block_start", "index": 0})
    assert "wrong form" in broken.heard().error
    assert broken.heard(ConnectionError("reset")).error == "ConnectionError: reset"
    other = Listener()
    other.hear({"type": "error", "message": "not even begun"})
    assert other.heard() == Heard(error="error: not even begun")


def test_bytes_that_hold_no_event_are_not_taken_for_an_empty_answer() -> None:
    listener = Listener()
    listener.hear(b'[{"candidates": []}]')
    assert listener.heard() == Heard(error="no event came")


def test_a_stream_that_has_not_begun_is_no_failure() -> None:
    assert Listener().heard() == Heard()
    unknown = Listener()
    unknown.hear({"type": "something else"})
    assert unknown.heard().error == ""


def test_a_stream_that_began_and_did_not_end_is_told() -> None:
    assert heard(START).error == "the stream ended before the answer did"


@pytest.mark.parametrize(
    ("event", "is_heard"),
    [
        ({"choices": []}, True),
        ({"choices": None}, False),
        ({"type": "chunk", "chunk": {"choices": []}}, True),
        ({"type": "chunk"}, False),
        ({"type": "content.delta", "chunk": {}}, False),
    ],
)
def test_a_completion_s_stream_is_known_by_its_choices_or_by_the_sdk_s_wrapping(event: Any, is_heard: bool) -> None:
    assert find("openai-chat").hears(event) is is_heard


def test_only_its_own_end_finishes_a_block_of_anthropics() -> None:
    came = heard(
        START,
        *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "So far"}),
        *block(1, CALL, stop=False),
        {"type": "content_block_news", "index": 1},
        {"type": "content_block_stop", "index": 7},
    )
    assert came.answer is not None
    assert came.answer["content"] == [{"type": "text", "text": "So far"}]
    assert came.left_out == ("an unfinished tool_use block",)


def test_words_of_a_response_that_name_no_part_are_the_first_ones() -> None:
    parts = [{"type": "output_text", "text": ""}, {"type": "output_text", "text": "second"}]
    message = {"type": "message", "role": "assistant", "content": parts}
    came = heard(
        {"type": "response.created", "response": {"object": "response", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "first"},
    )
    assert came.answer is not None
    assert [part["text"] for part in came.answer["output"][0]["content"]] == ["first", "second"]


@pytest.mark.parametrize(("more", "heard"), [(0, 1), (1, 0)])
def test_an_event_of_sixty_four_mebibytes_is_heard_and_a_longer_one_is_left_out(more: int, heard: int) -> None:
    events = ServerEvents()
    events.feed(b"data: " + b"x" * (64 * 1024 * 1024 - len(b"data: ") + more))
    assert len(events.feed(b"\n\n")) == heard
    assert events.left_out == 1 - heard
