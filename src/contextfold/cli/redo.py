"""Return to where the last rewind came from, as long as nothing was said since.

Examples:
  contextfold redo
  contextfold redo refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)


def run(call: Invocation) -> int:
    with call.thread() as thread:
        report = thread.redo()
        said = call.say("redone", head=report.head, messages=len(report.messages), folds=len(report.folds))
        return call.answer(report, lambda: call.out.line(said))
