"""Read recorded sessions, or a thread that was exported, into a store. The format is found by looking.

Reading the same file again adds only what is new. Each conversation of a file becomes a thread; damaged lines are
reported and passed over, or refused with --strict. What a format can hold is told in docs/transcripts.md.

Examples:
  contextfold import ~/.claude/projects/*/*.jsonl --store agents.db
  contextfold import session.jsonl --as refactor-42 --model claude-sonnet-5-5
  cat messages.jsonl | contextfold import - --as piped
  contextfold import exported-thread.jsonl
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from pathlib import Path

import contextfold as cf
from contextfold.domain import Appended
from contextfold.errors import BadConfiguration
from contextfold.transcripts import Defect, Recorded, Recording, Skipped, read

from .arguments import add_model
from .inputs import PIPE, readable, sessions_in
from .invocation import Invocation
from .progress import Progress

BATCH = 500  # messages in one commit


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recorded sessions, or directories of them; - is standard input"
    )
    parser.add_argument("--as", dest="new_name", metavar="NAME", help="the thread's name (default: the file's)")
    parser.add_argument("--strict", action="store_true", help="refuse a file with damaged lines")
    add_model(parser)


def run(call: Invocation) -> int:
    imported: list[dict[str, object]] = []
    with call.store(create=True) as store:
        for file in call.args.files:
            with readable(file) as given:
                for path in sessions_in(given):
                    imported += _file(call, store, PIPE if file == PIPE else str(path), path)
    return call.answer(imported, lambda: _show(call, imported))


def _file(call: Invocation, store: cf.Store, file: str, path: Path) -> list[dict[str, object]]:
    if _is_exported(path):
        thread = store.import_(path, name=call.args.new_name)
        return [{"file": file, "format": "contextfold", "thread": thread.name, "events": len(thread.events)}]
    progress = call.progress(f"importing {path.name if file != PIPE else 'standard input'}")
    try:
        found = [
            _recording(call, store, each, at, progress) for at, each in enumerate(read(path, strict=call.args.strict))
        ]
    finally:
        progress.done()
    return [{"file": file, **each} for each in found]


def _is_exported(path: Path) -> bool:
    """Whether a file is a thread that `export` wrote: its first line says so."""
    with path.open("rb") as file:
        start = file.read(200)
    return start.replace(b" ", b"").startswith(b'{"line":"thread"')


def _recording(
    call: Invocation, store: cf.Store, recording: Recording, at: int, progress: Progress
) -> dict[str, object]:
    name = _name(call.args.new_name, recording, at)
    counts = {"messages": 0, "new": 0, "skipped": 0, "defects": 0}
    batch: list[tuple[str, bytes]] = []
    thread: cf.Thread | None = None
    source = f"{recording.format}:{recording.id or recording.name}"
    model = call.model or next((turn.model for turn in recording.turns if turn.model), "")
    for entry in recording.entries():
        counts["skipped"] += isinstance(entry, Skipped)
        counts["defects"] += isinstance(entry, Defect)
        if isinstance(entry, Recorded):
            thread = thread or _thread(call, store, name, model, source)
            batch.append((f"{source}:{counts['messages']}", entry.raw))
            counts["messages"] += 1
            progress.at(counts["messages"], what=name)
            if len(batch) >= BATCH:
                counts["new"] += _append(store, thread, batch)
                batch = []
    if thread is not None:
        counts["new"] += _append(store, thread, batch)
    return {"format": recording.format, "thread": name if thread else None, **counts}


def _name(wish: str | None, recording: Recording, at: int) -> str:
    if wish is None:
        return recording.name
    return wish if at == 0 else f"{wish}-{at + 1}"


def _thread(call: Invocation, store: cf.Store, name: str, model: str, source: str) -> cf.Thread:
    """A new thread, or one that this very source was read into before."""
    is_new = name not in {row.name for row in store.threads()}
    thread = store.thread(name, model=(model or None) if is_new else call.model)
    if not is_new and not any(logged.key.startswith(f"{source}:") for logged in thread.events[:1]):
        raise BadConfiguration(f"There is a thread {name!r} already, from elsewhere. Choose a name with --as.")
    return thread


def _append(store: cf.Store, thread: cf.Thread, batch: list[tuple[str, bytes]]) -> int:
    before = len(thread.events)
    with store.batch():
        for key, raw in batch:
            thread.append(raw, key=key)
    return sum(isinstance(logged.event, Appended) for logged in thread.events[before:])


def _show(call: Invocation, imported: list[dict[str, object]]) -> None:
    for each in imported:
        if each["thread"] is None:
            call.out.line(f"{each['file']}: a conversation without messages ({each['format']})")
            continue
        said = each.get("messages", each.get("events"))
        facts = [f"{each['new']} new" if "new" in each else ""]
        facts += [f"{each[name]} {name}" for name in ("skipped", "defects") if each.get(name)]
        listed = ", ".join(filter(None, facts))
        call.out.line(f"{each['thread']}: {said} messages ({each['format']}){f', {listed}' if listed else ''}")
    threads = {each["thread"] for each in imported if each["thread"]}
    if threads:
        call.note(call.say("look", thread=shlex.quote(min(map(str, threads))), store=call.store_path))
