"""A report as tables: CSV for programs that count, Markdown for people who read.

A cell never becomes a formula, a link or a row of its own, whatever a file is called.
"""

from __future__ import annotations

import csv
import io
import re

from contextfold.domain.harmless import short_line as harmless

from .values import Cost, ReplayReport, Retained, Row, Share, Total
from .words import Lang, words

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
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!])")

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
        cells = [_cell(getattr(row, name)) for name in (*names, *_COUNTS)]
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


def _cell(value: object) -> object:
    """A spreadsheet takes a leading sign for a formula."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return value
