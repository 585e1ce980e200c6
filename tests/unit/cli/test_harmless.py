"""Whatever others wrote reaches a terminal as visible signs, and nothing it would obey."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextfold as cf
from contextfold.cli.paper import clipped, columns, wrapped
from contextfold.domain import harmless
from tests.unit.cli.conftest import Cli

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred"
BIDI = "user\u202etxt.exe\u2066\u2069\u200f"
HOSTILE = (
    ESCAPE,
    BIDI,
    "line\rover",
    "\x9b31m C1",
    "bell\x07",
    "back\x08space",
    "zero\u200bwidth\ufeff",
    "tag\U000e0041",
    "sep\u2028\u2029",
)
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


def is_harmless(text: str) -> bool:
    return not OBEYED.search(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_line_is_spelled_out(text: str) -> None:
    assert is_harmless(harmless.line(text))
    assert all(is_harmless(each) for each in harmless.lines(text))


@given(st.text())
def test_no_text_gets_through_and_no_letter_is_dropped(text: str) -> None:
    shown = harmless.line(text)
    assert is_harmless(shown)
    assert [sign for sign in text if sign.isalnum()] == [sign for sign in text if sign in shown and sign.isalnum()]
    assert not any(unicodedata.category(sign) == "Cs" for sign in shown)


@given(st.text())
def test_json_made_harmless_means_the_same(text: str) -> None:
    written = json.dumps({"text": text}, ensure_ascii=False)
    spelled = harmless.json_text(written)
    assert json.loads(spelled) == json.loads(written)
    assert is_harmless(spelled)


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"])), st.integers(8, 60))
def test_wrapped_lines_fit_and_lose_nothing(text: str, most: int) -> None:
    rows = wrapped(text, most)
    assert all(columns(row) <= most for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())
    assert columns(clipped(text, most)) <= most


def test_japanese_takes_two_columns() -> None:
    assert columns("折りたたみ") == 10
    assert clipped("折りたたみ", 7) == "折りた…"


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("shape", ["threads", "show", "folds", "diff", "recall", "error", "json", "export"])
def test_hostile_names_and_contents_are_shown_harmless_everywhere(
    cli: Cli, tmp_path: Path, text: str, shape: str
) -> None:
    with cf.open(tmp_path / "contextfold.db") as store:
        thread = store.thread(text, model=f"model-{text}")
        first = thread.append({"role": "user", "content": text})
        call = {"type": "tool_use", "id": "t1", "name": text, "input": {text: text}}
        thread.append({"role": "assistant", "content": [{"type": "text", "text": text}, call]})
        thread.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text}]})
        fold = thread.fold([first], text)
    commands: dict[str, tuple[object, ...]] = {
        "threads": ("threads",),
        "show": ("show", "--full"),
        "folds": ("folds", "--full"),
        "diff": ("diff", first, fold),
        "recall": ("recall", "--fold", fold),
        "error": ("show", f"no {text}"),
        "json": ("show", "--json"),
        "export": ("stats",),
    }
    told = cli(*commands[shape])
    assert told.code == (3 if shape == "error" else 0)
    assert is_harmless(told.out.replace("\n", ""))
    assert is_harmless(told.err.replace("\n", ""))


@pytest.mark.parametrize("name", ["\x1b[31mred.jsonl", "new\nline.jsonl", "rtl\u202egnp.jsonl"])
def test_hostile_file_names_are_shown_harmless(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"role":"user","content":"hi"}\n{"role":"assistant","content":"yo"}\n')
    for arguments in (("import", name), ("count", name), ("import", "missing" + name), ("replay", name, "-j", 1)):
        told = cli(*arguments)
        assert is_harmless((told.out + told.err).replace("\n", ""))
        assert told.code in (0, 3)


@pytest.mark.finding("H10")
def test_a_character_that_turns_text_around_is_shown_in_one_way_everywhere() -> None:
    shown = {harmless.line("a\u202eb"), *harmless.lines("a\u202eb"), harmless.short_line("a\u202eb")}
    assert shown == {"a\\u202eb"}
    assert harmless.json_text("a\u202eb") == "a\\u202eb"
    assert harmless.short_line("a\nb\x0bc") == "a\\x0ab\\x0bc"
