"""Make the index of everything said anew, by which `contextfold recall` finds it.

The index is kept in step with what is written and catches up by itself; this is for a file that something else changed.

Examples:
  contextfold reindex
  contextfold reindex --store agent.db --json
"""

from __future__ import annotations

from argparse import ArgumentParser

from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:  # it takes none of its own
    del parser


def run(call: Invocation) -> int:
    with call.store() as store:
        store.reindex()
        threads = len(store.threads())
    value = {"store": str(call.store_path), "threads": threads}
    return call.answer(value, lambda: call.out.line(call.say("reindexed", store=call.store_path, threads=threads)))
