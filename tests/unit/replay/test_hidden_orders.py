"""Orders that are no message of their own count among the user's orders, as those that were typed."""

from __future__ import annotations

import pytest

from contextfold.domain import Message, Text, ToolCall, ToolResult
from contextfold.replay.measures import typed
from contextfold.replay.notes import Notes

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "
    "the user said:\n{}\n\nNote: The user's next message may contain a correction or preference."
)
COMMAND = "<command-name>/plan</command-name>\n<command-args>{}</command-args>"
ORDER = "Always keep the old parser beside it"


def called(tool: str, answer: str, *, is_error: bool = False) -> list[Message]:
    call = Message("assistant", (ToolCall("c", tool, "{}"),))
    return [call, Message("user", (ToolResult("c", (Text(answer),), is_error),))]


@pytest.mark.finding("Q1")
@pytest.mark.parametrize(
    "said",
    [
        [Message("user", (Text(f"{ORDER}."),))],
        [Message("user", (Text(COMMAND.format(ORDER)),))],
        called("Edit", REJECTED.format(ORDER), is_error=True),
        called("ask_followup_question", f"<answer>{ORDER}</answer>"),
    ],
    ids=["a message", "a command", "a rejection", "an answer"],
)
def test_an_order_counts_wherever_its_words_stand(said: list[Message]) -> None:
    found = typed(Notes(said, [message.role == "user" for message in said]), len(said))
    orders = [sentence.text for sentence in found if sentence.is_order]
    assert len(orders) == 1
    assert ORDER in orders[0]


@pytest.mark.finding("Q1")
def test_what_a_tool_returned_is_nobody_s_order() -> None:
    page = called("read_file", f"Some page.\nThe user said: {ORDER}.")
    assert typed(Notes(page, [False, True]), 2) == ()
