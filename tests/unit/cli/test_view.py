"""A view as a person reads it: every kind of block and item has its line."""

import io
import json
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.cli.paper import Paper
from contextfold.cli.view import call_arguments, spans
from contextfold.domain import ToolCall
from tests.unit.cli.conftest import MODEL, Cli


def call(number: int, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": f"t{number}", "name": "read", "input": given}


def result(number: int, content: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": content, **more}


@pytest.fixture
def page(cli: Cli, tmp_path: Path) -> str:
    """Everything at once, as `show` prints it."""
    pixel = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    paper = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    thinking = {"type": "thinking", "thinking": "first\nsecond\nthird", "signature": "s" * 8}
    with cf.Session.open(tmp_path / "contextfold.db", thread="t", model=MODEL) as session:
        thread = session.thread
        session.append({"role": "user", "content": [{"type": "text", "text": "Look."}, pixel, paper]})
        session.append({"role": "assistant", "content": [thinking, call(1, path="a.py\nb.py", lines=[1, 2])]})
        answered = session.append({"role": "user", "content": [result(1, "one\ntwo\nthree\nfour")]})
        session.append({"role": "assistant", "content": [call(2)]})
        session.append({"role": "user", "content": [result(2, [pixel], is_error=True)]})
        session.append({"role": "assistant", "content": [call(3)]})
        session.prepare()  # goes on without the result of the last call
        session.append({"role": "assistant", "content": [call(4, text="x" * 300)]})
        thread.fold([(answered, 0)], "[an old result]", kind="clear")
    return cli("show").out


@pytest.mark.parametrize(
    "line",
    [
        "[image image/png 9 bytes]",
        "[document  https://example.org/a.pdf]",
        "thinking · 18 characters",
        "first",
        '→ read(path="a.py⏎b.py", lines=[1, 2])',
        "▸ ← read folded by ",
        "[an old result]",
        "← read error · 0 characters",
        "added for the model",
        "no result came",
        "a call waits for its result",
        "…",
    ],
)
def test_every_kind_of_block_has_its_line(page: str, line: str) -> None:
    assert line in page


def test_whole_texts_are_wrapped_and_not_cut(cli: Cli, page: str) -> None:
    whole = cli("show", "--full").out
    assert len(whole) > len(page)
    assert whole.count("x" * 80) >= 3


def test_a_fold_inside_a_fold_is_counted_once(cli: Cli, tmp_path: Path) -> None:
    with cf.open(tmp_path / "contextfold.db") as store:
        thread = store.thread("t", model=MODEL)
        said = [thread.append({"role": "user" if n % 2 == 0 else "assistant", "content": str(n)}) for n in range(6)]
        inner = thread.fold(said[:2], "the first two")
        thread.fold([inner, *said[2:4]], "the first four")
    outer, nested = sorted(cli("folds", "--json").json, key=lambda fold: -fold["id"])
    assert outer["messages"] == [1, 2, 3, 4]
    assert nested["messages"] == [1, 2]
    assert nested["showing"] is False
    assert "inside another fold" in cli("folds").out
    assert "hides 4 messages (1–4)" in cli("show").out


def test_messages_of_a_branch_that_was_left_are_not_behind_a_fold(cli: Cli, tmp_path: Path) -> None:
    with cf.open(tmp_path / "contextfold.db") as store:
        thread = store.thread("t", model=MODEL)
        first = thread.append({"role": "user", "content": "a"})
        left = thread.append({"role": "assistant", "content": "b"})
        thread.rewind(before=left)
        second = thread.append({"role": "assistant", "content": "c"})
        thread.fold([first, second], "both")
    assert cli("folds", "--json").json[0]["messages"] == [first, second]


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    assert call_arguments(ToolCall("1", "f", "[1]")) == "([1])"
    assert call_arguments(ToolCall("1", "f", "{broken")) == "({broken)"
    assert call_arguments(ToolCall("1", "f", '{"a": true}')) == "(a=True)"


def test_numbers_are_told_as_ranges() -> None:
    assert spans([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"
    assert spans(range(1, 40, 2)).endswith(", …")


def test_json_of_what_utf8_cannot_hold_is_still_json() -> None:
    out = io.StringIO()
    Paper(out, color=False).json({"text": "lone \ud800", "list": ["\udfff", 1], "none": None})
    assert json.loads(out.getvalue())["list"] == ["\\udfff", 1]
