"""Show every effective setting and where it comes from: a flag, the environment, contextfold.toml, or the default.

An unknown key in the file is an error that names the nearest known one.

Examples:
  contextfold config
  contextfold config --config other.toml --json
  CONTEXTFOLD_STORE=agents.db contextfold config
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from contextfold.configuration import DEFAULT, SETTINGS, unknown_variables

from .invocation import Invocation, policy_of
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--thread", metavar="NAME", help="as it would be with this thread")
    parser.add_argument("--model", metavar="MODEL", help="as it would be with this model")
    parser.add_argument("--policy", metavar="RECIPE", help="as it would be with this recipe")
    parser.add_argument("--profile", metavar="NAME", help="as it would be with this profile")
    parser.add_argument("--artifacts", metavar="DIRECTORY", help="as it would be with this directory")


def run(call: Invocation) -> int:
    policy_of(call)  # there is such a recipe, or the error says so
    effective = call.settings.listed()
    meanings = {setting.key: setting.meaning for setting in SETTINGS}
    strange = unknown_variables(os.environ)

    def show() -> None:
        call.out.line(call.say("config.file", path=call.settings.path or call.say("config.no_file")))
        rows = [
            (
                each.key,
                Ink("-", "dim") if each.value in (None, "") else str(each.value),
                Ink(call.out.label(each.source), "dim" if each.source == DEFAULT else "bold"),
                Ink(call.out.label(meanings.get(each.key, "")), "dim"),
            )
            for each in effective
        ]
        call.out.table(rows, [*map(call.out.label, ("setting", "value", "from")), ""], wraps=True)
        for name, guess in strange.items():
            call.note(call.say("doctor.variable", name=name, guess=guess))

    value = {
        "file": call.settings.path or None,
        "settings": {each.key: {"value": each.value, "from": each.source} for each in effective},
        "unknown_variables": sorted(strange),
    }
    return call.answer(value, show)
