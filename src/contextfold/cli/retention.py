"""Forget threads that nobody has used for so long: their words go for good, as with `contextfold forget`.

--dry-run tells which and how much, and changes nothing. Memories are never among them. Say --yes to do it.

Examples:
  contextfold retention --older 180d --dry-run
  contextfold retention --older 26w --yes
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime

import contextfold as cf
from contextfold.domain import ListedThread
from contextfold.store import MEMORIES

from .arguments import NotConfirmed
from .invocation import Invocation

_DAYS = {"d": 1, "w": 7, "y": 365}


def days(text: str) -> int:
    """An age as people write it: 180d, 26w, 2y."""
    number, unit = text[:-1], text[-1:].lower()
    if unit not in _DAYS or not number.isascii() or not number.isdigit() or not 0 < int(number) < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no age; write 180d, 26w or 2y")
    return int(number) * _DAYS[unit]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--older", type=days, required=True, metavar="AGE", help="not used for so long: 180d, 26w, 2y")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be forgotten")
    parser.add_argument("--yes", action="store_true", help="forget them")


def run(call: Invocation) -> int:
    before = time.time() - call.args.older * 86_400
    with call.store() as store:
        old = _unused(store, before)
        size = sum(row.size for row in old)
        if not call.args.dry_run:
            if not call.args.yes:
                raise NotConfirmed("This cannot be undone. Look with --dry-run, and say --yes if you are sure.")
            for row in old:
                store.forget(row.name)
    threads = [{"thread": row.title, "at": row.at, "messages": row.messages, "size": row.size} for row in old]
    value = {"before": before, "forgotten": not call.args.dry_run, "size": size, "threads": threads}
    return call.answer(value, lambda: _show(call, old, size))


def _unused(store: cf.Store, before: float) -> list[ListedThread]:
    """Threads whose newest event is older, oldest first; those that are forgotten already have nothing left."""
    rows = [row for row in store.threads() if row.at < before and not row.is_forgotten]
    return sorted((row for row in rows if not row.name.startswith(MEMORIES)), key=lambda row: row.at)


def _show(call: Invocation, old: list[ListedThread], size: int) -> None:
    for row in old:
        day = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%d")
        call.out.line(f"{day}  {row.messages:>6}  {row.size:>10,}  {row.title}", indent=2)
    key = "retention.would" if call.args.dry_run else "retention.done"
    call.out.line(call.say(key, count=len(old), size=f"{size:,}"))
