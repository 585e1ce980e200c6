"""To-do lists, in the ways common agents write them."""

from __future__ import annotations

import json

import pytest

from contextfold.domain import ToolCall
from contextfold.workspace import ToDo, to_dos

BOXES = "- [x] one\n- [-] two\n1. [ ] three\nwords"
MIXED = [{"description": "one", "done": True}, "two\nlines", "", 3]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("TodoWrite", {"todos": [{"content": "one", "status": "in_progress"}]}, (ToDo("one", "in_progress"),)),
        ("update_plan", {"plan": [{"step": "one", "status": "completed"}]}, (ToDo("one", "completed"),)),
        ("update_todo_list", {"todos": BOXES}, (ToDo("one", "completed"), ToDo("two", "in_progress"), ToDo("three"))),
        ("write_todos", {"todos": MIXED}, (ToDo("one", "completed"), ToDo("two lines"))),
    ],
)
def test_lists_are_read_as_agents_write_them(name: str, arguments: object, expected: tuple[ToDo, ...]) -> None:
    assert to_dos(ToolCall("c", name, json.dumps(arguments))) == expected


@pytest.mark.parametrize(
    ("name", "arguments"), [("bash", '{"todos": []}'), ("TodoWrite", "{cut"), ("TodoWrite", '{"todos": 3}')]
)
def test_what_is_no_list_is_left_alone(name: str, arguments: str) -> None:
    assert to_dos(ToolCall("c", name, arguments)) is None


def test_what_is_done_or_given_up_is_not_open() -> None:
    assert [ToDo("x", status).is_open for status in ("completed", "Cancelled", "pending", "in_progress")] == [
        False,
        False,
        True,
        True,
    ]
