"""The parts of the page that are tables and cards. Numbers are those of the JSON, each cell marked with its field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from contextfold.replay.tables import money, percent, shares_of
from contextfold.replay.values import ReplayReport, Row, Total

from .style import colour

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
        cells += [_count(total, field) for field in FIELDS]
        rows.append(_row(total, number, said, cells))
    return table(said["all_policies"], head, [*rows, *_paid(report, said)])


def _paid(report: ReplayReport, said: Words) -> list[str]:
    """What the logs of the same sessions were billed, under the column of money."""
    first = report.totals[0] if report.totals else None
    if first is None or first.paid is None:
        return []
    rest = f'<td colspan="{1 + len(BESIDE) + len(FIELDS)}"></td>'
    return [f'<tr class="other"><th scope="row">{said["paid"]}</th><td>{money(first.paid)}</td>{rest}</tr>']


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
    rows = [_session_row(row, said) for row in report.rows[:MOST_ROWS]]
    left = len({(row.file, row.number) for row in report.rows[MOST_ROWS:]})
    more = f'<p class="soft">{said["rows_more"].format(count=f"{left:,}")}</p>' if left else ""
    return table(said["rows_title"], head, rows) + more


def _session_row(row: Row, said: Words) -> str:
    names = (row.file, row.session, label(row, said))
    cells = [f'<td class="text">{escape(name)}</td>' for name in names]
    cells += [f"<td>{getattr(row, field):,}</td>" for field in FIELDS]
    cells += [f"<td>{money(row.cost)}</td>", f"<td>{percent(row.retained.grounded.value)}</td>"]
    return f"<tr>{''.join(cells)}</tr>"


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


def _count(total: Total, field: str) -> str:
    value = getattr(total, field)
    judged = ""
    if field in _MUST_BE_NONE and total.kind == "policy":
        judged = "bad" if value else "zero"
    return _cell(field, f"{value:,}", value, judged)


def _cell(field: str, shown: str, value: object, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<td data-field="{field}" data-value="{value}"{mark}>{shown}</td>'


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)
