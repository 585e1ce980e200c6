"""Keep messages in every view, with whatever stands or falls with them (a call and its results).

Examples:
  contextfold pin 3
  contextfold pin 3 17 -t refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("seqs", type=seq, nargs="+", metavar="SEQ", help="a message, by its number in `show`")
    add_thread(parser, positional=False)


def run(call: Invocation) -> int:
    with call.thread() as thread:
        for number in call.args.seqs:
            thread.pin(number)
        pinned = sorted(thread.view.pinned)
        told = call.say("pinned", thread=thread.name, seqs=", ".join(map(str, pinned)))
        return call.answer({"thread": thread.name, "pinned": pinned}, lambda: call.out.line(told))
