"""Write a thread: every event with its exact bytes and its chain as JSON lines, or what the model would see now.

Formats: `contextfold` (the default; `contextfold import` reads it back, verified), `request` (the whole request for a
dialect), `messages` (the view's messages in that dialect), `roo` (a task directory with Roo Code's two files).

Examples:
  contextfold export refactor-42 > refactor-42.jsonl
  contextfold export refactor-42 -o refactor-42.jsonl
  contextfold export --format request --dialect openai-chat | jq .messages
  contextfold export refactor-42 --format roo -o task/
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from contextfold import dialects
from contextfold.domain import decode, encode, harmless

from .arguments import UsageError, add_model, add_thread
from .commands import DONE
from .invocation import Invocation, session_of

FORMATS = ("contextfold", "request", "messages", "roo")


def arguments(parser: ArgumentParser) -> None:
    add_thread(parser)
    add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write here (default: standard output)")
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="what to write (default: contextfold)")
    parser.add_argument("--dialect", metavar="NAME", help="wire format of a request (default: the model's)")


def run(call: Invocation) -> int:
    if call.args.format != "roo":
        return _lines(call)
    if not call.args.output:
        raise UsageError("Roo's format is a directory with two files. Name it with -o.")
    with session_of(call) as session:
        session.export(call.args.output, format="roo")
        value = {"thread": session.thread.name, "directory": call.args.output}
    said = call.say("export.done", name=value["thread"], place=value["directory"])
    return call.answer(value, lambda: call.out.line(said))


def _lines(call: Invocation) -> int:
    with call.store() as store, TemporaryDirectory(prefix="contextfold-") as directory:
        name = call.thread_name(store)
        target = Path(call.args.output) if call.args.output else None
        if target is not None and target.exists():
            raise UsageError(f"{target} exists already. Choose another name, or remove it.")
        written = target or Path(directory) / "thread"
        if call.args.format == "contextfold":
            store.export(name, written)
        else:
            thread = store.thread(name, model=call.model)
            body = thread.body(dialect=call.args.dialect, model=thread.model.name)
            if call.args.format == "messages":
                dialect = dialects.find(call.args.dialect or dialects.spoken(thread.model))
                body = encode(decode(body).get(dialect.list_field, []))
            written.touch(mode=0o600)  # what was said is private, until its owner says otherwise
            written.write_bytes(body + b"\n")
        if target is None:
            with written.open("rb") as file:
                for line in file:
                    if sys.stdout.isatty():  # the same JSON with nothing that a terminal would obey
                        sys.stdout.write(harmless.json_text(line.decode("utf-8", "backslashreplace")))
                    else:
                        sys.stdout.buffer.write(line)
            return DONE
        value = {"thread": name, "file": str(target), "bytes": target.stat().st_size}
        return call.answer(
            value, lambda: call.out.line(call.say("export.bytes", name=name, place=target, size=f"{value['bytes']:,}"))
        )
