"""Every sentence that attachments about files and to-dos put before a model, once for each language.

Templates only: what fills them is data and is never read as a template. A thread's attachments speak the language of
its stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from contextfold.domain import Language

# Why a file is not shown again.
Refusal: TypeAlias = Literal[
    "outside", "secret", "ignored", "forbidden", "no-file", "too-large", "gone", "unreadable", "key", "no-text"
]
Since: TypeAlias = Literal["same", "changed", "unsure"]


class FilePhrases(Struct, frozen=True):
    """One language's templates."""

    changed: str
    deleted: str
    modified: str
    files: str
    file: str
    more: str
    restored: str
    cut: str
    whole: str
    some_lines: str
    line_start: str
    lines_cut: str
    letters_cut: str
    all_lines: str
    lines: str
    lines_on: str
    to_dos: str
    actions: Mapping[str, str]  # in the list of files
    did: Mapping[str, str]  # in what is said of one file
    since: Mapping[Since, str]
    refusals: Mapping[Refusal, str]

    def lines_of(self, first: int | None, last: int | None) -> str:
        """The lines somebody looked at; without a last one, to the end."""
        if first is None and last is None:
            return self.all_lines
        return (self.lines if last is not None else self.lines_on).format(first=first or 1, last=last)


ENGLISH = FilePhrases(
    changed="[These files changed on disk since you last read or wrote them. Read them again before you rely on them.]",
    deleted="- {path} (deleted)",
    modified="- {path} (modified, {mark})",
    files="[Files you used in messages that are folded away, the last used first]",
    file="- {path}, {lines}, {action} in message {seq}, {about}",
    more="- and {many} more",
    restored="[File {path} as it is on disk now, {where}, {mark}; {since} since you {did} it in message {seq}]",
    cut="[Cut: {left_out}. Read the file for the rest.]",
    whole="whole",
    some_lines="lines {first}-{last} of {lines}",
    line_start="the beginning of line {line} of {lines}",
    lines_cut="lines {first}-{last} do not fit here",
    letters_cut="{many} characters of line {line} do not fit here",
    all_lines="all lines",
    lines="lines {first}-{last}",
    lines_on="lines {first}-end",
    to_dos="[Your open to-dos, from message {seq}]",
    actions={"read": "read", "write": "write"},
    did={"read": "read", "write": "wrote"},
    since={"same": "unchanged", "changed": "CHANGED", "unsure": "may have changed"},
    refusals={
        "outside": "outside the workspace",
        "secret": "secret by its name",
        "ignored": "ignored",
        "forbidden": "not allowed",
        "no-file": "not a file",
        "too-large": "larger than {detail} bytes",
        "gone": "not there any more",
        "unreadable": "cannot be read: {detail}",
        "key": "holds something shaped like a key",
        "no-text": "not text",
    },
)

JAPANESE = FilePhrases(
    changed=(
        "[あなたが最後に読み書きした後、次のファイルがディスク上で変わりました。内容に頼る前に読み直してください。]"
    ),
    deleted="- {path}（削除済み）",
    modified="- {path}（変更あり、{mark}）",
    files="[折りたたまれたメッセージで使ったファイル。最後に使ったものから順に示します]",
    file="- {path}、{lines}、メッセージ{seq}で{action}、{about}",
    more="- ほか{many}件",
    restored="[ファイル {path} の現在の内容（{where}、{mark}）。メッセージ{seq}で{did}後、{since}]",
    cut="[省略：{left_out}。残りはファイルを読んでください。]",
    whole="全体",
    some_lines="全{lines}行のうち{first}～{last}行目",
    line_start="全{lines}行のうち{line}行目の冒頭",
    lines_cut="{first}～{last}行目はここに収まりません",
    letters_cut="{line}行目の{many}文字はここに収まりません",
    all_lines="全行",
    lines="{first}～{last}行目",
    lines_on="{first}行目以降",
    to_dos="[メッセージ{seq}のリストのうち、未完了のもの]",
    actions={"read": "読み取り", "write": "書き込み"},
    did={"read": "読んだ", "write": "書いた"},
    since={"same": "変更なし", "changed": "変更あり", "unsure": "変更された可能性あり"},
    refusals={
        "outside": "ワークスペースの外",
        "secret": "名前から機密と判断",
        "ignored": "除外対象",
        "forbidden": "許可されていません",
        "no-file": "通常のファイルではありません",
        "too-large": "{detail}バイト超",
        "gone": "すでにありません",
        "unreadable": "読み取り不可：{detail}",
        "key": "鍵らしきものを含みます",
        "no-text": "テキストではありません",
    },
)

FILE_PHRASES: Mapping[Language, FilePhrases] = {"en": ENGLISH, "ja": JAPANESE}
