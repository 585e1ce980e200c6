"""See it work: a long agent session through a small window, live, checked as it goes. No key, no network, one minute.

It leaves a store and a report in a directory (default: a new one), compares tokens and money with and without folding,
checks that nothing is lost and that every request is valid and fits, and needs nothing that is not installed.

Exit code 0 when every check holds, 1 when not.

Examples:
  contextfold demo
  contextfold demo here --lang ja
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from contextfold.demo import Screen, Tour, directory_for, tour

from .commands import DONE, PROBLEMS
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", metavar="DIRECTORY", help="where to leave store and report")


def run(call: Invocation) -> int:
    directory = directory_for(call.args.directory)
    screen = Screen(sys.stderr if call.is_json else sys.stdout)
    is_sound = tour(Tour(directory, screen, call.language, call.out.label)) == DONE
    files = {name: str(directory / name) for name in ("demo.db", "report.html", "report.json", "session.jsonl")}
    value = {"sound": is_sound, "directory": str(directory), "files": files}
    return call.answer(value, lambda: None, DONE if is_sound else PROBLEMS)
