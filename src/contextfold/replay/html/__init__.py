"""A report as one HTML page that needs nothing else: no script, no font, no picture from outside.

It tells what was checked, what it cost, what was kept, and how the context moved, session by session. Its own policy
forbids whatever comes from elsewhere. Light and dark, for eyes and for screen readers, in English and Japanese. Numbers
are those of the JSON, each cell marked with its field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from contextfold.replay.tables import Lang, answer, baseline, money, percent, shares_of, words
from contextfold.replay.values import ReplayReport, Row, Total

from .looks import STYLE, Bar, BarPiece, ContextCurve, Frame, bars, colour, shares, timeline

__all__ = ["as_html"]


Words = dict[str, str]

FIELDS = ("requests", "invalid", "unfit", "refused", "lost", "folds", "calls", "tokens", "peak")
BESIDE = ("strict", "imperatives")  # of what was kept, beside what it cost
KEPT = ("strict", "grounded", "imperatives", "recallable")
_MUST_BE_NONE = ("invalid", "unfit", "lost")
MOST_ROWS = 600


def label(total: Total | Row, said: Words) -> str:
    """What a row is called."""
    return said[total.kind] if total.kind != "policy" else total.policy


def checks(report: ReplayReport, said: Words) -> str:
    """Three claims over all policies of ours, each with the number it rests on."""
    ours = [total for total in report.totals if total.kind == "policy"]
    count = f"{sum(total.requests for total in ours):,}"
    note = said["of_requests"].format(count=count, policies=len(ours))
    claims = (("check_lost", "lost"), ("check_valid", "invalid"), ("check_fits", "unfit"))
    items = []
    for claim, field in claims:
        wrong = sum(getattr(total, field) for total in ours)
        mark, kind = ("✓", "good") if not wrong else ("✗", "bad")
        shown = f"{said[field]}: {wrong:,} · {note}"
        items.append(
            f'<li class="{kind}"><b><span aria-hidden="true">{mark}</span> {said[claim]}</b>'
            f"<span>{escape(shown)}</span></li>"
        )
    return f'<ul class="checks" aria-label="{said["checks"]}">{"".join(items)}</ul>'


def totals_table(report: ReplayReport, said: Words) -> str:
    """Every policy with its numbers."""
    names = [said["cost"], said["against_full"], *(said[name] for name in BESIDE), *(said[name] for name in FIELDS)]
    head = f'<th scope="col" class="text">{said["policy"]}</th>' + "".join(
        f'<th scope="col">{name}</th>' for name in names
    )
    rows = []
    for number, total in enumerate(report.totals):
        cells = [_cell("cost", money(total.cost), "" if total.cost is None else total.cost.total)]
        cells.append(_cell("against_full", percent(total.against_full), _exact(total.against_full)))
        kept = dict(zip(KEPT, shares_of(total), strict=True))
        cells += [_cell(f"beside_{name}", percent(kept[name].value), _exact(kept[name].value)) for name in BESIDE]
        for field in FIELDS:
            value = getattr(total, field)
            is_judged = field in _MUST_BE_NONE and total.kind == "policy"
            cells.append(_cell(field, f"{value:,}", value, ("bad" if value else "zero") if is_judged else ""))
        rows.append(_row(total, number, said, cells))
    if report.totals and (paid := report.totals[0].paid) is not None:
        # What the logs of the same sessions were billed, under the column of money.
        rest = f'<td colspan="{1 + len(BESIDE) + len(FIELDS)}"></td>'
        rows.append(f'<tr class="other"><th scope="row">{said["paid"]}</th><td>{money(paid)}</td>{rest}</tr>')
    return table(said["all_policies"], head, rows)


def kept_table(report: ReplayReport, said: Words) -> str:
    """What stayed in view, as shares and as counts."""
    head = f'<th scope="col" class="text">{said["policy"]}</th>'
    head += "".join(f'<th scope="col">{said[name]}</th>' for name in KEPT)
    rows = []
    for number, total in enumerate(report.totals):
        if total.kind == "full":
            continue
        cells = [
            _cell(name, f"{share.kept:,} / {share.of:,}", _exact(share.value))
            for name, share in zip(KEPT, shares_of(total), strict=True)
        ]
        rows.append(_row(total, number, said, cells))
    return table(said["kept_title"], head, rows)


def rows_table(report: ReplayReport, said: Words) -> str:
    """Every session with every policy."""
    texts = ("file", "session", "policy")
    head = "".join(f'<th scope="col" class="text">{said[name]}</th>' for name in texts)
    head += "".join(f'<th scope="col">{said[field]}</th>' for field in (*FIELDS, "cost", "grounded"))
    rows = []
    for row in report.rows[:MOST_ROWS]:
        names = (row.file, row.session, label(row, said))
        cells = [f'<td class="text">{escape(name)}</td>' for name in names]
        cells += [f"<td>{getattr(row, field):,}</td>" for field in FIELDS]
        cells += [f"<td>{money(row.cost)}</td>", f"<td>{percent(row.retained.grounded.value)}</td>"]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    left = len({(row.file, row.number) for row in report.rows[MOST_ROWS:]})
    more = f'<p class="soft">{said["rows_more"].format(count=f"{left:,}")}</p>' if left else ""
    return table(said["rows_title"], head, rows) + more


def foldings_table(rows: Sequence[Row], said: Words) -> str:
    """Each fold of one session, by policy, with its reason."""
    names = ("policy", "at", "kinds", "before_after", "grounded", "reason")
    classes = {"policy": "text", "kinds": "text", "reason": "text"}
    head = "".join(f'<th scope="col" class="{classes.get(name, "")}">{said[name]}</th>' for name in names)
    lines = []
    for row in rows:
        for folding in row.foldings:
            kinds = ", ".join(f"{count} {kind}" for kind, count in folding.kinds.items())
            kept = folding.retained.grounded.value if folding.retained is not None else None
            lines.append(
                f'<tr><th scope="row">{escape(label(row, said))}</th><td>{folding.turn:,}</td>'
                f'<td class="text">{escape(kinds)}</td><td>{folding.before:,} → {folding.after:,}</td>'
                f'<td>{percent(kept)}</td><td class="wrap">{escape(folding.reason)}</td></tr>'
            )
    return table(said["foldings"], head, lines) if lines else ""


def failures(report: ReplayReport, said: Words) -> str:
    """What could not be replayed, and why."""
    if not report.failures:
        return ""
    items = (
        f"<li><b>{escape(each.file)}</b> {escape(' '.join(filter(None, (each.session, each.policy))))}: "
        f"{escape(each.reason)}</li>"
        for each in report.failures
    )
    return f'<h2>{said["failures"]}</h2><div class="card"><ul>{"".join(items)}</ul></div>'


def table(caption: str, head: str, rows: Iterable[str]) -> str:
    """A table that scrolls by itself where the screen is narrow."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(total: Total, number: int, said: Words, cells: Iterable[str]) -> str:
    dot = f'<span class="dot" style="background:{colour(number, total.kind)}"></span>'
    other = ' class="other"' if total.kind != "policy" else ""
    name = escape(label(total, said))
    return f'<tr data-policy="{escape(total.policy)}"{other}><th scope="row">{dot}{name}</th>{"".join(cells)}</tr>'


def _cell(field: str, shown: str, value: object, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<td data-field="{field}" data-value="{value}"{mark}>{shown}</td>'


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


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
    banner = "" if report.complete else f'<p class="banner" role="status">{said["cut"]}</p>'
    made = said["made_by"].format(version=escape(report.contextfold))
    # The session with the most to fold comes first: it tells most at a glance.
    largest, others = _cards(report, said, 0, 1), _cards(report, said, 1, MOST_SESSIONS)
    more = len(_by_session(report)) - MOST_SESSIONS
    left_out = f'<p class="soft">{said["rows_more"].format(count=f"{more:,}")}</p>' if more > 0 else ""
    title = f'<h2>{said["context_title"]}</h2><p class="soft">{said["context_note"]}</p>'
    body = "".join(
        (
            _header(report, said),
            f"<main>{banner}",
            f'<p class="answer">{escape(answer(report, lang))}</p>{checks(report, said)}',
            f'<h2>{said["all_policies"]}</h2><p class="soft">{escape(baseline(report, lang))}</p>',
            f'<div class="card"><p class="soft hint">{said["hint"]}</p>{totals_table(report, said)}</div>',
            f"{title}{largest}" if largest else "",
            _cost(report, said),
            _kept(report, said),
            f"<h2>{said['others_title']}</h2>{others}{left_out}" if others else "",
            f"<details><summary>{said['rows_title']}</summary>{rows_table(report, said)}</details>",
            failures(report, said),
            f"</main><footer><p>{said['how']}</p><p>{made}</p></footer>",
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


def _cost(report: ReplayReport, said: Words) -> str:
    priced = [total for total in report.totals if total.cost is not None]
    if not priced:
        return ""
    kinds = ("read", "write", "summaries", "output")
    rows = []
    for total in priced:
        parts = [
            BarPiece(value, f"var(--k-{kind})", f"{said[f'cost_{kind}']}: ${value:,.2f}")
            for kind in kinds
            if (value := getattr(total.cost, kind))
        ]
        share = "" if total.against_full is None or total.kind == "full" else f" · {percent(total.against_full)}"
        rows.append(Bar(total.policy, parts, money(total.cost) + share))
    legend = "".join(
        f'<li><span class="dot" style="background:var(--k-{kind})"></span>{said[f"cost_{kind}"]}</li>' for kind in kinds
    )
    return (
        f'<h2>{said["cost_title"]}</h2><p class="soft">{said["cost_note"]}</p>'
        f'<div class="card">{bars(said["cost_title"], rows)}<ul class="legend">{legend}</ul></div>'
    )


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
    panels = []
    for row in drawn:
        shade = colours[row.policy]
        marks = [(folding.turn, folding.before, folding.after) for folding in row.foldings]
        numbers = f"{said['folds']} {row.folds:,} · {said['peak']} {row.peak:,} · {money(row.cost)}"
        drawing = timeline(f"{label(row, said)}: {numbers}", ContextCurve(_points(row), marks, shade), whole, frame)
        panels.append(
            f'<figure><figcaption><span class="dot" style="background:{shade}"></span>{escape(row.policy)} '
            f'<span class="soft">{escape(numbers)}</span></figcaption>{drawing}</figure>'
        )
    folds = foldings_table(drawn, said)
    more = f"<details><summary>{said['foldings']}</summary>{folds}</details>" if folds else ""
    name = drawn[0].file if drawn[0].number == 0 else f"{drawn[0].file} · {drawn[0].session} #{drawn[0].number + 1}"
    facts = f"{drawn[0].format} · {drawn[0].turns:,} {said['turns']} · {drawn[0].model}"
    return (
        f'<section class="card"><h3>{escape(name)}</h3><p class="soft">{escape(facts)}</p>'
        f'<div class="panels">{"".join(panels)}</div>{more}</section>'
    )


def _points(row: Row) -> list[tuple[int, int]]:
    return list(zip(row.places, row.context, strict=True))
