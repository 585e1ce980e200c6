"""Take over snapshots of a workspace from another directory: an older home of them, one that was moved or copied.

contextfold keeps snapshots by the workspace's path in your own state directory, and runs git nowhere else, whatever a
store says. `workspace adopt PATH` shows what PATH holds, asks, and copies its snapshots, checked; nothing in PATH is
run or obeyed. The workspace is the one that the store's checkpoints name with PATH, or the one you name.

Examples:
  contextfold workspace adopt ~/old-state/contextfold/workspaces/1f3870be274f6c49b3e31a0c
  contextfold workspace adopt snapshots --workspace ~/project --yes --json
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from contextfold.store import snapshots_in
from contextfold.workspace import Adoptable, Snapshots, adopt, look_over

from .arguments import NotConfirmed, UsageError
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("adopt",), help="take the snapshots in PATH over")
    parser.add_argument("path", metavar="PATH", help="the directory that holds the snapshots")
    parser.add_argument("--workspace", metavar="DIR", help="whose files they are (default: as the store says)")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(call: Invocation) -> int:
    found = look_over(call.args.path)
    workspace = call.args.workspace
    if not workspace:
        with call.store() as store:
            entries = (logged for row in store.threads() for logged in store.thread(row.name).events)
            named = {each.workspace for each in snapshots_in(entries) if each.snapshot in found.snapshots}
        if len(named) != 1:
            listed = ", ".join(sorted(named)) or "none"
            raise UsageError(f"Whose snapshots are these? The store names {listed}. Name one with --workspace.")
        workspace = named.pop()
    snapshots = Snapshots(workspace)
    if not call.args.yes:
        _confirm(call, found, snapshots)
    new = adopt(found, snapshots)
    value = {
        "path": found.path,
        "workspace": str(snapshots.root),
        "home": str(snapshots.home),
        "snapshots": found.snapshots,
        "adopted": new,
        "left_behind": found.left_behind,
    }
    done = call.say("adopt.done", count=len(new), workspace=snapshots.root)
    return call.answer(value, lambda: call.out.line(done))


def _confirm(call: Invocation, found: Adoptable, snapshots: Snapshots) -> None:
    facts = {"count": len(found.snapshots), "path": found.path, "workspace": snapshots.root}
    shown = [call.say("adopt.found", **facts)]
    shown += [call.say("adopt.left_behind", names=", ".join(found.left_behind))] if found.left_behind else []
    if not sys.stdin.isatty():
        raise NotConfirmed(" ".join((*shown, call.say("adopt.ask"))))
    call.err.lines(shown)
    call.err.prompt(call.say("confirm", word="adopt"))
    if sys.stdin.readline().strip() != "adopt":
        raise NotConfirmed("The answer was another one. Nothing was taken over.")
