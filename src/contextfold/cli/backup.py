"""Copy a live store consistently, while others write to it, and verify the copy.

Examples:
  contextfold backup agent-monday.db
  contextfold backup /mnt/backup/agent.db --store agent.db
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from .invocation import Invocation
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE", help="the copy; must not exist yet")


def run(call: Invocation) -> int:
    target = Path(call.args.target)
    with call.store() as store:
        store.backup(target)
    said = call.say("backup.done", target=target, store=call.store_path)
    value = {"store": str(call.store_path), "backup": str(target), "bytes": target.stat().st_size, "verified": True}
    return call.answer(value, lambda: call.out.line(Ink(said, "good")))
