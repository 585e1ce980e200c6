"""Name this place in a thread, with a snapshot of a directory's files if you like; without a name, list them.

Examples:
  contextfold checkpoint "before refactor" --workspace ~/project
  contextfold checkpoint
  contextfold rewind --to "before refactor" --files
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold.session import Checkpoint

from .arguments import add_thread
from .invocation import Invocation, session_of
from .paper import Ink
from .translation import error_in


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("label", nargs="?", metavar="NAME", help="the checkpoint's name; without it, list them")
    parser.add_argument("--workspace", metavar="DIR", help="keep the files of this directory with it")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        if call.args.label is None:
            found = session.checkpoints
        else:
            found = (session.checkpoint(call.args.label, workspace=call.args.workspace),)
        return call.answer(found, lambda: _show(call, found))


def _show(call: Invocation, found: tuple[Checkpoint, ...]) -> None:
    for each in found:
        kept = call.say("checkpoint.files", files=f"{each.files:,}", root=each.workspace) if each.snapshot else ""
        call.out.line(
            f"{each.seq:>6}  ", Ink(each.name, "bold"), f"{call.say('checkpoint.after', head=each.head)}{kept}"
        )
        if each.error:
            call.out.line(Ink(error_in(call.language, each.error), "bad"), indent=8)
        for left in each.excluded:
            call.out.line(
                Ink(call.say("checkpoint.left_out", path=left.path, why=call.out.label(left.why)), "warn"), indent=8
            )
    if not found:
        call.out.line(call.say("checkpoint.none"))
