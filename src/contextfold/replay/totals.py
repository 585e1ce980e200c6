"""From rows to a report: sums by policy, in the order the policies were named, whatever order the rows came in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from contextfold import __version__

from .values import FULL, RECORDED, Cost, ReplayFailure, ReplayReport, Retained, Row, Settings, Share, Total

_SUMMED = (
    "requests",
    "invalid",
    "unfit",
    "refused",
    "lost",
    "folds",
    "offloads",
    "tokens",
    "read",
    "written",
    "output",
    "breaks",
    "calls",
    "bills",
    "billed",
)


def report_of(
    settings: Settings,
    rows: Iterable[Row],
    failures: Iterable[ReplayFailure] = (),
    *,
    files: Sequence[str] = (),
    complete: bool = True,
) -> ReplayReport:
    """Everything found, in a fixed order."""
    order = {name: number for number, name in enumerate((*settings.policies, FULL, RECORDED))}
    places = {file: number for number, file in enumerate(files)}
    sorted_rows = sorted(rows, key=lambda row: (places.get(row.file, len(places)), row.number, order[row.policy]))
    common = compared(sorted_rows)
    return ReplayReport(
        contextfold=__version__,
        settings=settings,
        complete=complete,
        files=len(files),
        sessions=len({_session(row) for row in sorted_rows}),
        compared=len({_session(row) for row in common}),
        unseen=int(median([row.unseen for row in common] or [0])),
        totals=totals_of(settings, common),
        rows=tuple(sorted_rows),
        failures=tuple(sorted(failures, key=lambda each: (each.file, each.session, each.policy))),
    )


def compared(rows: Sequence[Row]) -> list[Row]:
    """The rows of the sessions that every policy went through: sums over different sessions say nothing."""
    through: dict[str, set[tuple[str, int]]] = {}
    for row in rows:
        through.setdefault(row.policy, set()).add(_session(row))
    common = set[tuple[str, int]].intersection(*through.values()) if through else set()
    return [row for row in rows if _session(row) in common]


def totals_of(settings: Settings, rows: Sequence[Row]) -> tuple[Total, ...]:
    """One total for each policy that has a row."""
    names = (*settings.policies, FULL, RECORDED)
    return tuple(total(mine, rows) for name in names if (mine := [row for row in rows if row.policy == name]))


def total(mine: Sequence[Row], rows: Sequence[Row]) -> Total:
    """The sum of one policy's rows."""
    costs = [row.cost for row in mine if row.cost is not None]
    return Total(
        policy=mine[0].policy,
        kind=mine[0].kind,
        sessions=len(mine),
        peak=max(row.peak for row in mine),
        cost=sum(costs, Cost()) if costs else None,
        paid=sum(paid, Cost()) if (paid := [row.paid for row in mine if row.paid is not None]) else None,
        against_full=_against(mine, rows),
        retained=sum((row.retained for row in mine), Retained()),
        recallable=sum((row.recallable for row in mine), Share()),
        cpu=sum(row.cpu for row in mine),
        **{name: sum(getattr(row, name) for row in mine) for name in _SUMMED},
    )


def _against(mine: Sequence[Row], rows: Sequence[Row]) -> float | None:
    """All money, as a share of what the full history of the same sessions costs."""
    whole = {_session(row): row.cost for row in rows if row.kind == "full"}
    pairs = [(row.cost, whole.get(_session(row))) for row in mine]
    both = [(cost.total, other.total) for cost, other in pairs if cost is not None and other is not None]
    full = sum(other for _, other in both)
    return sum(cost for cost, _ in both) / full if full else None


def _session(row: Row) -> tuple[str, int]:
    return row.file, row.number


def without_times(report: ReplayReport) -> ReplayReport:
    """The report as two replays of the same sessions have it in common."""
    return replace(
        report,
        totals=tuple(replace(total, cpu=0.0) for total in report.totals),
        rows=tuple(replace(row, cpu=0.0) for row in report.rows),
    )
