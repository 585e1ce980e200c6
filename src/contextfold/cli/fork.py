"""Try another way: a new thread that shares this one's past up to a place. Both go on.

Examples:
  contextfold fork
  contextfold fork refactor-42 --at 88 --as refactor-without-cache
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread, seq
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    parser.add_argument(
        "--at", type=seq, metavar="SEQ", help="share everything up to and including this (default: now)"
    )
    parser.add_argument(
        "--as", dest="new_name", metavar="NAME", help="the new thread's name (default: THREAD/fork-1, …)"
    )


def run(call: Invocation) -> int:
    with call.thread() as thread:
        branch = thread.fork(at=call.args.at, name=call.args.new_name)
        head = branch.view.head
        value = {"thread": branch.name, "origin": thread.name, "at": head}
        return call.answer(
            value, lambda: call.out.line(call.say("fork.done", name=branch.name, head=head, thread=thread.name))
        )
