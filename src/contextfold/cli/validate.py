"""Say what a provider would reject in a request, with the place, the rule and what to do; --repair mends it.

With --repair the mended request goes to standard output, or to -o FILE, and what was done to the error stream; nothing
that can be shown is dropped. Exit code 0 when it is, or now is, what the provider takes, 1 when not.

Examples:
  contextfold validate request.json
  contextfold export --format request | contextfold validate - --dialect anthropic
  contextfold validate broken.json --repair -o mended.json
"""

from __future__ import annotations

from argparse import ArgumentParser

import contextfold as cf
from contextfold.domain import encode
from contextfold.private import write_private

from .arguments import text_of
from .commands import DONE, PROBLEMS
from .invocation import Invocation
from .paper import Ink, Paper
from .translation import advice_in


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a request's body as JSON; - is standard input")
    parser.add_argument("--dialect", metavar="NAME", help="the wire format it is meant for (default: as it looks)")
    parser.add_argument("--repair", action="store_true", help="write the request as its provider takes it")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the mended request")


def run(call: Invocation) -> int:
    body = text_of(call.args.file).encode()
    if call.args.repair:
        return _repair(call, body)
    problems = cf.validate(body, dialect=call.args.dialect)
    if not call.is_told_as_json({"valid": not problems, "problems": problems}):
        _list(call, call.out, problems)
        if not problems:
            call.out.line(Ink(call.say("validate.valid"), "good"))
    return PROBLEMS if problems else DONE


def _repair(call: Invocation, body: bytes) -> int:
    mended = cf.repair(body, dialect=call.args.dialect)
    code = DONE if mended.is_sound else PROBLEMS
    if call.args.output:
        write_private(call.args.output, encode(mended.body) + b"\n")
    if call.is_json:
        value = {"valid": mended.is_sound, "repairs": mended.repairs, "problems": mended.problems, "body": mended.body}
        call.out.json(value)
        return code
    for each in mended.repairs:
        call.note(f"{each.path}: {each.rule}. {advice_in(call.language, each.done)}")
    _list(call, call.err, list(mended.problems))
    if not call.args.output:
        call.out.json(mended.body)
    return code


def _list(call: Invocation, paper: Paper, problems: list[cf.Problem]) -> None:
    for problem in problems:
        paper.line(Ink(problem.path, "bad"), f": {problem.rule}. {advice_in(call.language, problem.advice)}")
