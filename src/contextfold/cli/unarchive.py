"""List a thread that was put away among the others again.

Examples:
  contextfold unarchive refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)


def run(call: Invocation) -> int:
    with call.store() as store:
        name = call.thread_name(store)
        store.unarchive(name)
    value = {"thread": name, "archived": False}
    return call.answer(value, lambda: call.out.line(call.say("unarchived", thread=name)))
