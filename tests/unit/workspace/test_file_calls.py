"""Which files a tool call is about, in the words of the agents people use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contextfold.domain import ToolCall
from contextfold.workspace import FileCall, file_calls

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x
+y
*** Add File: b.txt
+z
*** Delete File: c.txt
*** End Patch"""
CREATE = {"command": "create", "path": "a", "file_text": "x"}
INSERT = {"command": "insert", "path": "a", "insert_line": 1, "text": "x"}


def files(name: str, arguments: object, **more: Any) -> list[FileCall]:
    return list(file_calls(ToolCall("c", name, json.dumps(arguments)), **more))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "/w/a.py", "offset": 10, "limit": 5}, FileCall("read", "/w/a.py", 10, 14)),
        ("Write", {"file_path": "a.py", "content": "x"}, FileCall("write", "a.py", content="x")),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, FileCall("write", "a.py")),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, FileCall("write", "a.py")),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, FileCall("write", "n.ipynb")),
        ("read_file", {"path": "a.py", "start_line": "3", "end_line": "9"}, FileCall("read", "a.py", 3, 9)),
        ("write_to_file", {"path": "a.py", "content": "x"}, FileCall("write", "a.py", content="x")),
        ("apply_diff", {"path": "a.py", "diff": "@@", "content": "x"}, FileCall("write", "a.py")),
        ("read_file", {"absolute_path": "/w/a.py", "offset": 0, "limit": 2}, FileCall("read", "/w/a.py", 1, 2)),
        ("mcp__fs__read_text_file", {"path": "a.py"}, FileCall("read", "a.py")),
        ("read", {"filePath": "a.py"}, FileCall("read", "a.py")),
        ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [2, -1]}, FileCall("read", "a.py", 2)),
        ("str_replace_based_edit_tool", CREATE, FileCall("write", "a", content="x")),
        ("str_replace_editor", INSERT, FileCall("write", "a")),
    ],
)
def test_tools_of_common_agents_are_known(name: str, arguments: object, expected: FileCall) -> None:
    assert files(name, arguments) == [expected]


def test_one_call_may_name_several_files() -> None:
    assert [each.path for each in files("read_many_files", {"paths": ["a", "b"]})] == ["a", "b"]
    assert [each.path for each in files("read_file", {"files": [{"path": "a"}, {"path": "b"}, 3, {}]})] == ["a", "b"]


def test_a_patch_names_what_it_updates_and_adds() -> None:
    assert files("apply_patch", {"input": PATCH}) == [FileCall("write", "src/a.py"), FileCall("write", "b.txt")]


def test_tools_of_ones_own_are_added_by_name() -> None:
    assert files("fetch_source", {"path": "a"}) == []
    assert files("fetch_source", {"path": "a"}, more={"FetchSource": "read"}) == [FileCall("read", "a")]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Read", {}), ("Read", [1]), ("Read", {"file_path": 3}), ("Read", {"file_path": " "}), ("bash", {"path": "a"})],
)
def test_what_names_no_file_is_no_use_of_one(name: str, arguments: object) -> None:
    assert files(name, arguments) == []


def test_arguments_that_are_no_json_name_nothing() -> None:
    assert list(file_calls(ToolCall("c", "Read", "{cut"))) == []
