"""Count the tokens of recorded sessions, of messages that are piped in, or of plain text.

Says for each model whether the count is exact or estimated, and how.

Examples:
  contextfold count session.jsonl --model gpt-6-sol --model claude-sonnet-5-5
  cat messages.json | contextfold count -
  contextfold count --text README.md
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

import contextfold as cf
from contextfold.transcripts import read

from .arguments import readable, sessions_in, text_of
from .commands import DONE
from .invocation import Invocation
from .models import how_counted
from .paper import Ink
from .show import bar


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recorded sessions or messages; - is standard input")
    parser.add_argument(
        "-m", "--model", action="append", dest="models", metavar="MODEL", help="for this model; may be said again"
    )
    parser.add_argument("--text", action="store_true", help="the files are plain text")


def run(call: Invocation) -> int:
    names = call.args.models or [call.settings["model"]]
    found: list[dict[str, object]] = []
    for file in call.args.files:
        for label, system, messages in _conversations(call, file):
            for name in names:
                count = cf.count(messages, model=name or None, system=system or None)
                model = cf.model(name)
                facts: dict[str, object] = {
                    "file": file,
                    "conversation": label,
                    "model": model.name,
                    "messages": len(messages),
                    "tokens": count.tokens,
                    "exact": count.exact,
                    "method": how_counted(model),
                    "parts": count.parts,
                    "window": model.window,
                    "assumed": model.assumed,
                }
                found.append(facts)
    if call.is_told_as_json(found):
        return DONE
    for each in found:
        tokens, window = int(str(each["tokens"])), int(str(each["window"]))
        about = "" if each["exact"] else "about "
        assumed = "?" if each["assumed"] else ""
        many, named = call.out.label(f"{each['messages']} messages"), each["model"] or call.out.label("no model")
        call.out.line(Ink(str(each["conversation"] or each["file"]), "bold"), f" · {many} · {named}")
        counted = f"{about}{tokens:,} tokens of {window:,}{assumed}, counted {each['method']}"
        call.out.line(f"{bar(tokens, window)} {call.out.label(counted)}", indent=2)
    return DONE


def _conversations(call: Invocation, file: str) -> Iterator[tuple[str, str, list[object]]]:
    if call.args.text:
        yield "", "", [{"role": "user", "content": text_of(file)}]
        return
    with readable(file) as given:
        for path in sessions_in(given):
            for recording in read(path):
                yield recording.name, recording.system, [turn.raw for turn in recording.turns]
