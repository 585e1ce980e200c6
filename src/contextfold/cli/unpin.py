"""Let pinned messages be folded again.

Examples:
  contextfold unpin 3
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("seqs", type=seq, nargs="+", metavar="SEQ", help="a pinned message")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with call.thread() as thread:
        for number in call.args.seqs:
            thread.unpin(number)
        pinned = sorted(thread.view.pinned)
        seqs = ", ".join(map(str, pinned)) or call.say("pinned.none")
        told = call.say("pinned", thread=thread.name, seqs=seqs)
        return call.answer({"thread": thread.name, "pinned": pinned}, lambda: call.out.line(told))
