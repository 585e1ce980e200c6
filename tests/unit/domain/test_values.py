"""The values of the ground floor: messages, blocks, outlines, measures and what they say of themselves."""

import pytest

from contextfold.domain import (
    BlockShape,
    Image,
    ListedThread,
    Measure,
    Message,
    Opaque,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    nested,
)
from tests.written import assistant, call, result, text, thought


def test_a_message_tells_its_words_calls_and_results_apart() -> None:
    asked, answered = ToolCall("a", "read"), ToolResult("a", (Text("inside"),))
    message = Message("user", (Text("one"), asked, answered, Text("two")))
    assert message.text == "one\ntwo"
    assert message.calls == (asked,)
    assert message.results == (answered,)


def test_nested_blocks_are_found_at_every_depth() -> None:
    picture = Image("image/png", "AA==")
    inner = ToolResult("b", (picture,))
    outer = ToolResult("a", (Text("x"), inner))
    assert nested(outer) == (outer, Text("x"), inner, picture)
    assert nested(Opaque("new")) == (Opaque("new"),)


def test_an_outline_tells_calls_results_reasoning_and_images_apart() -> None:
    shape = assistant(thought(), call("a"), result("b"), BlockShape("image", 1, Measure(media=(("image", 5, 5),))))
    assert (shape.calls, shape.results, shape.has_reasoning, shape.images) == (("a",), ("b",), True, 1)
    assert not assistant().has_reasoning


@pytest.mark.parametrize(
    ("blocks", "is_blank"), [((), True), ((text(0), text(0)), True), ((text(0), text(1)), False), ((call("a"),), False)]
)
def test_blank_is_what_says_nothing(blocks: tuple[BlockShape, ...], is_blank: bool) -> None:
    assert Shape("assistant", blocks).is_blank is is_blank


def test_measures_add_up_class_by_class_and_keep_only_encodings_that_both_know() -> None:
    one = Measure((1, 2), (("image", 3, 4),), {"o200k": 5, "cl100k": 6})
    other = Measure((10, 20, 30), (), {"o200k": 50})
    assert one + other == Measure((11, 22, 30), (("image", 3, 4),), {"o200k": 55})


def test_a_listed_thread_of_which_only_the_name_is_known_has_done_nothing_yet() -> None:
    row = ListedThread("new")
    assert (row.title, row.model, row.last, row.changed, row.at) == ("new", "", 0, 0, 0.0)
    assert (row.messages, row.folds, row.size) == (0, 0, 0)
    assert not row.is_archived
    assert not row.is_forgotten
