"""Where the command line begins: help at once, everything else by the one module it needs.

Imports nothing of the library. `contextfold --help` is what people type first and scripts type often.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import contextfold

from .commands import COMMANDS, DONE, OPTIONS, help_text
from .words import choose


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    before, name, after = split(list(sys.argv[1:] if arguments is None else arguments))
    if not name and ("--version" in before or "-V" in before):
        sys.stdout.write(f"contextfold {contextfold.__version__}\n")
        return DONE
    if (not name and (not before or {"--help", "-h"} & set(before))) or (name == "help" and not after):
        asked = before[before.index("--lang") + 1 : before.index("--lang") + 2] if "--lang" in before else []
        sys.stdout.write(help_text(choose(asked[0] if asked else "", os.environ)))
        return DONE
    if name == "help":
        name, after = after[0], ["--help"]
    runner = import_module("contextfold.cli.run")
    code: int = runner.run(name, [*before, *after], COMMANDS.get(name))
    return code


def split(arguments: list[str]) -> tuple[list[str], str, list[str]]:
    """Options before the command, the command, and what follows it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        takes_value = bool(OPTIONS.get(arguments[at], ("", ""))[0])
        at += 2 if takes_value else 1
    if at >= len(arguments):
        return arguments, "", []
    return arguments[:at], arguments[at], arguments[at + 1 :]
