"""Whose result it is where several calls wait under one id."""

from __future__ import annotations

import pytest

from contextfold.domain import Text, ToolCall, ToolResult
from contextfold.summaries.open_calls import OpenCalls

RESULT = ToolResult("c", (Text("x"),))


def waiting(*tools: str) -> OpenCalls[str]:
    calls: OpenCalls[str] = OpenCalls()
    for tool in tools:
        calls.add(None, ToolCall("c", tool, "{}"), [tool])
    return calls


def test_a_result_is_of_the_call_that_waits_under_its_id_and_the_next_of_none() -> None:
    calls = waiting("read_file")
    assert calls.tools([RESULT]) == {"c": "read_file"}
    assert calls.answered(None, RESULT).tool == "read_file"
    assert calls.answered(None, RESULT).tool == ""


def test_a_result_that_names_its_tool_is_of_that_call() -> None:
    calls = waiting("read_file", "ask_user")
    assert calls.answered(None, ToolResult("c", (Text("x"),), name="ask_user")).tool == "ask_user"
    assert calls.answered(None, RESULT).tool == "read_file"


@pytest.mark.finding("K8")
def test_where_two_tools_wait_under_one_id_neither_result_is_of_a_known_tool() -> None:
    calls = waiting("read_file", "ask_user")
    assert calls.tools([RESULT]) == {}
    assert calls.answered(None, RESULT).tool == ""
    assert calls.tools([RESULT]) == {"c": ""}
    assert calls.answered(None, RESULT).tool == ""
