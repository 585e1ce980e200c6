"""The frame every benchmark fits in: rows with a value and a bar, a table, an exit code.

A module of this package is a benchmark when it has `run() -> list[Row]`. Ratios measured side by side are gates; plain
times depend on the machine and are only reported.
"""

from __future__ import annotations

import json
import pkgutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


@dataclass(frozen=True, slots=True)
class Row:
    """One number. `passed` is None when it is only reported, or when what it needs is not here (see `note`)."""

    name: str
    value: float | None
    bar: str = ""
    passed: bool | None = None
    unit: str = ""
    note: str = ""


def at_most(name: str, value: float, bar: float, unit: str = "", note: str = "") -> Row:
    """A gate from above."""
    return Row(name, value, f"<= {bar:g}", value <= bar, unit, note)


def at_least(name: str, value: float, bar: float, unit: str = "", note: str = "") -> Row:
    """A gate from below."""
    return Row(name, value, f">= {bar:g}", value >= bar, unit, note)


def reported(name: str, value: float, unit: str = "", note: str = "") -> Row:
    """A number without a bar."""
    return Row(name, value, unit=unit, note=note)


def absent(name: str, note: str) -> Row:
    """A number that cannot be measured here."""
    return Row(name, None, note=note)


def cpu(work: Callable[[], object], repeat: int = 5) -> float:
    """The least processor time of a piece of work, in seconds: other processes only ever add."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def benchmarks(names: Iterable[str] = ()) -> list[tuple[str, ModuleType]]:
    """The benchmarks of this package, or those named."""
    wanted = list(names) or [
        found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if not found.name.startswith("_")
    ]
    modules = [(name, import_module(f"benchmarks.{name}")) for name in wanted]
    return [(name, module) for name, module in modules if hasattr(module, "run")]


def table(rows: Iterable[Row]) -> str:
    """The rows for a reader."""
    verdicts = {True: "ok", False: "MISSED", None: ""}
    lines = [
        (
            row.name,
            "-" if row.value is None else f"{row.value:.4g} {row.unit}".strip(),
            row.bar,
            verdicts[row.passed],
            row.note,
        )
        for row in rows
    ]
    widths = [max((len(line[at]) for line in lines), default=0) for at in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[4]]).rstrip()
        for line in lines
    )


def page(found: Iterable[tuple[str, str, Sequence[Row]]], facts: Mapping[str, str]) -> str:
    """What was measured as a page of documentation: of each benchmark its name, what it times, and its rows."""
    lines = ["# Performance", "", "Written by `make bench`; gates that were missed stand beside those that were met."]
    lines += [
        "Ratios are measured side by side in one run. Plain times depend on the machine and what else it does.",
        "",
    ]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    for name, timed, rows in found:
        lines += ["", f"## {name}", "", *timed.strip().splitlines(), ""]
        lines += ["| what | value | bar | | |", "|---|---|---|---|---|", *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    value = "-" if row.value is None else f"{row.value:.4g} {row.unit}".strip()
    verdict = {True: "met", False: "**missed**", None: ""}[row.passed]
    cells = row.name, value, row.bar, verdict, row.note.replace("|", "/")
    return f"| {' | '.join(cells)} |"


def as_json(rows: Iterable[Row]) -> str:
    """The rows for a program."""
    return json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False)
