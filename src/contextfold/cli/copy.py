"""Copy every thread of a space into another store, file or PostgreSQL, each verified as it arrives.

Run it again after an interruption, or when conversations went on: what is there already, link for link, is left as it
is, and only what is new is written. What was forgotten since is forgotten there too.

Examples:
  contextfold copy postgresql://db.example/agents --store agent.db
  contextfold copy agent.db --store postgresql://db.example/agents
"""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import closing

from contextfold import logs
from contextfold.logs.copy import copy_threads

from .invocation import Invocation
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="STORE", help="the store to copy into: a file, or an address")


def run(call: Invocation) -> int:
    space = call.settings["space"]
    call.refuse_missing_store()
    copied = []
    progress = call.progress(call.say("copy.progress"))
    with (
        closing(_opened(call.store_address, space, read_only=True)) as source,
        closing(_opened(call.args.target, space)) as target,
    ):
        for each in copy_threads(source, target):
            copied.append(each)
            progress.at(len(copied), what=each.thread)
    progress.done()
    shown = logs.shown_address(call.args.target) if logs.is_postgres(call.args.target) else call.args.target
    new = sum(each.is_new for each in copied)
    events = sum(each.events for each in copied)
    value = {"store": str(call.store_path), "target": shown, "threads": len(copied), "new": new, "events": events}
    said = call.say("copy.done", count=len(copied), new=new, events=events, target=shown)
    return call.answer(value | {"verified": True}, lambda: call.out.line(Ink(said, "good")))


def _opened(path: str, space: str, *, read_only: bool = False) -> logs.SealedLog:
    if logs.is_postgres(path):
        opened: logs.SealedLog = logs.postgres_logs().open_postgres(path, space=space, read_only=read_only)
        return opened
    return logs.open_sqlite(path, space=space, read_only=read_only)
