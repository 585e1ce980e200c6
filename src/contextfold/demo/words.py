"""What the demo says, in English and Japanese. Only words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

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
