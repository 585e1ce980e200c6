"""The page of a report: what was checked, what it cost, what was kept, and how the context moved, session by session.

One file without scripts, fonts or pictures from outside; its own policy forbids them. Light and dark, for eyes and for
screen readers, in English and Japanese.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from contextfold.replay.tables import answer, baseline, money, percent, shares_of
from contextfold.replay.values import ReplayReport, Row, Total
from contextfold.replay.words import Lang, words

from .drawings import Bar, BarPiece, ContextCurve, Frame, bars, shares, timeline
from .sections import KEPT, Words, checks, failures, foldings_table, kept_table, label, rows_table, totals_table
from .style import STYLE, colour

MOST_SESSIONS = 12  # with a drawing of their own, the largest first
HEADROOM = 1.12  # of the window, or of the largest request

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_LOGO = (
    '<svg viewBox="0 0 52 52" aria-hidden="true"><rect x="2" y="2" width="48" height="48" rx="12" '
    'style="fill:var(--c0)"/><path d="M13 15h26M13 37h26" style="stroke:#fff;stroke-width:4;stroke-linecap:round"/>'
    '<path d="M13 26l6-4 7 4 7-4 6 4" style="fill:none;stroke:#fff;stroke-width:3.4;stroke-linecap:round;'
    'stroke-linejoin:round;opacity:.85"/></svg>'
)


def as_html(report: ReplayReport, lang: Lang = "en") -> str:
    """The whole page."""
    said = words(lang)
    body = "".join(
        (
            _header(report, said),
            f"<main>{'' if report.complete else _banner(said)}",
            f'<p class="answer">{escape(answer(report, lang))}</p>{checks(report, said)}',
            f'<h2>{said["all_policies"]}</h2><p class="soft">{escape(baseline(report, lang))}</p>',
            f'<div class="card"><p class="soft hint">{said["hint"]}</p>{totals_table(report, said)}</div>',
            _largest(report, said),
            _cost(report, said),
            _kept(report, said),
            _others(report, said),
            f"<details><summary>{said['rows_title']}</summary>{rows_table(report, said)}</details>",
            failures(report, said),
            f"</main>{_footer(report, said)}",
        )
    )
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{said['title']} · contextfold</title>\n<style>{STYLE}</style>\n</head>\n"
        f'<body><div class="sheet">{body}</div></body>\n</html>\n'
    )


def _header(report: ReplayReport, said: Words) -> str:
    models = list(dict.fromkeys(row.model for row in report.rows))
    named = ", ".join(models[:3]) + (" …" if len(models) > 3 else "")
    window = report.settings.window
    sessions = len({(row.file, row.number) for row in report.rows})
    facts = (
        (said["files"], f"{report.files:,}"),
        (said["sessions"], f"{sessions:,}"),
        (said["window"], said["own_window"] if window is None else f"{window:,}"),
        (said["model"], named or said["none"]),
    )
    items = "".join(f"<li>{name} <b>{escape(value)}</b></li>" for name, value in facts)
    return f'<header>{_LOGO}<div><h1>{said["title"]}</h1><ul class="meta">{items}</ul></div></header>'


def _banner(said: Words) -> str:
    return f'<p class="banner" role="status">{said["cut"]}</p>'


def _footer(report: ReplayReport, said: Words) -> str:
    made = said["made_by"].format(version=escape(report.contextfold))
    return f"<footer><p>{said['how']}</p><p>{made}</p></footer>"


def _cost(report: ReplayReport, said: Words) -> str:
    priced = [total for total in report.totals if total.cost is not None]
    if not priced:
        return ""
    kinds = ("read", "write", "summaries", "output")
    rows = [Bar(total.policy, _parts(total, kinds, said), _cost_note(total)) for total in priced]
    legend = "".join(
        f'<li><span class="dot" style="background:var(--k-{kind})"></span>{said[f"cost_{kind}"]}</li>' for kind in kinds
    )
    return (
        f'<h2>{said["cost_title"]}</h2><p class="soft">{said["cost_note"]}</p>'
        f'<div class="card">{bars(said["cost_title"], rows)}<ul class="legend">{legend}</ul></div>'
    )


def _parts(total: Total, kinds: Iterable[str], said: Words) -> list[BarPiece]:
    return [
        BarPiece(value, f"var(--k-{kind})", f"{said[f'cost_{kind}']}: ${value:,.2f}")
        for kind in kinds
        if (value := getattr(total.cost, kind))
    ]


def _cost_note(total: Total) -> str:
    share = "" if total.against_full is None or total.kind == "full" else f" · {percent(total.against_full)}"
    return money(total.cost) + share


def _kept(report: ReplayReport, said: Words) -> str:
    shown = [(number, total) for number, total in enumerate(report.totals) if total.kind != "full"]
    if not any(share.of for _, total in shown for share in shares_of(total)):
        return ""
    panels = []
    for place, name in enumerate(KEPT):
        rows = [(total.policy, shares_of(total)[place].value, colour(number, total.kind)) for number, total in shown]
        panels.append(f"<figure><figcaption>{said[name]}</figcaption>{shares(said[name], rows)}</figure>")
    return (
        f'<h2>{said["kept_title"]}</h2><p class="soft">{said["kept_note"]}</p>'
        f'<div class="card"><div class="panels four">{"".join(panels)}</div>'
        f"<details><summary>{said['in_numbers']}</summary>{kept_table(report, said)}</details></div>"
    )


def _largest(report: ReplayReport, said: Words) -> str:
    """The session with the most to fold comes first: it tells most at a glance."""
    cards = _cards(report, said, 0, 1)
    return f'<h2>{said["context_title"]}</h2><p class="soft">{said["context_note"]}</p>{cards}' if cards else ""


def _others(report: ReplayReport, said: Words) -> str:
    """Further sessions, as many as a page can bear."""
    cards = _cards(report, said, 1, MOST_SESSIONS)
    more = len(_by_session(report)) - MOST_SESSIONS
    note = f'<p class="soft">{said["rows_more"].format(count=f"{more:,}")}</p>' if more > 0 else ""
    return f"<h2>{said['others_title']}</h2>{cards}{note}" if cards else ""


def _cards(report: ReplayReport, said: Words, start: int, stop: int) -> str:
    colours = {total.policy: colour(number, total.kind) for number, total in enumerate(report.totals)}
    largest = sorted(_by_session(report), key=lambda rows: -max(row.peak for row in rows))
    return "".join(_session(rows, colours, said) for rows in largest[start:stop])


def _by_session(report: ReplayReport) -> list[list[Row]]:
    return [list(rows) for _, rows in groupby(report.rows, key=lambda row: (row.file, row.number))]


def _session(rows: Sequence[Row], colours: dict[str, str], said: Words) -> str:
    whole = next((_points(row) for row in rows if row.kind == "full"), [])
    drawn = [row for row in rows if row.kind != "full" and row.context]
    if not drawn:
        return ""
    top = HEADROOM * max(drawn[0].window, *(row.peak for row in drawn if row.kind == "policy"), 1)
    frame = Frame(drawn[0].turns, drawn[0].window, top, said["turn_axis"])
    panels = "".join(_panel(row, whole, colours[row.policy], frame, said) for row in drawn)
    folds = foldings_table(drawn, said)
    more = f"<details><summary>{said['foldings']}</summary>{folds}</details>" if folds else ""
    name = drawn[0].file if drawn[0].number == 0 else f"{drawn[0].file} · {drawn[0].session} #{drawn[0].number + 1}"
    facts = f"{drawn[0].format} · {drawn[0].turns:,} {said['turns']} · {drawn[0].model}"
    return (
        f'<section class="card"><h3>{escape(name)}</h3><p class="soft">{escape(facts)}</p>'
        f'<div class="panels">{panels}</div>{more}</section>'
    )


def _panel(row: Row, whole: Sequence[tuple[int, int]], shade: str, frame: Frame, said: Words) -> str:
    marks = [(folding.turn, folding.before, folding.after) for folding in row.foldings]
    facts = f"{said['folds']} {row.folds:,} · {said['peak']} {row.peak:,} · {money(row.cost)}"
    dot = f'<span class="dot" style="background:{shade}"></span>'
    drawing = timeline(f"{label(row, said)}: {facts}", ContextCurve(_points(row), marks, shade), whole, frame)
    return (
        f'<figure><figcaption>{dot}{escape(row.policy)} <span class="soft">{escape(facts)}</span></figcaption>'
        f"{drawing}</figure>"
    )


def _points(row: Row) -> list[tuple[int, int]]:
    return list(zip(row.places, row.context, strict=True))
