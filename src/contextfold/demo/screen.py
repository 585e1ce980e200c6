"""What the demo says, in English and Japanese, and where: a bar that moves on a terminal, plain lines anywhere else.

It is readable without colour.
"""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Mapping
from typing import Literal, TextIO, TypeAlias

Language: TypeAlias = Literal["en", "ja"]

_LOCALES = ("CONTEXTFOLD_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")

_WORDS: dict[str, tuple[str, str]] = {
    "opening": (
        "A coding agent at work on a web shop: {messages:,} messages, {tokens:,} tokens.\n"
        "The model's window is {window:,}, answer included. No key, no network: everything happens here.",
        "ウェブショップを開発するエージェントの記録：{messages:,}メッセージ、{tokens:,}トークン。\n"
        "モデルのウィンドウは回答込みで{window:,}トークン。鍵もネットワークも使いません。",
    ),
    "running": (
        "Message by message through the window, kept in a store",
        "1件ずつウィンドウに通し、ストアに保存します",
    ),
    "bar": (
        "{turn:,}/{turns:,} messages  request {tokens:,}  folds {folds}",
        "{turn:,}/{turns:,}件  リクエスト{tokens:,}  折りたたみ{folds}回",
    ),
    "folded": (
        "message {turn:>4,}: {before:,} → {after:,} tokens ({kinds})",
        "メッセージ{turn:>4,}: {before:,} → {after:,}トークン（{kinds}）",
    ),
    "why": ("because {reason}", "理由 {reason}"),
    "comparing": (
        "The same session through three other policies, summarized when full, and whole",
        "同じ記録を、ほかの3ポリシー、満杯で要約する方法、全履歴でも",
    ),
    "money": ("Tokens and money, at the prices of {model}", "トークンと費用（{model} の価格）"),
    "without": ("whole history", "全履歴"),
    "summarized": ("full, summarized", "満杯で要約"),
    "with": ("contextfold", "contextfold"),
    "calls": ("calls for summaries", "要約の呼び出し"),
    "largest": ("largest request", "最大のリクエスト"),
    "sent": ("input tokens sent", "送った入力トークン"),
    "cached": ("… of them from the cache", "うちキャッシュから"),
    "cost": ("cost, answers included", "費用（回答込み）"),
    "fits": ("requests that fit", "収まるリクエスト"),
    "kept": ("What was kept", "残ったもの"),
    "kept.names": (
        "{share} of the names the agent used later were still in view ({kept:,} of {of:,})",
        "エージェントが後で使った名前の{share}が視界に残っていました（{of:,}件中{kept:,}件）",
    ),
    "kept.orders": (
        "{share} of what the user had asked for was still in view, word for word or nearly so",
        "利用者の指示の{share}が、ほぼそのままの言葉で視界に残っていました",
    ),
    "kept.recall": (
        "{kept:,} of {of:,} messages out of view were recalled byte for byte, by the handles their stand-ins show",
        "視界の外の{of:,}件中{kept:,}件を、代替文が示す手がかりで1バイトも違わず呼び戻しました",
    ),
    "checks": ("Checks", "検査"),
    "check.lost": (
        "nothing lost: {kept:,} of {of:,} messages read back byte for byte, and the hash chain verifies;\n"
        "a second writer was killed in mid-write: all {acknowledged:,} messages it had acknowledged are there",
        "消失なし：{of:,}件中{kept:,}件を1バイトも違わず読み戻し、ハッシュ連鎖も検証済み。\n"
        "別の書き手を書き込み中に強制終了しても、確認済みの{acknowledged:,}件がすべて残っています",
    ),
    "check.valid": (
        "every request valid: {good:,} of {of:,} pass the provider's rules, by all four policies",
        "全リクエストが正当：4ポリシーの{of:,}件中{good:,}件がプロバイダーの規則を満たします",
    ),
    "check.fits": (
        "every request fits: the largest of {of:,} has {peak:,} tokens; {reserve:,} of {window:,} stay free to answer",
        "全リクエストが収まる：{of:,}件のうち最大は{peak:,}トークン、{window:,}のうち{reserve:,}を回答用に確保",
    ),
    "ok": ("ok", "合格"),
    "failed": ("FAILED", "不合格"),
    "look": ("Look at it", "見てみる"),
    "look.report": ("the report, in a browser:", "レポート（ブラウザーで）:"),
    "look.store": ("the store:", "ストア:"),
    "look.again": ("the session again, your way:", "同じ記録を別の設定で:"),
    "took": ("{seconds:.0f} seconds.", "{seconds:.0f}秒。"),
}


def chosen(wish: str, environ: Mapping[str, str]) -> Language:
    """The language asked for, else the terminal's, else English."""
    told = wish or next((environ[name] for name in _LOCALES if environ.get(name)), "")
    return "ja" if told.lower().startswith("ja") else "en"


def say(key: str, language: Language, **values: object) -> str:
    """The words for this, with values put in."""
    return _WORDS[key][language == "ja"].format(**values)


CELLS = 28
STEPS = 10  # lines in all, where there is no terminal


class Screen:
    """One stream, and whether something is being counted on its last line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._is_open = False
        self._step = -1
        self._full, self._empty = "█", "░"
        try:
            "█░".encode(stream.encoding or "ascii")
        except (UnicodeEncodeError, LookupError):  # it cannot show them
            self._full, self._empty = "#", "."

    def line(self, text: str = "") -> None:
        """A line for good; a bar in progress goes on below it."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def title(self, text: str) -> None:
        self.line()
        self.line(text)
        self.line("-" * width(text))
        self._step = -1

    def bar(self, done: int, of: int, note: str) -> None:
        """How far something is."""
        if self._is_terminal:
            filled = CELLS * done // max(1, of)
            text = f"  {self._full * filled}{self._empty * (CELLS - filled)}  {note}"
            self._clear()
            self._stream.write(shortened(text, shutil.get_terminal_size().columns - 1))
            self._stream.flush()
            self._is_open = True
        elif STEPS * done // max(1, of) != self._step:
            self._step = STEPS * done // max(1, of)
            print(f"  {100 * done // max(1, of):3} %  {note}", file=self._stream, flush=True)

    def end(self) -> None:
        """The bar is done with."""
        self._clear()

    def _clear(self) -> None:
        if self._is_open:
            self._stream.write("\r\x1b[2K")
            self._is_open = False


def width(text: str) -> int:
    """Columns a text takes: Japanese letters take two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def padded(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def shortened(text: str, columns: int) -> str:
    """As much of a text as fits on a line."""
    while width(text) > columns:
        text = text[:-1]
    return text
