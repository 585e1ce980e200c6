"""Several answers of a model as one: the client never sees a hidden call, and what it sees is one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contextfold.dialects import find
from contextfold.dialects.splices import HiddenPair, Splice, call_of, put_back, summed, written
from contextfold.domain import decode, encode

Json = dict[str, Any]
OURS, THEIRS = "recall", "read_file"


def splice(dialect: str) -> Splice:
    endpoint = find(dialect).endpoint
    assert endpoint is not None
    assert endpoint.splice is not None
    return endpoint.splice({OURS})


def streamed(dialect: str, *rounds: Sequence[Json]) -> list[Json]:
    """What the client sees of answers that stream one after another."""
    joined, seen = splice(dialect), list[Json]()
    for number, events in enumerate(rounds):
        if number:
            joined.goes_on()
        for event in events:
            seen += joined.take(event)
    return [*seen, *joined.end()]


# -- bills ------------------------------------------------------------------------------------------------------------


def test_bills_are_added_up_inside_of_details_too_and_words_stay_those_of_the_first() -> None:
    first = {"input": 3, "cost": 0.5, "tier": "standard", "details": {"cached": 2}, "is_batch": True}
    second = {"input": 4, "cost": 0.25, "tier": "batch", "details": {"cached": 5, "audio": 1}, "is_batch": False}
    assert summed([first, None, second]) == {
        "input": 7,
        "cost": 0.75,
        "tier": "standard",
        "details": {"cached": 7, "audio": 1},
        "is_batch": True,
    }


def test_a_number_that_a_bill_left_open_counts_as_nothing() -> None:
    assert summed([{"read": None}, {"read": 5}]) == {"read": 5}


@pytest.mark.parametrize(("is_named", "name"), [(True, b"event: ping\n"), (False, b"")])
def test_an_event_carries_its_name_where_the_format_has_names(is_named: bool, name: bytes) -> None:
    assert written({"type": "ping"}, is_named=is_named) == name + b'data: {"type":"ping"}\n\n'


# -- Anthropic --------------------------------------------------------------------------------------------------------


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def use(name: str, call: str = "t") -> Json:
    return {"type": "tool_use", "id": call, "name": name, "input": {}}


def thought(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": "s"}


def messages_stream(blocks: Sequence[Json], reason: str, usage: Json) -> list[Json]:
    start = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}}
    parts: list[Json] = []
    for place, block in enumerate(blocks):
        parts.append({"type": "content_block_start", "index": place, "content_block": block})
        parts.append({"type": "content_block_stop", "index": place})
    end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [start, {"type": "ping"}, *parts, end, {"type": "message_stop"}]


def test_streamed_messages_begin_and_end_once_and_blocks_are_counted_on() -> None:
    first = messages_stream([thought("a"), text_block("b"), use(OURS)], "tool_use", {"output_tokens": 5})
    second = messages_stream([thought("c"), text_block("d"), use(THEIRS)], "tool_use", {"output_tokens": 7})
    seen = streamed("anthropic", first, second)
    assert [event["type"] for event in seen].count("message_start") == 1
    assert [event["type"] for event in seen[-2:]] == ["message_delta", "message_stop"]
    assert [event["type"] for event in seen].count("message_stop") == 1
    starts = [event for event in seen if event["type"] == "content_block_start"]
    assert [(event["index"], event["content_block"]["type"]) for event in starts] == [
        (0, "thinking"),
        (1, "text"),
        (2, "text"),
        (3, "tool_use"),
    ]
    assert [event["index"] for event in seen if event["type"] == "content_block_stop"] == [0, 1, 2, 3]
    assert [event["type"] for event in seen].count("ping") == 2


def test_streamed_messages_bill_what_each_later_round_read_and_all_that_was_written() -> None:
    first = messages_stream([use(OURS)], "tool_use", {"output_tokens": 5})
    second = messages_stream([text_block("d")], "end_turn", {"output_tokens": 7})
    end = streamed("anthropic", first, second)[-2]
    assert end["usage"] == {"input_tokens": 10, "output_tokens": 12}  # the beginning told of the first ten itself


@pytest.mark.parametrize(("called", "reason"), [(OURS, "end_turn"), (THEIRS, "tool_use")])
def test_an_answer_ends_for_a_call_only_where_the_client_sees_one(called: str, reason: str) -> None:
    end = streamed("anthropic", messages_stream([use(called)], "tool_use", {}))[-2]
    assert end["delta"]["stop_reason"] == reason
    body = {"id": "m", "content": [use(called)], "stop_reason": "tool_use", "usage": {}}
    assert splice("anthropic").whole([body])["stop_reason"] == reason


def test_an_answer_that_ended_for_its_length_says_so() -> None:
    end = streamed("anthropic", messages_stream([use(OURS)], "max_tokens", {}))[-2]
    assert end["delta"]["stop_reason"] == "max_tokens"


def test_whole_messages_are_one_under_the_first_id_with_the_reasoning_of_the_first_alone() -> None:
    first = {"id": "m1", "content": [thought("a"), use(OURS)], "stop_reason": "tool_use", "usage": {"output_tokens": 5}}
    later = [thought("c"), text_block("d"), use(THEIRS)]
    second = {"id": "m2", "content": later, "stop_reason": "tool_use", "usage": {"output_tokens": 7}}
    assert splice("anthropic").whole([first, second]) == {
        "id": "m1",
        "content": [thought("a"), text_block("d"), use(THEIRS)],
        "stop_reason": "tool_use",
        "usage": {"output_tokens": 12},
    }


# -- OpenAI Chat Completions ------------------------------------------------------------------------------------------


def chat_call(name: str, index: int = 0) -> Json:
    return {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}


def chunk(answer: str, delta: Json, reason: str | None = None) -> Json:
    return {"id": answer, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def chat_stream(answer: str, *deltas: Json, reason: str = "tool_calls", tokens: int = 0) -> list[Json]:
    begun = chunk(answer, {"role": "assistant", "content": ""})
    bill = [{"id": answer, "choices": [], "usage": {"total_tokens": tokens}}] if tokens else []
    return [begun, *(chunk(answer, delta) for delta in deltas), chunk(answer, {}, reason), *bill]


def test_streamed_completions_are_one_under_the_first_id_with_the_role_said_once() -> None:
    first = chat_stream("a", {"content": "x"}, {"tool_calls": [chat_call(OURS)]})
    seen = streamed("openai-chat", first, chat_stream("b", {"content": "y"}, reason="stop"))
    assert {event["id"] for event in seen} == {"a"}
    deltas = [event["choices"][0]["delta"] for event in seen]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "x"}, {"content": ""}, {"content": "y"}, {}]
    assert [event["choices"][0]["finish_reason"] for event in seen] == [None, None, None, None, "stop"]


def test_streamed_calls_of_a_completion_are_counted_on_and_hidden_ones_are_not_there() -> None:
    both = {"tool_calls": [chat_call(OURS, 0), chat_call(THEIRS, 1)]}
    more = {"tool_calls": [{"index": 1, "function": {"arguments": "more"}}, {"index": 0, "function": {}}]}
    later = {"tool_calls": [chat_call(THEIRS, 0)]}
    seen = streamed("openai-chat", chat_stream("a", both, more), chat_stream("b", later))
    calls = [call for event in seen for call in event["choices"][0]["delta"].get("tool_calls", ())]
    assert [call["index"] for call in calls] == [0, 0, 1]
    assert all(call["function"].get("name") != OURS for call in calls)


@pytest.mark.parametrize(("called", "reason"), [(OURS, "stop"), (THEIRS, "tool_calls")])
def test_a_completion_ends_for_a_call_only_where_the_client_sees_one(called: str, reason: str) -> None:
    seen = streamed("openai-chat", chat_stream("a", {"tool_calls": [chat_call(called)]}))
    assert seen[-1]["choices"][0]["finish_reason"] == reason
    choice = {"message": {"content": None, "tool_calls": [chat_call(called)]}, "finish_reason": "tool_calls"}
    assert splice("openai-chat").whole([{"id": "a", "choices": [choice]}])["choices"][0]["finish_reason"] == reason


def test_the_bills_of_streamed_completions_come_summed_behind_the_end() -> None:
    said = {"content": "x"}
    seen = streamed("openai-chat", chat_stream("a", said, tokens=5), chat_stream("b", said, reason="stop", tokens=7))
    assert seen[-1] == {"id": "a", "choices": [], "usage": {"total_tokens": 12}}
    assert all("usage" not in event for event in seen[:-1])
    assert streamed("openai-chat", chat_stream("a", said, reason="stop"))[-1]["choices"]


def test_a_stream_that_broke_off_gets_no_end_from_us() -> None:
    cut = chat_stream("a", {"content": "x"})[:-1]
    assert [event["choices"][0]["delta"] for event in streamed("openai-chat", cut)][-1] == {"content": "x"}
    assert streamed("openai-responses", []) == []
    assert streamed("gemini", []) == []


def test_whole_completions_are_one_with_all_words_and_the_clients_calls() -> None:
    def body(answer: str, text: str | None, called: str, tokens: int) -> Json:
        message = {"role": "assistant", "content": text, "tool_calls": [chat_call(called)]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": answer, "choices": [choice], "usage": {"total_tokens": tokens}}

    told = splice("openai-chat").whole([body("a", "x", OURS, 5), body("b", None, OURS, 6), body("c", "y", THEIRS, 7)])
    message = {"role": "assistant", "content": "xy", "tool_calls": [chat_call(THEIRS)]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    assert told == {"id": "a", "choices": [choice], "usage": {"total_tokens": 18}}


def test_a_whole_completion_without_words_or_calls_of_the_client_has_neither() -> None:
    choice = {"message": {"role": "assistant", "content": "", "tool_calls": [chat_call(OURS)]}, "finish_reason": "stop"}
    told = splice("openai-chat").whole([{"id": "a", "choices": [choice]}])
    assert told["choices"][0]["message"] == {"role": "assistant", "content": None}
    assert "usage" not in told


# -- OpenAI Responses -------------------------------------------------------------------------------------------------


def function(name: str) -> Json:
    return {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"}


REASONING: Json = {"type": "reasoning", "summary": []}
SPEECH: Json = {"type": "message", "content": [{"type": "output_text", "text": "x"}]}


def response(answer: str, *items: Json, tokens: int = 0) -> Json:
    return {"id": answer, "output": list(items), "usage": {"total_tokens": tokens} if tokens else None}


def responses_stream(answer: str, *items: Json, tokens: int = 0) -> list[Json]:
    events: list[Json] = [
        {"type": "response.created", "response": {"id": answer}},
        {"type": "response.in_progress", "response": {"id": answer}},
    ]
    for place, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": place, "item": item})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": response(answer, *items, tokens=tokens)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def test_streamed_responses_begin_and_end_once_and_are_numbered_without_a_gap() -> None:
    first = responses_stream("r1", REASONING, function(OURS), tokens=5)
    seen = streamed("openai-responses", first, responses_stream("r2", REASONING, SPEECH, function(THEIRS), tokens=7))
    assert [event["sequence_number"] for event in seen] == list(range(len(seen)))
    kinds = [event["type"].removeprefix("response.") for event in seen]
    item = ["output_item.added", "output_item.done"]
    assert kinds == ["created", "in_progress", *item * 3, "completed"]
    places = [(event["output_index"], event["item"]["type"]) for event in seen if "item" in event]
    assert places[::2] == places[1::2] == [(0, "reasoning"), (1, "message"), (2, "function_call")]
    assert seen[-1]["response"] == response("r1", REASONING, SPEECH, function(THEIRS), tokens=12)


def test_events_that_carry_no_number_get_none() -> None:
    event = {"type": "error", "message": "no"}
    assert splice("openai-responses").take(event) == [event]


@pytest.mark.parametrize("kind", ["response.incomplete", "response.failed"])
def test_a_response_that_ended_badly_ends_so_for_the_client(kind: str) -> None:
    events = responses_stream("r1", SPEECH)
    seen = streamed("openai-responses", [*events[:-1], {**events[-1], "type": kind}])
    assert [event["type"] for event in seen].count(kind) == 1
    assert seen[-1]["type"] == kind


def test_whole_responses_are_the_last_one_with_all_that_the_client_may_see() -> None:
    bodies = [response("r1", REASONING, function(OURS), tokens=5), response("r2", REASONING, SPEECH, tokens=7)]
    assert splice("openai-responses").whole(bodies) == response("r2", REASONING, SPEECH, tokens=12)
    assert splice("openai-responses").whole([response("r1", SPEECH)])["usage"] is None


# -- Gemini -----------------------------------------------------------------------------------------------------------


def asks(name: str) -> Json:
    return {"functionCall": {"name": name, "args": {}}}


def gemini(*parts: Json, reason: str = "", tokens: int = 0) -> Json:
    ended = {"finishReason": reason} if reason else {}
    bill = {"usageMetadata": {"totalTokenCount": tokens}} if tokens else {}
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **ended}], **bill}


def test_streamed_contents_end_once_with_the_newest_bill_of_each_round() -> None:
    first = [gemini({"text": "a", "thought": True}, tokens=3), gemini(asks(OURS), reason="STOP", tokens=5)]
    second = [gemini({"text": "c", "thought": True}, {"text": "d"}, tokens=6), gemini(reason="STOP", tokens=7)]
    seen = streamed("gemini", first, second)
    assert seen == [gemini({"text": "a", "thought": True}), gemini({"text": "d"}), gemini(reason="STOP", tokens=12)]


def test_an_event_without_an_answer_passes_as_it_is() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert splice("gemini").take(blocked) == [blocked]


def test_whole_contents_are_one_answer_with_the_thoughts_of_the_first_alone() -> None:
    first = gemini({"text": "a", "thought": True}, asks(OURS), reason="STOP", tokens=5)
    second = gemini({"text": "c", "thought": True}, asks(THEIRS), reason="STOP", tokens=7)
    told = gemini({"text": "a", "thought": True}, asks(THEIRS), reason="STOP", tokens=12)
    assert splice("gemini").whole([first, second]) == told


def test_an_answer_without_a_content_is_one_of_the_model_without_parts() -> None:
    told = splice("gemini").whole([{"candidates": [{"finishReason": "SAFETY"}]}])
    assert told["candidates"] == [{"finishReason": "SAFETY", "content": {"role": "model", "parts": []}}]


# -- calls that come back ---------------------------------------------------------------------------------------------

# A client's call and its result as messages, a hidden call and the message of its result, by format.
PAIRS: dict[str, tuple[Json, Json, Json, Json]] = {
    "anthropic": (
        {"role": "assistant", "content": [text_block("x"), use(THEIRS, "own")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "own", "content": "r"}]},
        use(OURS, "hid"),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "hid", "content": "h"}]},
    ),
    "openai-chat": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "own", "type": "function", "function": {"name": THEIRS}}],
        },
        {"role": "tool", "tool_call_id": "own", "content": "r"},
        {"id": "hid", "type": "function", "function": {}},
        {"role": "tool", "tool_call_id": "hid", "content": "h"},
    ),
    "openai-responses": (
        {"type": "function_call", "call_id": "own", "name": THEIRS, "arguments": "{}"},
        {"type": "function_call_output", "call_id": "own", "output": "r"},
        {"type": "function_call", "call_id": "hid", "name": OURS, "arguments": "{}"},
        {"type": "function_call_output", "call_id": "hid", "output": "h"},
    ),
    "gemini": (
        {"role": "model", "parts": [{"functionCall": {"id": "own", "name": THEIRS}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "own", "response": {}}}]},
        {"functionCall": {"id": "hid", "name": OURS}},
        {"role": "user", "parts": [{"functionResponse": {"id": "hid", "response": {}}}]},
    ),
}
BEFORE: Json = {"role": "user", "content": "go"}
BEHIND: Json = {"role": "user", "content": "now own this"}


def own_call(dialect: str) -> Json:
    """The client's call of the pair, as the model wrote it."""
    call = PAIRS[dialect][0]
    found: Json = call if dialect == "openai-responses" else call_of(encode(call), "own") or {}
    return found


def put(pair: HiddenPair, *messages: Json) -> list[Json]:
    return [decode(raw) for raw in put_back([encode(each) for each in messages], pair)]


def listed(message: Json, name: str) -> list[Json]:
    return list(message[name])


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize(("dialect", "field"), [("anthropic", "content"), ("gemini", "parts")])
def test_a_hidden_call_comes_back_beside_the_clients_and_its_result_behind_the_clients(
    dialect: str, field: str, is_before: bool
) -> None:
    call, result, hidden, told = PAIRS[dialect]
    *earlier, own = listed(call, field)
    both = [*earlier, hidden, own] if is_before else [*earlier, own, hidden]
    assert put(HiddenPair("own", own_call(dialect), is_before, hidden, told), BEFORE, call, result, BEHIND) == [
        BEFORE,
        {**call, field: both},
        {**result, field: [*listed(result, field), *listed(told, field)]},
        BEHIND,
    ]


@pytest.mark.parametrize("is_before", [True, False])
def test_hidden_calls_of_a_completion_come_back_in_the_message_and_their_results_as_messages(is_before: bool) -> None:
    call, result, hidden, told = PAIRS["openai-chat"]
    own = call["tool_calls"][0]
    whole = {**call, "tool_calls": [hidden, own] if is_before else [own, hidden]}
    assert put(HiddenPair("own", own_call("openai-chat"), is_before, hidden, told), call, result) == [
        whole,
        result,
        told,
    ]


@pytest.mark.parametrize("is_before", [True, False])
def test_hidden_calls_of_a_response_come_back_as_items(is_before: bool) -> None:
    call, result, hidden, told = PAIRS["openai-responses"]
    calls = [hidden, call] if is_before else [call, hidden]
    assert put(HiddenPair("own", own_call("openai-responses"), is_before, hidden, told), call, result) == [
        *calls,
        result,
        told,
    ]


@pytest.mark.parametrize("dialect", PAIRS)
def test_a_hidden_call_whose_result_would_have_no_place_does_not_come_back(dialect: str) -> None:
    call, result, hidden, told = PAIRS[dialect]
    pair = HiddenPair("own", own_call(dialect), True, hidden, told)
    assert put(pair, BEFORE, call, BEHIND) == [BEFORE, call, BEHIND]
    assert put(pair, BEFORE, result) == [BEFORE, result]


@pytest.mark.parametrize("dialect", PAIRS)
def test_a_hidden_call_comes_back_once_however_often_its_neighbour_is_said(dialect: str) -> None:
    call, result, hidden, told = PAIRS[dialect]
    pair = HiddenPair("own", own_call(dialect), True, hidden, told)
    assert put(pair, call, result, call, result) == [*put(pair, call, result), call, result]


@pytest.mark.finding("K9")
@pytest.mark.parametrize("dialect", PAIRS)
def test_a_hidden_call_does_not_come_back_beside_another_call_of_the_same_id(dialect: str) -> None:
    call, result, hidden, told = PAIRS[dialect]
    other = decode(encode(own_call(dialect)).replace(b'"name":"', b'"name":"other_'))
    assert other != own_call(dialect)
    assert put(HiddenPair("own", other, True, hidden, told), BEFORE, call, result) == [BEFORE, call, result]


@pytest.mark.parametrize("dialect", PAIRS)
def test_a_call_is_found_by_its_id_and_by_nothing_else(dialect: str) -> None:
    call, result, _, _ = PAIRS[dialect]
    own = (
        call if dialect == "openai-responses" else (call.get("content") or call.get("parts") or call["tool_calls"])[-1]
    )
    assert call_of(encode(call), "own") == own
    assert call_of(encode([BEFORE, call]), "own") == own
    assert call_of(encode(call), "other") is None
    assert call_of(encode(result), "own") is None
