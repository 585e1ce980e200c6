"""A report as tables: CSV for programs that count, Markdown for people who read; and its words, English and Japanese.

A cell never becomes a formula, a link or a row of its own, whatever a file is called. Numbers and layout of the page
live elsewhere.
"""

from __future__ import annotations

import csv
import io
from typing import Literal, TypeAlias

from contextfold.deferred import expression
from contextfold.domain.harmless import short_line as harmless
from contextfold.errors import BadConfiguration

from .values import Cost, ReplayReport, Retained, Row, Share, Total

Lang: TypeAlias = Literal["en", "ja"]

# English, Japanese.
_WORDS: dict[str, tuple[str, str]] = {
    "title": ("Replay report", "リプレイ結果"),
    "subtitle": (
        "What each policy would have sent, what it would have cost, and what it kept in view.",
        "各ポリシーが何を送り、いくらかかり、何を視界に残したか。",
    ),
    "answer": (
        "With {policy} you would have paid {cost}: {share} of the {full} that a full history costs.",
        "{policy} なら支払いは {cost}、全履歴の費用 {full} の {share} です。",
    ),
    "answer_tokens": (
        "With {policy} you would have sent {tokens} input tokens: {share} of the {full} of a full history. The model's "
        "prices are not known.",
        "{policy} なら送信は {tokens} 入力トークン、全履歴の {full} の {share} です。モデルの価格は不明です。",
    ),
    "answer_kept": (
        " {kept} of the names used later stayed in view.",
        "後で使われた名前の {kept} が視界に残りました。",
    ),
    "answer_paid": (
        " The logs themselves were billed {paid} ({bills} of {requests} answers say so).",
        " ログ自身の請求額は {paid} です（{requests} 件中 {bills} 件の回答に記載）。",
    ),
    "baseline": (
        "Baseline: full, the whole history in every request until it no longer fits; then a model summarizes all but "
        "the live request. Compared are the same {compared} of {sessions} sessions. Every request of every row holds "
        "what the client sent and its log does not show: {unseen} tokens (median) of system prompt and tools, by the "
        "first bill. Summaries that a recipe leaves to a model are priced as its calls.",
        "基準は full：収まる限り全履歴を毎回送り、収まらなくなれば進行中の依頼以外をモデルが要約します。"
        "比較は同じセッション（{sessions} 件中 {compared} 件）だけです。どの行のリクエストにも、ログに現れない"
        "システムプロンプトとツール（最初の請求から求めた中央値 {unseen} トークン）を加えています。"
        "モデルに任せる要約はその呼び出しの料金を数えます。",
    ),
    "cut": (
        "This replay was cut short; what is shown is whole.",
        "途中で中断されました。ここにある結果は確定したものです。",
    ),
    "policy": ("Policy", "ポリシー"),
    "full": ("full (summarized at the window)", "full（全履歴、満杯で要約）"),
    "recorded": ("recorded (the product's own)", "recorded（製品自身の圧縮）"),
    "sessions": ("Sessions", "セッション"),
    "session": ("Session", "セッション"),
    "file": ("File", "ファイル"),
    "files": ("Files", "ファイル"),
    "requests": ("Requests", "リクエスト"),
    "invalid": ("Invalid", "不正"),
    "unfit": ("Too large", "超過"),
    "refused": ("Refused", "送信中止"),
    "lost": ("Lost", "消失"),
    "folds": ("Folds", "折りたたみ"),
    "offloads": ("Offloads", "退避"),
    "tokens": ("Input tokens", "入力トークン"),
    "peak": ("Largest request", "最大リクエスト"),
    "read": ("From cache", "キャッシュ読み"),
    "written": ("Not from cache", "キャッシュ外"),
    "output": ("Output", "出力"),
    "breaks": ("Prefix changes", "接頭部の変更"),
    "cost": ("Cost", "費用"),
    "against_full": ("Of full’s cost", "全履歴の費用比"),
    "calls": ("Model calls", "要約の呼び出し"),
    "paid": ("Billed by the logs", "ログの請求額"),
    "strict": ("Names kept", "名前の保持"),
    "grounded": ("Names kept in context", "文脈ごとの保持"),
    "imperatives": ("Orders kept", "指示の保持"),
    "recallable": ("Recallable", "取り戻せる"),
    "cpu": ("CPU", "CPU"),
    "model": ("Model", "モデル"),
    "window": ("Window", "ウィンドウ"),
    "own_window": ("the model's own", "モデルの値"),
    "turns": ("Messages", "メッセージ"),
    "checks": ("Checks", "検査"),
    "check_lost": ("Nothing lost", "消失なし"),
    "check_valid": ("Every request valid", "全リクエストが正当"),
    "check_fits": ("Every request fits", "全リクエストが収まる"),
    "of_requests": ("{count} requests by {policies} policies", "{policies}ポリシーの{count}リクエスト"),
    "all_policies": ("All policies", "全ポリシー"),
    "hint": ("More columns: swipe to the left →", "続きの列は左へスワイプ →"),
    "cost_title": ("Cost", "費用"),
    "cost_note": (
        "US dollars at the model's prices. Cache reads follow the longest prefix shared with the request before, "
        "within the cache's lifetime.",
        "モデルの価格による米ドル。直前のリクエストと共通の接頭部を、キャッシュの寿命内で読み取りとして数えます。",
    ),
    "kept_title": ("What stayed in view", "視界に残ったもの"),
    "kept_note": (
        "Of the names the agent used after a fold, before anybody showed them again, and of the user's own orders. "
        "Everything folded can be recalled.",
        "折りたたみの後、再び示される前にエージェントが使った名前と、利用者自身の指示について。折りたたんだものはすべて取り戻せます。",
    ),
    "context_title": ("Context over the session", "セッション中のコンテキスト"),
    "others_title": ("Further sessions", "ほかのセッション"),
    "context_note": (
        "Tokens of each request. A triangle marks where something was folded, and how far down it went; dashed: the "
        "window; dotted: full, the baseline.",
        "各リクエストのトークン数。三角は折りたたみとその下げ幅、破線はウィンドウ、点線は基準の full。",
    ),
    "turn_axis": ("messages", "メッセージ"),
    "in_numbers": ("In numbers", "数値で見る"),
    "foldings": ("Every fold and its reason", "すべての折りたたみと理由"),
    "at": ("At message", "位置"),
    "kinds": ("Made", "種類"),
    "before_after": ("Tokens", "トークン"),
    "reason": ("Reason", "理由"),
    "rows_title": ("Every session", "全セッション"),
    "rows_more": ("{count} more sessions are in the JSON.", "ほか{count}セッションは JSON にあります。"),
    "failures": ("What could not be replayed", "再生できなかったもの"),
    "cost_read": ("cache read", "キャッシュ読み"),
    "cost_write": ("cache write or fresh", "キャッシュ書き・新規"),
    "cost_summaries": ("summaries", "要約"),
    "cost_output": ("answers", "回答"),
    "none": ("–", "–"),
    "made_by": ("Made by contextfold {version}.", "contextfold {version} が作成。"),
    "how": (
        "How to read this: a replay shows what a policy sends, not what an agent would have done with it. Presence of "
        "a name is not understanding.",
        "読み方：リプレイはポリシーが何を送るかを示すもので、エージェントの振る舞いの変化は示しません。名前があることは理解を意味しません。",
    ),
}


def words(lang: Lang) -> dict[str, str]:
    """Every word of a report in one language."""
    if lang not in ("en", "ja"):
        raise BadConfiguration(f"There are no words in {lang!r}. Use en or ja.")
    return {key: pair[lang == "ja"] for key, pair in _WORDS.items()}


_COUNTS = (
    "requests",
    "invalid",
    "unfit",
    "refused",
    "lost",
    "folds",
    "offloads",
    "tokens",
    "peak",
    "read",
    "written",
    "output",
    "breaks",
    "calls",
    "unseen",
)
_SHARES = ("strict", "grounded", "imperatives", "recallable")
_COSTS = ("read", "write", "summaries", "output", "total")
_FORMULA = ("=", "+", "-", "@")
_MARKS = expression(r"([\\`*_{}\[\]<>#|~!])")

MARKDOWN = ("sessions", "requests", "invalid", "unfit", "refused", "lost", "folds", "offloads", "tokens", "peak")


def as_csv(report: ReplayReport) -> str:
    """A line for each session and policy."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ("file", "session", "number", "format", "policy", "kind", "model", "window", "turns")
    shares = [f"{name}_{part}" for name in _SHARES for part in ("kept", "of")]
    writer.writerow(
        (*names, *_COUNTS, *(f"cost_{name}" for name in _COSTS), *shares, "bills", "billed", "paid", "defects", "cpu")
    )
    for row in report.rows:
        # A spreadsheet takes a leading sign for a formula.
        values = [getattr(row, name) for name in (*names, *_COUNTS)]
        cells = [f"'{each}" if isinstance(each, str) and each.startswith(_FORMULA) else each for each in values]
        costs = ["" if row.cost is None else f"{getattr(row.cost, name):.6f}" for name in _COSTS]
        kept = [number for share in shares_of(row) for number in (share.kept, share.of)]
        paid = "" if row.paid is None else f"{row.paid.total:.6f}"
        writer.writerow((*cells, *costs, *kept, row.bills, row.billed, paid, row.defects, f"{row.cpu:.3f}"))
    return out.getvalue()


def as_markdown(report: ReplayReport, lang: Lang = "en") -> str:
    """The totals by policy, and what failed."""
    said = words(lang)
    head = [said["policy"], *(said[name] for name in MARKDOWN), said["calls"], said["cost"], said["against_full"]]
    head += [said[name] for name in _SHARES]
    lines = [f"# {said['title']}", "", answer(report, lang), "", baseline(report, lang), ""]
    if not report.complete:
        lines += [f"**{said['cut']}**", ""]
    lines += [_line(head), _line(["---", *("--:" for _ in head[1:])])]
    lines += [_line([escaped(total.policy), *cells(total)]) for total in report.totals]
    if report.failures:
        lines += ["", f"## {said['failures']}", ""]
        lines += [f"- {escaped(each.file)}: {escaped(each.reason)}" for each in report.failures]
    return "\n".join(lines) + "\n"


def answer(report: ReplayReport, lang: Lang = "en") -> str:
    """What one would have paid, in one or two sentences; empty where nothing was replayed."""
    said = words(lang)
    ours = next((total for total in report.totals if total.kind == "policy"), None)
    whole = next((total for total in report.totals if total.kind == "full"), None)
    if ours is None or whole is None:
        return said["subtitle"]
    stayed = ours.retained.strict.value
    kept = "" if stayed is None else said["answer_kept"].format(kept=percent(stayed))
    if ours.cost is None or whole.cost is None:
        share = percent(ours.tokens / whole.tokens if whole.tokens else None)
        facts = {"tokens": f"{ours.tokens:,}", "full": f"{whole.tokens:,}", "share": share}
        return said["answer_tokens"].format(policy=ours.policy, **facts) + kept
    facts = {"cost": money(ours.cost), "full": money(whole.cost), "share": percent(ours.against_full)}
    told = said["answer"].format(policy=ours.policy, **facts) + kept
    if ours.paid is None:
        return told
    bills = {"bills": f"{ours.bills:,}", "requests": f"{ours.requests:,}"}
    return told + said["answer_paid"].format(paid=money(ours.paid), **bills)


def baseline(report: ReplayReport, lang: Lang = "en") -> str:
    """What is compared with what."""
    sizes = {"compared": report.compared, "sessions": report.sessions, "unseen": report.unseen}
    return words(lang)["baseline"].format(**{name: f"{size:,}" for name, size in sizes.items()})


def cells(total: Total) -> list[str]:
    """The numbers of a total as they are shown everywhere."""
    numbers = [f"{getattr(total, name):,}" for name in MARKDOWN]
    return [
        *numbers,
        f"{total.calls:,}",
        money(total.cost),
        percent(total.against_full),
        *(percent(each.value) for each in shares_of(total)),
    ]


def shares_of(given: Row | Total) -> tuple[Share, Share, Share, Share]:
    """The four shares of a row, in the order they are always told."""
    kept: Retained = given.retained
    return kept.strict, kept.grounded, kept.imperatives, given.recallable


def money(cost: Cost | None) -> str:
    """Dollars, with cents where they matter."""
    if cost is None:
        return "–"
    return f"${cost.total:,.2f}" if cost.total >= 0.095 else f"${cost.total:,.4f}"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def escaped(text: str) -> str:
    """Foreign words in Markdown: seen, and nothing else."""
    return _MARKS.sub(r"\\\1", harmless(text, 1_000))


def _line(given: list[str]) -> str:
    return f"| {' | '.join(given)} |"
