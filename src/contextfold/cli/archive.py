"""Put a thread away: `threads` leaves it out from now on. Nothing is erased, and it can be used as before.

Examples:
  contextfold archive refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable

from contextfold.store import Store

from .arguments import add_thread
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)


def run(call: Invocation) -> int:
    return moved(call, Store.archive, is_archived=True)


def moved(call: Invocation, move: Callable[[Store, str], None], *, is_archived: bool) -> int:
    """Put the thread that was named away, or back, and say so."""
    with call.store() as store:
        name = call.thread_name(store)
        move(store, name)
    said = "archived" if is_archived else "unarchived"
    return call.answer({"thread": name, "archived": is_archived}, lambda: call.out.line(call.say(said, thread=name)))
