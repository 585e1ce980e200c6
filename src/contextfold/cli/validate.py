"""Say what a provider would reject in a request, with the place, the rule and what to do.

Exit code 0 when it would be accepted, 1 when not.

Examples:
  contextfold validate request.json --dialect anthropic
  contextfold export --format request | contextfold validate - --dialect anthropic
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold import dialects
from contextfold.domain import decode
from contextfold.errors import BadMessage

from .exits import DONE, PROBLEMS
from .inputs import text_of
from .invocation import Invocation
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a request's body as JSON; - is standard input")
    parser.add_argument("--dialect", metavar="NAME", required=True, help="the wire format it is meant for")


def run(call: Invocation) -> int:
    body = decode(text_of(call.args.file))
    if not isinstance(body, dict):
        raise BadMessage("This is no request: expected a JSON object with its messages. Pass the whole body.")
    problems = dialects.find(call.args.dialect).check(body)

    def show() -> None:
        for problem in problems:
            call.out.line(Ink(problem.path, "bad"), f": {problem.rule}. {problem.advice}")
        if not problems:
            call.out.line(Ink("valid", "good"), f" for {call.args.dialect}")

    return call.answer({"valid": not problems, "problems": problems}, show, PROBLEMS if problems else DONE)
