"""Move the head to an earlier place. What came after it leaves the view and stays in the log; redo returns to it.

Examples:
  contextfold rewind --before 88
  contextfold rewind refactor-42 --after 40
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--before", type=seq, metavar="SEQ", help="to just before this event")
    place.add_argument("--after", type=seq, metavar="SEQ", help="to just after this event")


def run(call: Invocation) -> int:
    with call.thread() as thread:
        report = thread.rewind(before=call.args.before, after=call.args.after)
        said = call.say("rewound", head=report.head, messages=len(report.messages), folds=len(report.folds))
        return call.answer(report, lambda: call.out.line(said))
