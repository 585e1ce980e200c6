"""Call a thread by another name. The names it had before still lead to it, so scripts that know them go on.

Examples:
  contextfold rename refactor-42 cache-rewrite
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    parser.add_argument("to", metavar="NAME", help="what to call it from now on")


def run(call: Invocation) -> int:
    with call.store() as store:
        name = call.thread_name(store)
        store.rename(name, call.args.to)
    value = {"thread": call.args.to, "before": name}
    return call.answer(value, lambda: call.out.line(call.say("renamed", thread=call.args.to, before=name)))
