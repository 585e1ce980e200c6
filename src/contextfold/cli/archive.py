"""Put a thread away: `threads` leaves it out from now on. Nothing is erased, and it can be used as before.

Examples:
  contextfold archive refactor-42
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
        store.archive(name)
    value = {"thread": name, "archived": True}
    return call.answer(value, lambda: call.out.line(call.say("archived", thread=name)))
