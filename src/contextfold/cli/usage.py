"""Show what was billed, by day, model or project: from recorded sessions, or from the bills in the store.

With files or directories, the bills that products left in their logs; the project is the directory a log lies in.
Without, the bills of the store's threads; the project is the thread. Money is at the prices of each bill's own model.

Examples:
  contextfold usage ~/.claude/projects
  contextfold usage ~/.claude/projects --by project
  contextfold usage --store agents.db --by model --json
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, to_builtins

from contextfold.dialects import bill
from contextfold.domain import Bill, Measured
from contextfold.errors import ContextFoldError
from contextfold.models import Paid, find, paid_for
from contextfold.transcripts import read

from .arguments import readable, sessions_in
from .invocation import Invocation
from .translation import error_in

_BY = ("day", "model", "project")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="recorded sessions, or directories of them")
    parser.add_argument("--by", choices=_BY, default="day", help="what a line is about: day, model or project")


class BilledAnswer(Struct, frozen=True):
    """One bill: when, for which model, in which project."""

    day: str
    model: str
    project: str
    bill: Bill


class UsageLine(Struct, frozen=True):
    """The bills of one day, model or project; `cost` is in dollars, as far as prices are known."""

    name: str
    requests: int
    input: int
    read: int
    written: int
    output: int
    cost: float
    unpriced: int  # bills of models whose prices nobody knows


def run(call: Invocation) -> int:
    if call.args.files:
        with ExitStack() as stack:
            paths = [each for name in call.args.files for each in sessions_in(stack.enter_context(readable(name)))]
            found = list(_recorded(call, paths))
    else:  # the bills that sessions recorded in the store
        rows = ((store, row) for store in call.stores() for row in store.threads())
        found = [
            BilledAnswer(_day(logged.at), event.model or "-", row.title, event.bill or Bill(event.billed))
            for store, row in rows
            for logged in store.thread(row.name).events
            if isinstance(event := logged.event, Measured)
        ]
    by = call.args.by
    names = sorted({getattr(each, by) for each in found})
    lines = [_line(name, [each.bill for each in found if getattr(each, by) == name], found, by) for name in names]
    total = _line("", [each.bill for each in found], found, by)

    def show() -> None:
        if not found:
            call.out.line(call.say("usage.none"))
            return
        head = [call.say(f"usage.{name}") for name in (by, "requests", "input", "read", "output", "cost")]
        rows = [_cells(line) for line in lines]
        call.out.table([*rows, _cells(total, call.say("usage.total"))], head, right=range(1, len(head)))
        if total.unpriced:
            call.note(call.say("usage.unpriced", count=total.unpriced))

    return call.answer({"by": by, "lines": to_builtins(lines), "total": to_builtins(total)}, show)


def _line(name: str, bills: list[Bill], found: Iterable[BilledAnswer], by: str) -> UsageLine:
    mine = [each for each in found if not name or getattr(each, by) == name]
    prices = {model: find(model).prices for model in {each.model for each in mine}}
    paid = [paid_for(each.bill, known) for each in mine if (known := prices[each.model])]
    return UsageLine(
        name,
        len(bills),
        sum(each.input for each in bills),
        sum(each.read or 0 for each in bills),
        sum(each.written for each in bills),
        sum(each.output for each in bills),
        round(sum(paid, Paid()).total, 9),
        len(mine) - len(paid),
    )


def _cells(line: UsageLine, name: str = "") -> list[str]:
    counts = (line.requests, line.input, line.read, line.output)
    return [name or line.name, *(f"{count:,}" for count in counts), f"${line.cost:,.2f}"]


def _recorded(call: Invocation, paths: Iterable[Path]) -> Iterator[BilledAnswer]:
    """Bills in the logs of products. A file that is no log is told and passed over."""
    for path in paths:
        try:
            for recording in read(path):
                for turn in recording.turns:
                    if turn.usage:
                        day = "-" if turn.at is None else _day(turn.at)
                        yield BilledAnswer(day, turn.model or "-", path.absolute().parent.name, bill(turn.usage))
        except ContextFoldError as error:
            call.note(f"{path}: {error_in(call.language, str(error))}")


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
