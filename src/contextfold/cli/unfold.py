"""Take a fold back. What it hid is in view again; everything said since stays.

Examples:
  contextfold unfold 412
  contextfold unfold 412 -t refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("fold", type=seq, metavar="FOLD", help="the fold's id, as `contextfold folds` lists it")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with call.session() as session:
        before = session.view.count.tokens
        session.unfold(call.args.fold)
        after = session.view.count.tokens
        said = call.say("unfolded", fold=call.args.fold, before=f"{before:,}", after=f"{after:,}")
        value = {"thread": session.thread.name, "fold": call.args.fold, "before": before, "after": after}
        return call.answer(value, lambda: call.out.line(said))
