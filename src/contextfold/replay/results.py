"""The results of a replay: kept in a file as they come, and summed up to a report in the end.

The file lets a replay that was cut short go on where it stopped. One JSON object a line: a head with the settings, then
rows, failures and finished files. A torn last line is dropped. Results made with other settings or another version are
never mixed in: such a file is refused, not overwritten. Sums are by policy, in the order the policies were named,
whatever order the rows came in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import IO, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold import __version__
from contextfold.errors import BadConfiguration
from contextfold.private import write_private

from .values import FULL, RECORDED, VERSION, Cost, ReplayFailure, ReplayReport, Retained, Row, Settings, Share, Total


class Head(Struct, frozen=True, tag_field="is", tag="replay"):
    """What the results in the file were made with."""

    settings: Settings
    version: int = VERSION


class KeptRow(Struct, frozen=True, tag_field="is", tag="row"):
    """One result, and the digest of the file it comes from."""

    digest: str
    row: Row


class KeptFile(Struct, frozen=True, tag_field="is", tag="file"):
    """A file that was replayed to its end, and what failed in it."""

    digest: str
    failures: tuple[ReplayFailure, ...] = ()


_LINE = msgspec.json.Decoder(Head | KeptRow | KeptFile)


class Kept:
    """Results by the digest of their file. Without a path they are kept in memory only."""

    def __init__(self, path: str | os.PathLike[str] | None, settings: Settings) -> None:
        self.rows: dict[str, dict[tuple[int, str], Row]] = {}
        self.files: dict[str, KeptFile] = {}
        self._file: IO[bytes] | None = None
        if path is not None:
            self._file = self._opened(Path(path), settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, entry: KeptRow | KeptFile) -> None:
        """Keep a result, on disk before anything else happens."""
        self._take(entry)
        self._write(entry)

    def _take(self, entry: KeptRow | KeptFile) -> None:
        if isinstance(entry, KeptFile):
            self.files[entry.digest] = entry
        else:
            self.rows.setdefault(entry.digest, {})[entry.row.number, entry.row.policy] = entry.row

    def _write(self, entry: Head | KeptRow | KeptFile) -> None:
        if self._file is not None:
            self._file.write(msgspec.json.encode(entry) + b"\n")
            self._file.flush()

    def _opened(self, path: Path, settings: Settings) -> IO[bytes]:
        is_new = not path.exists() or path.stat().st_size == 0
        if is_new:
            write_private(path, b"")
        file = path.open("r+b")
        try:
            if is_new:
                self._file = file
                self._write(Head(settings))
            else:
                self._resume(file, path, settings)
        except BaseException:
            file.close()
            raise
        return file

    def _resume(self, file: IO[bytes], path: Path, settings: Settings) -> None:
        whole = 0
        for number, line in enumerate(file):
            try:
                entry = _LINE.decode(line)
            except msgspec.DecodeError:
                entry = None
            if number == 0 and (not isinstance(entry, Head) or entry != Head(settings)):
                raise BadConfiguration(
                    f"{path} does not hold results of a replay with these settings. Choose another file, or remove it."
                )
            if entry is None or not line.endswith(b"\n"):
                break  # cut off while it was written
            if not isinstance(entry, Head):
                self._take(entry)
            whole += len(line)
        file.seek(whole)
        file.truncate()


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
    # All money, as a share of what the full history of the same sessions costs.
    whole = {_session(row): row.cost for row in rows if row.kind == "full"}
    pairs = [(row.cost, whole.get(_session(row))) for row in mine]
    both = [(cost.total, other.total) for cost, other in pairs if cost is not None and other is not None]
    full = sum(other for _, other in both)
    return Total(
        policy=mine[0].policy,
        kind=mine[0].kind,
        sessions=len(mine),
        peak=max(row.peak for row in mine),
        cost=sum(costs, Cost()) if costs else None,
        paid=sum(paid, Cost()) if (paid := [row.paid for row in mine if row.paid is not None]) else None,
        against_full=sum(cost for cost, _ in both) / full if full else None,
        retained=sum((row.retained for row in mine), Retained()),
        recallable=sum((row.recallable for row in mine), Share()),
        cpu=sum(row.cpu for row in mine),
        **{name: sum(getattr(row, name) for row in mine) for name in _SUMMED},
    )


def _session(row: Row) -> tuple[str, int]:
    return row.file, row.number


def without_times(report: ReplayReport) -> ReplayReport:
    """The report as two replays of the same sessions have it in common."""
    return replace(
        report,
        totals=tuple(replace(total, cpu=0.0) for total in report.totals),
        rows=tuple(replace(row, cpu=0.0) for row in report.rows),
    )
