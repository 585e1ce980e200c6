"""From rows to a report: sums by policy, in the order the policies were named, whatever order the rows came in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version

from msgspec.structs import replace

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
    return ReplayReport(
        contextfold=version("contextfold"),
        settings=settings,
        complete=complete,
        files=len(files),
        totals=totals_of(settings, sorted_rows),
        rows=tuple(sorted_rows),
        failures=tuple(sorted(failures, key=lambda each: (each.file, each.session, each.policy))),
    )


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
        against_full=_against(mine, rows),
        retained=sum((row.retained for row in mine), Retained()),
        recallable=sum((row.recallable for row in mine), Share()),
        cpu=sum(row.cpu for row in mine),
        **{name: sum(getattr(row, name) for row in mine) for name in _SUMMED},
    )


def _against(mine: Sequence[Row], rows: Sequence[Row]) -> float | None:
    """Money for sending, as a share of what the whole history of the same sessions costs."""
    whole = {_session(row): row.cost for row in rows if row.kind == "full"}
    pairs = [(row.cost, whole.get(_session(row))) for row in mine]
    both = [(cost.sending, other.sending) for cost, other in pairs if cost is not None and other is not None]
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
