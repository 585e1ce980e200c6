"""Return to where the last rewind came from, as long as nothing was said since; files it changed come back too.

Examples:
  contextfold redo
  contextfold redo refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser

from .arguments import add_thread
from .invocation import Invocation, session_of


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)


def run(call: Invocation) -> int:
    with session_of(call) as session:
        report = session.redo()
        said = call.say("redone", head=report.head, messages=len(report.messages), folds=len(report.folds))
        return call.answer(report, lambda: call.out.line(said))
