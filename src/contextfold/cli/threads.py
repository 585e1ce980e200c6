"""List the threads of a store: their model, how much was said, how much the model sees, and where forks come from.

Examples:
  contextfold threads
  contextfold threads --store agent.db --json
"""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime

import contextfold as cf
from contextfold.domain import Appended, ThreadRow

from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--names", action="store_true", help="only the names, one a line")


def run(call: Invocation) -> int:
    with call.store() as store:
        rows = store.threads()
        if call.args.names:
            return call.answer([row.name for row in rows], lambda: call.out.lines(row.name for row in rows))
        progress = call.progress("threads")
        found = []
        for at, row in enumerate(rows):
            progress.at(at, len(rows), row.name)
            found.append(_facts(store, row))
        progress.done()
        return call.answer(found, lambda: _show(call, found))


def _facts(store: cf.Store, row: ThreadRow) -> dict[str, object]:
    thread = store.thread(row.name)
    view = thread.view
    return {
        "name": row.name,
        "model": thread.model.name,
        "messages": sum(isinstance(logged.event, Appended) for logged in thread.events),
        "shown": view.length,
        "tokens": view.count.tokens,
        "folds": len(thread.folds),
        "events": row.last,
        "created": datetime.fromtimestamp(row.created, UTC).isoformat(timespec="seconds"),
        "origin": None if row.origin is None else {"thread": row.origin.thread, "seq": row.origin.seq},
    }


def _show(call: Invocation, found: list[dict[str, object]]) -> None:
    if not found:
        call.out.line(f"{call.store_path} has no thread yet. `contextfold import FILE` makes one.")
    rows = [
        (
            str(each["name"]),
            str(each["model"]) or "-",
            f"{each['messages']:,}",
            f"{each['shown']:,}",
            f"{each['tokens']:,}",
            str(each["folds"]),
            str(each["created"])[:16].replace("T", " "),
            f"from {origin['thread']} at {origin['seq']}" if isinstance(origin := each["origin"], dict) else "",
        )
        for each in found
    ]
    call.out.table(rows, ("thread", "model", "said", "shown", "tokens", "folds", "created", ""), right=(2, 3, 4, 5))
