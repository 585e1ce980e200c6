"""What attachments say is the same in both languages, and a Japanese thread is told in Japanese."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec import structs

import contextfold as cf
from contextfold.domain import Attacher, Attachment, Turn
from contextfold.workspace import Files, Restore, ToDos
from contextfold.workspace.files import excerpt
from contextfold.workspace.phrases import ENGLISH, FILE_PHRASES, JAPANESE, FilePhrases

CALL = '{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}'
RESULT = '{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}'


def templates(words: FilePhrases) -> Iterator[tuple[str, str]]:
    for field in structs.fields(words):
        value = getattr(words, field.name)
        if isinstance(value, Mapping):
            yield from ((f"{field.name}.{key}", template) for key, template in value.items())
        else:
            yield field.name, value


def blanks(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_languages_say_everything_with_the_same_values() -> None:
    english, japanese = dict(templates(ENGLISH)), dict(templates(JAPANESE))
    assert english.keys() == japanese.keys()
    assert {name: blanks(each) for name, each in english.items()} == {
        name: blanks(each) for name, each in japanese.items()
    }
    assert set(FILE_PHRASES) == {"en", "ja"}


@pytest.mark.parametrize(
    ("first", "last", "english", "japanese"),
    [
        (None, None, "all lines", "全行"),
        (2, 3, "lines 2-3", "2～3行目"),
        (None, 3, "lines 1-3", "1～3行目"),
        (5, None, "lines 5-end", "5行目以降"),
    ],
)
def test_lines_are_named_as_one_says_them(first: int | None, last: int | None, english: str, japanese: str) -> None:
    assert (ENGLISH.lines_of(first, last), JAPANESE.lines_of(first, last)) == (english, japanese)


def test_a_cut_is_told_in_the_language_of_the_thread() -> None:
    ten = "".join(f"line {number}\n" for number in range(1, 11))
    some = excerpt(ten, 2, 9, len, 21, JAPANESE)
    assert (some.where, some.left_out) == ("全10行のうち2～4行目", "5～9行目はここに収まりません")
    one = excerpt("x" * 50, None, None, len, 20, JAPANESE)
    assert (one.where, one.left_out) == ("全1行のうち1行目の冒頭", "1行目の30文字はここに収まりません")


def in_japanese(attacher: Attacher) -> Attacher:
    """The same attacher, asked in a Japanese thread."""
    return lambda turn: attacher(structs.replace(turn, language="ja"))


def used(session: cf.Session, id: str, tool: str, input: str) -> None:
    session.append(CALL.format(id=id, tool=tool, input=input).encode())
    session.append(RESULT.format(id=id).encode())


def folded(session: cf.Session) -> dict[tuple[str, str], str]:
    """Everything but the last message folded away, and what is attached then."""
    session.append({"role": "assistant", "content": "読みました。"})
    session.append({"role": "user", "content": "続けてください。"})
    session.thread.fold([item.seq for item in session.view][:-1], "要約")
    return {(each.kind, each.key): each.text for each in session.prepare().attached}


def test_files_and_to_dos_come_back_in_japanese(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("値 = 1\n")
    files = Files(tmp_path, restore=Restore(files=1))
    with cf.Session.open(model="claude-sonnet-5-5", attachers=[in_japanese(files), in_japanese(ToDos())]) as session:
        session.append({"role": "user", "content": "端数の計算を直してください。"})
        used(session, "c1", "read_file", '{"path":"gone.py"}')
        used(session, "c2", "write_file", '{"path":"a.py","content":"値 = 1\\n"}')
        used(session, "c3", "TodoWrite", '{"todos":[{"content":"テストを書く","status":"pending"}]}')
        told = folded(session)
    first, newest, oldest = told["files", "files"].splitlines()
    assert first == "[折りたたまれたメッセージで使ったファイル。最後に使ったものから順に示します]"
    assert newest.startswith("- a.py、全行、メッセージ5で書き込み、sha256 ")
    assert oldest == "- gone.py、全行、メッセージ3で読み取り、すでにありません"
    head, *_ = told["file", "a.py"].splitlines()
    assert head.startswith("[ファイル a.py の現在の内容（全体、sha256 ")
    assert head.endswith("。メッセージ5で書いた後、変更なし]")
    assert told["to-dos", "to-dos"] == "[メッセージ6のリストのうち、未完了のもの]\n- [ ] テストを書く"


def test_changes_by_others_are_told_once_in_japanese(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("値 = 1\n")
    with cf.Session.open(model="claude-sonnet-5-5", attachers=[in_japanese(Files(tmp_path))]) as session:
        session.append({"role": "user", "content": "読んでください。"})
        used(session, "c1", "read_file", '{"path":"a.py"}')
        used(session, "c2", "read_file", '{"path":"b.py"}')
        session.prepare()
        (tmp_path / "a.py").write_text("値 = 22\n")
        (tmp_path / "b.py").unlink()
        session.append({"role": "assistant", "content": "はい。"})
        session.append({"role": "user", "content": "次は？"})
        (told,) = session.prepare().attached
        session.append({"role": "assistant", "content": "確認します。"})
        session.append({"role": "user", "content": "どうでしたか？"})
        assert session.prepare().attached == ()
    head, first, second = told.text.splitlines()
    assert head == JAPANESE.changed
    assert first == "- b.py（削除済み）"
    assert second.startswith("- a.py（変更あり、sha256 ")


def test_a_thread_speaks_english_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    asked: list[Turn] = []

    def listening(turn: Turn) -> list[Attachment]:
        asked.append(turn)
        return []

    with cf.Session.open(model="claude-sonnet-5-5", workspace=tmp_path, attachers=[listening]) as session:
        session.append({"role": "user", "content": "Read the file."})
        session.prepare()
    assert [turn.language for turn in asked] == ["en"]
