"""Long streams and many calls cost in proportion to their length, and a line without an end is not held for ever."""

from collections.abc import Callable
from typing import Any

import pytest

from contextfold.dialects import Listener
from contextfold.dialects.streams import ServerEvents
from contextfold.domain import BlockShape, Shape
from contextfold.domain.path_items import CallIds, arrive
from tests.effort import least

SHORT, LONG = 10_000, 80_000
MOST = (LONG / SHORT) ** 1.35  # how much longer the long one may take; a quadratic one takes 64 times as long
PIECE = "abcdefgh" * 4


def is_linear(work: Callable[[int], object]) -> bool:
    return any(least(lambda: work(LONG), tries) <= MOST * least(lambda: work(SHORT), tries) for tries in (1, 3, 5))


def listened(first: list[dict[str, Any]], piece: dict[str, Any]) -> Callable[[int], object]:
    def listen(count: int) -> str:
        listener = Listener()
        for event in first:
            listener.hear(event)
        for _ in range(count):
            listener.hear(piece)
        return str(listener.heard().answer)

    return listen


MESSAGE = {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": {}}}
WORDS = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CALL = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f"}}
ITEM = {"type": "message", "id": "m", "role": "assistant", "content": []}
STREAMS = {
    "anthropic words": listened(
        [MESSAGE, WORDS],
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": PIECE}},
    ),
    "anthropic arguments": listened(
        [MESSAGE, CALL],
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": PIECE}},
    ),
    "openai-chat": listened(
        [], {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": PIECE}}]}
    ),
    "openai-responses": listened(
        [
            {"type": "response.created", "response": {"object": "response", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
        ],
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": PIECE},
    ),
    "gemini": listened([], {"candidates": [{"content": {"role": "model", "parts": [{"text": PIECE}]}}]}),
}


@pytest.mark.finding("K12")
@pytest.mark.parametrize("name", STREAMS)
def test_80_000_pieces_of_an_answer_cost_what_they_are_long(name: str) -> None:
    assert is_linear(STREAMS[name])


@pytest.mark.finding("K12")
def test_a_line_in_many_pieces_costs_what_it_is_long() -> None:
    def fed(count: int) -> None:
        events = ServerEvents()
        events.feed(b"data: ")
        for _ in range(count):
            events.feed(b"x" * 50)
        assert events.feed(b"\n\n")[0].data == "x" * 50 * count

    assert is_linear(fed)


@pytest.mark.finding("K12")
def test_an_event_that_is_longer_than_any_is_left_out_and_the_next_is_heard() -> None:
    events = ServerEvents(most=1_000)
    for _ in range(100):
        assert events.feed(b"data: " + b"x" * 100) == []
    assert events.feed(b"\ndata: more of it\n\ndata: the next\n\n") == [("", "the next")]
    assert events.left_out == 1
    for _ in range(100):
        assert events.feed(b"data: " + b"x" * 100 + b"\n") == []
    assert events.feed(b"\ndata: the last\n\n") == [("", "the last")]
    assert events.left_out == 2


@pytest.mark.finding("K12")
def test_many_calls_that_have_only_the_name_of_their_tool_cost_what_they_are_many() -> None:
    def called(count: int) -> None:
        count //= 4
        ids = CallIds()
        calls = Shape("assistant", tuple(BlockShape("call", call="f", name="f") for _ in range(count)))
        shown, _ = ids.shown(0, calls, ())
        results = Shape("user", tuple(BlockShape("result", call="f", name="f") for _ in range(count)))
        answered, _ = ids.shown(1, results, shown.calls)
        assert answered.results == shown.calls
        assert arrive(shown.calls, answered).open == ()

    assert is_linear(called)


def test_a_number_behind_an_id_is_free_again_once_the_head_has_moved_back() -> None:
    ids, call = CallIds(), Shape("assistant", (BlockShape("call", call="f", name="f"),))
    names = [ids.shown(place, call, ())[0].calls for place in range(4)]
    assert names == [("f",), ("f-2",), ("f-3",), ("f-4",)]
    ids.truncate(2)
    assert [ids.shown(place, call, ())[0].calls for place in (2, 3)] == names[2:]
