"""What a tool call does is read off the shape of its arguments, whatever agents call their tools."""

from __future__ import annotations

import msgspec
import pytest

from contextfold.domain import ToolCall, Touch, touches_of
from contextfold.domain.tools import LABEL


def use(tool: str, **arguments: object) -> Touch:
    (found,) = touches_of(ToolCall("c1", tool, msgspec.json.encode(arguments).decode()))
    return found


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cat src/cards/deck.py", "src/cards/deck.py"),
        ("sed -n '1,260p' src/cards/deck.py", "src/cards/deck.py"),
        ("nl -ba src/cards/deck.py | sed -n '40,80p'", "src/cards/deck.py"),
        ("head -50 'docs/rules.md'", "docs/rules.md"),
        ("tail -n 20 /var/log/deck.log", "/var/log/deck.log"),
    ],
)
def test_a_command_that_only_shows_a_file_reads_it(command: str, path: str) -> None:
    found = use("exec_command", cmd=command, workdir="/srv/ada/work")
    assert (found.action, found.path) == ("read", path)


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py b.py",
        "cat a.py > b.py",
        "cat a.py | grep deck",
        "sed -i 's/a/b/' deck.py",
        "cat deck.py && rm deck.py",
        "head deck.py; make",
    ],
)
def test_a_command_that_does_more_is_a_command(command: str) -> None:
    found = use("bash", command=command)
    assert (found.action, found.path, found.label) == ("ran", "", f"$ {command}")


@pytest.mark.parametrize("key", ["workdir", "cwd", "working_directory", "workingDirectory"])
def test_where_a_command_runs_is_not_what_it_is_about(key: str) -> None:
    found = use("exec_command", cmd="git status", **{key: "/srv/ada/work/engine"})
    assert (found.action, found.path, found.label) == ("ran", "", "$ git status")


def test_a_model_s_name_is_no_file() -> None:
    found = use("spawn_agent", model="gpt-5.4", message="Review the deck.")
    assert found.path == ""


def test_a_command_is_told_once_and_brings_what_follows_its_first_line() -> None:
    found = use("shell", command="python - <<'E'\nprint(deck.open())\nE", path="/srv/ada/work/engine")
    assert found.label == "$ python - <<'E'"
    assert found.new == "print(deck.open())\nE"


def test_an_editor_s_verb_is_no_command() -> None:
    found = use("str_replace_editor", command="view", path="/src/deck.py")
    assert (found.action, found.path) == ("read", "/src/deck.py")


def test_a_label_is_one_short_line() -> None:
    found = use("bash", command="echo " + "card " * 200)
    assert len(found.label) <= LABEL + 2
    assert "\n" not in found.label


def test_a_patch_tells_its_lines_without_the_signs_in_front_of_them() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-port = 80\n+port = 8443\n+open(port)\n*** End Patch"
    (touch,) = touches_of(ToolCall("c", "apply_patch", msgspec.json.encode({"input": patch}).decode()))
    assert (touch.path, touch.old, touch.new) == ("a.py", "port = 80", "port = 8443\nopen(port)")


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"view_range": [3, 9]}, (3, 9)),
        ({"view_range": [0, 1]}, (1, 1)),
        ({"view_range": [3, 0]}, (3, None)),
        ({"view_range": [3, -1]}, (3, None)),
        ({"offset": 5, "limit": 10}, (5, 14)),
        ({"limit": 10}, (None, 10)),
    ],
)
def test_the_lines_that_are_read_are_those_that_a_call_names(
    given: dict[str, object], lines: tuple[int | None, int | None]
) -> None:
    arguments = msgspec.json.encode({"path": "a.py", **given}).decode()
    (touch,) = touches_of(ToolCall("c", "read_file", arguments))
    assert (touch.first, touch.last) == lines
