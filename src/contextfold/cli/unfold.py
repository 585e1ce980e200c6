"""Take a fold back. What it hid is in view again; everything said since stays.

What would no longer fit is refused with sizes; --make-room folds something older instead.

Examples:
  contextfold unfold 412
  contextfold unfold 412 -t refactor-42 --make-room
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation
from .sessions import session_of


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("fold", type=seq, metavar="FOLD", help="the fold's id, as `contextfold folds` lists it")
    parser.add_argument("--make-room", action="store_true", help="fold something older if it would not fit")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        before = session.view.count.tokens
        made = session.unfold(call.args.fold, make_room=call.args.make_room)
        after = session.view.count.tokens
        said = call.say("unfolded", fold=call.args.fold, before=f"{before:,}", after=f"{after:,}")
        value = {"thread": session.thread.name, "fold": call.args.fold, "before": before, "after": after, "made": made}
        return call.answer(value, lambda: call.out.line(said))
