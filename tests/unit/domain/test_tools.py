"""One table of tools: the same tool under any agent's name, and one reading of its calls for everybody."""

from __future__ import annotations

import json

import pytest

from contextfold.domain import Message, Text, ToolCall, ToolKind, ToolResult, kind_of_tool, tool_key, touches_of
from contextfold.folding.outputs import COMPACTABLE, EXEMPT
from contextfold.summaries import SourceMessage, SummaryRequest, digest
from contextfold.workspace import file_calls
from contextfold.workspace.todos import to_dos


@pytest.mark.finding("H4")
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "reads",
            ["Read", "read_file", "readFile", "read-file", "fs.read_file", "mcp__fs__read_text_file", "view_image"],
        ),
        ("writes", ["Write", "write_to_file", "create_file", "mcp__filesystem__write_file"]),
        ("edits", ["Edit", "MultiEdit", "apply_diff", "replace_in_file", "NotebookEdit", "insert_content"]),
        ("views", ["str_replace_editor", "str_replace_based_edit_tool", "file_editor"]),
        ("patches", ["apply_patch", "functions.apply_patch"]),
        ("lists", ["LS", "list_files", "list_directory", "list_dir"]),
        ("finds", ["Glob", "file_search", "glob_file_search"]),
        ("searches", ["Grep", "search_files", "grep_search", "search_file_content", "codebase_search"]),
        (
            "runs",
            [
                "Bash",
                "execute_bash",
                "run_shell_command",
                "exec_command",
                "shell",
                "run_terminal_cmd",
                "run_in_terminal",
            ],
        ),
        ("asks", ["ask_user", "mcp__ask__ask_user", "AskUserQuestion", "ask_followup_question", "request_user_input"]),
        ("plans", ["TodoWrite", "update_plan", "functions.update_plan", "update_todo_list", "write_todos"]),
        ("teaches", ["Skill", "load_skill"]),
        (None, ["fetch_source", "get_weather", "", "__", "mcp__x__y"]),
    ],
)
def test_a_tool_is_known_under_every_agent_s_name(kind: ToolKind | None, names: list[str]) -> None:
    assert {name: kind_of_tool(name) for name in names} == dict.fromkeys(names, kind)


@pytest.mark.finding("H4")
@pytest.mark.parametrize("name", ["mcp__ask__ask_user", "AskUserQuestion", "exit_plan_mode", "TodoWrite", "Skill"])
def test_what_people_answered_is_exempt_from_clearing_under_any_name(name: str) -> None:
    assert tool_key(name) in {tool_key(exempt) for exempt in EXEMPT}


@pytest.mark.finding("H4")
@pytest.mark.parametrize(
    "name", ["Bash", "exec_command", "mcp__fs__read_file", "MultiEdit", "notebookEdit", "search_files"]
)
def test_what_seed_002_clears_is_cleared_under_any_name(name: str) -> None:
    assert tool_key(name) in {tool_key(tool) for tool in COMPACTABLE}


CALLS = [
    ("Read", {"file_path": "src/a.py", "offset": 3}, {"src/a.py": "read"}),
    ("mcp__fs__read_text_file", {"path": "src/a.py"}, {"src/a.py": "read"}),
    ("read_many_files", {"paths": ["src/a.py", "src/b.py"]}, {"src/a.py": "read", "src/b.py": "read"}),
    ("read_file", {"files": [{"path": "src/a.py"}, {"path": "src/b.py"}]}, {"src/a.py": "read", "src/b.py": "read"}),
    ("Write", {"file_path": "src/a.py", "content": "x = 1"}, {"src/a.py": "written"}),
    ("apply_diff", {"path": "src/a.py", "diff": "@@ x"}, {"src/a.py": "edited"}),
    ("str_replace_editor", {"command": "view", "path": "src/a.py"}, {"src/a.py": "read"}),
    ("str_replace_editor", {"command": "create", "path": "src/a.py", "file_text": "x"}, {"src/a.py": "written"}),
    ("apply_patch", {"input": "*** Update File: src/a.py\n+x"}, {"src/a.py": "edited"}),
    ("exec_command", {"cmd": "sed -n '1,260p' src/a.py"}, {"src/a.py": "read"}),
    ("shell", {"command": ["bash", "-lc", "cat src/a.py"]}, {"src/a.py": "read"}),
    ("Bash", {"command": "cd /w && head -50 src/a.py"}, {"/w/src/a.py": "read"}),
]


@pytest.mark.finding("H4")
@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS)
def test_the_digest_and_the_workspace_read_a_call_alike(
    name: str, arguments: dict[str, object], expected: dict[str, str]
) -> None:
    call = ToolCall("c", name, json.dumps(arguments))
    assert {touch.path: touch.action for touch in touches_of(call)} == expected
    as_files = {path: "read" if action == "read" else "write" for path, action in expected.items()}
    assert {each.path: each.action for each in file_calls(call)} == as_files
    sources = (
        SourceMessage(1, Message("user", (Text("Look."),))),
        SourceMessage(2, Message("assistant", (call,))),
        SourceMessage(3, Message("user", (ToolResult("c", (Text("def parse_file(): ..."),)),))),
    )
    page = digest(SummaryRequest(sources, budget=2_000), len)
    assert all(f"{path} ({action})" in page for path, action in expected.items())


@pytest.mark.finding("H4")
@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("sed -n '40,80p' a.py", (40, 80)),
        ("sed -n 7p a.py", (7, 7)),
        ("head -n 20 a.py", (1, 20)),
        ("cat a.py", (None, None)),
    ],
)
def test_a_command_says_which_lines_it_shows(command: str, lines: tuple[int | None, int | None]) -> None:
    (touch,) = touches_of(ToolCall("c", "bash", json.dumps({"command": command})))
    assert (touch.first, touch.last) == lines


@pytest.mark.finding("H4")
@pytest.mark.parametrize("command", ["cat a.py b.py", "cat a.py > b.py", "cat a.py && rm a.py", "python a.py"])
def test_a_command_that_does_more_than_show_a_file_is_no_read(command: str) -> None:
    assert list(file_calls(ToolCall("c", "bash", json.dumps({"command": command})))) == []


@pytest.mark.finding("H4")
def test_only_a_to_do_list_is_a_to_do_list() -> None:
    listed = ToolCall("c", "functions.update_plan", '{"plan": [{"step": "Rename", "status": "pending"}]}')
    assert [todo.text for todo in to_dos(listed) or ()] == ["Rename"]
    assert to_dos(ToolCall("c", "exit_plan_mode", '{"plan": "Rename."}')) is None


@pytest.mark.finding("H4")
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("create", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"}, "edited"),
        ("frobnicate", {"path": "a.py", "command": "delete"}, "deleted"),
        ("remove_thing", {"path": "a.py"}, "deleted"),
        ("frobnicate", {"path": "a.py", "command": "python tool.py --with many words --and options"}, "ran"),
    ],
)
def test_what_is_done_to_a_file_is_told_by_the_texts_and_verbs_of_a_call(
    name: str, arguments: dict[str, str], action: str
) -> None:
    assert touches_of(ToolCall("c", name, json.dumps(arguments)))[0].action == action


def test_what_is_nested_deeper_than_anybody_writes_is_not_read() -> None:
    assert touches_of(ToolCall("c", "frobnicate", "[" * 60 + '"a.py"' + "]" * 60))[0].path == ""


@pytest.mark.parametrize(
    ("view", "lines"),
    [
        ([3, 9], (3, 9)),
        ([0, 9], (1, 9)),
        ([3, -1], (3, None)),
        ([3], (None, None)),
        ([3, 9, 12], (None, None)),
        (["3", 9], (None, None)),
    ],
)
def test_a_range_of_two_numbers_says_which_lines_are_viewed(
    view: list[object], lines: tuple[int | None, int | None]
) -> None:
    given = {"command": "view", "path": "a.py", "view_range": view}
    (touch,) = touches_of(ToolCall("c", "str_replace_based_edit_tool", json.dumps(given)))
    assert (touch.first, touch.last) == lines
