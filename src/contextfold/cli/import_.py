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
from hashlib import sha256
from pathlib import Path

import contextfold as cf
from contextfold.domain import Appended
from contextfold.errors import BadConfiguration, BadMessage, KeyConflict
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
                    imported += _file(call, store, PIPE if file == PIPE else str(path), path, len(imported))
    return call.answer(imported, lambda: _show(call, imported))


def _file(call: Invocation, store: cf.Store, file: str, path: Path, before: int) -> list[dict[str, object]]:
    if _is_exported(path):
        thread = store.import_(path, name=call.args.new_name)
        return [{"file": file, "format": "contextfold", "thread": thread.name, "events": len(thread.events)}]
    progress = call.progress(f"importing {path.name if file != PIPE else 'standard input'}")
    try:
        found = [
            _recording(call, store, each, _names(call.args.new_name, each, path, at), progress)
            for at, each in enumerate(read(path, strict=call.args.strict), before)
        ]
    finally:
        progress.done()
    return [{"file": file, **each} for each in found]


def _is_exported(path: Path) -> bool:
    """Whether a file is a thread that `export` wrote: its first line says so."""
    with path.open("rb") as file:
        start = file.read(200)
    return start.replace(b" ", b"").startswith(b'{"line":"thread"')


def _names(wish: str | None, recording: Recording, path: Path, at: int) -> list[str]:
    """What the thread may be called, the nicest first: many products give every session's file the same name."""
    if wish is not None:
        return [wish if at == 0 else f"{wish}-{at + 1}"]
    beside = path.absolute().parent.name
    return [recording.name, f"{beside}/{recording.name}", f"{recording.name}-{recording.id[:8]}"]


def _recording(
    call: Invocation, store: cf.Store, recording: Recording, names: list[str], progress: Progress
) -> dict[str, object]:
    counts = {"messages": 0, "new": 0, "skipped": 0, "defects": 0}
    batch: list[tuple[str, bytes]] = []
    thread: cf.Thread | None = None
    source = ""
    for entry in recording.entries():
        counts["skipped"] += isinstance(entry, Skipped)
        counts["defects"] += isinstance(entry, Defect)
        if isinstance(entry, Recorded):
            source = source or _source(recording, entry)
            thread = thread or _thread(call, store, recording, names, source)
            batch.append((f"{source}:{counts['messages']}", entry.raw))
            counts["messages"] += 1
            progress.at(counts["messages"], what=thread.name)
            if len(batch) >= BATCH:
                counts["new"] += _append(store, thread, batch)
                batch = []
    if thread is not None:
        counts["new"] += _append(store, thread, batch)
    return {"format": recording.format, "thread": thread.name if thread else None, **counts}


def _source(recording: Recording, first: Recorded) -> str:
    """Which conversation this is, so that reading it again adds only what is new."""
    begins = sha256(first.raw).hexdigest()[:12]
    return f"{recording.format}:{recording.id or recording.name}:{begins}"


def _thread(call: Invocation, store: cf.Store, recording: Recording, names: list[str], source: str) -> cf.Thread:
    """A new thread, or the one that this very conversation was read into before."""
    known = {row.name for row in store.threads()}
    for name in names:
        if name not in known:
            model = call.model or next((turn.model for turn in recording.turns if turn.model), None)
            return store.thread(name, model=model)
        thread = store.thread(name, model=call.model)
        if any(logged.key.startswith(f"{source}:") for logged in thread.events[:1]):
            return thread
    raise BadConfiguration(f"There is a thread {names[0]!r} already, from elsewhere. Choose a name with --as.")


def _append(store: cf.Store, thread: cf.Thread, batch: list[tuple[str, bytes]]) -> int:
    before = len(thread.events)
    try:
        with store.batch():
            for key, raw in batch:
                thread.append(raw, key=key)
    except KeyConflict as error:
        told = f"{thread.name!r} was read before, and what stood there then has changed since. Read it anew with --as."
        raise BadMessage(told) from error
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
