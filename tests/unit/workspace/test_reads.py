"""What the model read and wrote, from its calls and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.workspace import Uses


def called(**calls: dict[str, Any]) -> dict[str, Any]:
    """Several calls in one message; the id says which tool: r reads, w writes."""
    names = {"r": "read_file", "w": "write_file"}
    blocks = [{"type": "tool_use", "id": id, "name": names[id[0]], "input": given} for id, given in calls.items()]
    return {"role": "assistant", "content": blocks}


def answered(*ids: str, error: bool = False) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": f"text of {id}", "is_error": error} for id in ids]
    return {"role": "user", "content": blocks}


def used(root: Path, *messages: dict[str, Any]) -> Uses:
    uses = Uses(root)
    with cf.open() as store:
        thread = store.thread("t", model="claude-sonnet-5-5")
        for message in ({"role": "user", "content": "go"}, *messages):
            thread.append(message)
        uses.follow(thread.view.messages)
    return uses


def test_parallel_calls_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    uses = used(tmp_path, called(r1={"path": "a"}, r2={"path": "b"}), answered("r2", "r1"))
    assert {(use.path, use.text) for use in uses.latest()} == {("a", "text of r1"), ("b", "text of r2")}


def test_a_call_that_failed_or_was_never_answered_is_no_use(tmp_path: Path) -> None:
    uses = used(tmp_path, called(r1={"path": "a"}), answered("r1", error=True), called(r2={"path": "b"}))
    assert uses.latest() == []


def test_the_last_use_counts_and_is_the_newest(tmp_path: Path) -> None:
    uses = used(
        tmp_path,
        *(called(r1={"path": "a"}), answered("r1"), called(r2={"path": "b"}), answered("r2")),
        *(called(r3={"path": "a", "start_line": 2, "end_line": 3}), answered("r3")),
    )
    assert [(use.path, use.seq, use.first, use.last) for use in uses.latest()] == [("a", 7, 2, 3), ("b", 5, None, None)]


def test_a_write_keeps_the_lines_that_were_looked_at(tmp_path: Path) -> None:
    read = called(r1={"path": "a", "start_line": 5})
    uses = used(tmp_path, read, answered("r1"), called(w1={"path": "a", "content": "x"}), answered("w1"))
    (use,) = uses.latest()
    assert (use.action, use.first, use.last, use.text, use.is_whole) == ("write", 5, None, "x", True)


def test_a_path_is_one_file_however_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    names = ["a/b.py", "./a/../a/b.py", str(tmp_path / "link" / "a" / "b.py"), str(tmp_path / "real" / "a" / "b.py")]
    calls = {f"r{number}": {"path": name} for number, name in enumerate(names)}
    uses = used(tmp_path / "link", called(**calls), answered(*calls))
    assert [use.path for use in uses.latest()] == ["a/b.py"]


def test_what_is_outside_is_nobodys_business_here(tmp_path: Path) -> None:
    calls = {f"r{n}": {"path": name} for n, name in enumerate(["../x", str(tmp_path.parent / "x"), ".", "a\0b"])}
    assert used(tmp_path, called(**calls), answered(*calls)).latest() == []


def test_beginning_again_forgets_everything(tmp_path: Path) -> None:
    uses = used(tmp_path, called(r1={"path": "a"}), answered("r1"))
    uses.forget()
    assert (uses.latest(), uses.last) == ([], 0)
