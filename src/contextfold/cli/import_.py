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

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

import contextfold as cf
from contextfold.errors import BadConfiguration, BadMessage, KeyConflict
from contextfold.shell import operand, quoted
from contextfold.store.takeover import RecordingTakeover, take_task, task_source
from contextfold.transcripts import (
    API_FILE,
    Compaction,
    Defect,
    Entry,
    Recorded,
    Recording,
    Skipped,
    detect,
    is_task,
    read,
    read_task,
)

from .arguments import PIPE, add_model, readable, sessions_in
from .invocation import Invocation
from .paper import Ink, ProgressLine

BATCH = 500  # entries in one commit


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recorded sessions, or directories of them; - is standard input"
    )
    parser.add_argument("--as", dest="new_name", metavar="NAME", help="the thread's name (default: the file's)")
    parser.add_argument("--strict", action="store_true", help="refuse a file with damaged lines")
    add_model(parser)


def run(call: Invocation) -> int:
    imported: list[dict[str, object]] = []
    with ExitStack() as stack:
        given = [(file, stack.enter_context(readable(file))) for file in call.args.files]
        paths = [(PIPE if file == PIPE else str(path), path) for file, place in given for path in sessions_in(place)]
        if isinstance(call.store_path, Path) and not call.store_path.exists():
            first = paths[0][1]
            if not _is_exported(first) and not is_task(first):
                detect(first)  # what cannot be read must not leave an empty store behind
        store = stack.enter_context(call.store(create=True))
        for file, path in paths:
            imported += _file(call, store, file, path, len(imported))
    return call.answer(imported, lambda: _show(call, imported))


def _file(call: Invocation, store: cf.Store, file: str, path: Path, before: int) -> list[dict[str, object]]:
    if _is_exported(path):
        thread = store.import_(path, name=call.args.new_name)
        return [{"file": file, "format": "contextfold", "thread": thread.name, "events": len(thread.events)}]
    if is_task(path):
        return [{"file": file, **_task(call, store, path, before)}]
    progress = call.progress(f"importing {path.name if file != PIPE else 'standard input'}")
    try:
        found = [
            _recording(
                call,
                store,
                each,
                _names(call.args.new_name, each.name, path.absolute().parent.name, each.id, at),
                progress,
            )
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


def _task(call: Invocation, store: cf.Store, path: Path, at: int) -> dict[str, object]:
    """A task of Roo Code, both of its files together."""
    task = read_task(path)
    place = path.absolute().parent
    is_alone = path.name != API_FILE  # renamed or packed, so its directory says nothing
    name, beside = (path.name.partition(".json")[0], place.name) if is_alone else (place.name, place.parent.name)
    names = _names(call.args.new_name, name, beside, task_source(task)[-8:], at)
    thread = _thread(call, store, names, task_source(task), None)
    with _changed_since(thread.name), store.batch():
        taken = take_task(thread, task)
    counts = {"messages": taken.messages, "new": taken.new, "folds": len(thread.folds), "unplaced": taken.unplaced}
    return {"format": "roo-api", "thread": thread.name, **counts}


def _names(wish: str | None, name: str, beside: str, id: str, at: int) -> list[str]:
    """What the thread may be called, the nicest first: many products give every session's file the same name."""
    if wish is not None:
        return [wish if at == 0 else f"{wish}-{at + 1}"]
    return [name, f"{beside}/{name}", f"{name}-{id[:8]}"]


def _recording(
    call: Invocation, store: cf.Store, recording: Recording, names: list[str], progress: ProgressLine
) -> dict[str, object]:
    counts = {"messages": 0, "skipped": 0, "defects": 0}
    batch: list[Entry] = []
    takeover: RecordingTakeover | None = None
    thread: cf.Thread | None = None
    for entry in recording.entries():
        counts["skipped"] += isinstance(entry, Skipped)
        counts["defects"] += isinstance(entry, Defect)
        if isinstance(entry, Recorded | Compaction):
            if thread is None and isinstance(entry, Recorded):
                # Which conversation this is, so that reading it again adds only what is new.
                begins = sha256(entry.raw).hexdigest()[:12]
                source = f"{recording.format}:{recording.id or recording.name}:{begins}"
                thread = _thread(call, store, names, source, recording)
                takeover = RecordingTakeover(thread, source)
            counts["messages"] += isinstance(entry, Recorded)
            batch.append(entry)
            progress.at(counts["messages"], what=names[0])
        if takeover is not None and len(batch) >= BATCH:
            batch = _taken(store, takeover, batch)
    if takeover is None or thread is None:
        return {"format": recording.format, "thread": None, **counts, "new": 0}
    _taken(store, takeover, batch)
    takeover.finish()
    facts = {"new": takeover.added, "folds": len(thread.folds), "unplaced": tuple(takeover.unplaced)}
    return {"format": recording.format, "thread": thread.name, **counts, **facts}


def _thread(call: Invocation, store: cf.Store, names: list[str], source: str, recording: Recording | None) -> cf.Thread:
    """A new thread, or the one that this very conversation was read into before."""
    known = {row.name for row in store.threads()}
    for name in names:
        if name not in known:
            said = (turn.model for turn in recording.turns if turn.model) if recording is not None else iter(())
            return store.thread(name, model=call.model or next(said, None))
        thread = store.thread(name, model=call.model)
        if any(logged.key.startswith(f"{source}:") for logged in thread.events[:1]):
            return thread
    raise BadConfiguration(f"There is a thread {names[0]!r} already, from elsewhere. Choose a name with --as.")


def _taken(store: cf.Store, takeover: RecordingTakeover, batch: list[Entry]) -> list[Entry]:
    """Take a batch over in one commit; an empty one, to go on with."""
    with _changed_since(takeover.name), store.batch():
        for entry in batch:
            if isinstance(entry, Recorded):
                takeover.turn(entry)
            elif isinstance(entry, Compaction):
                takeover.compaction(entry)
    return []


@contextmanager
def _changed_since(thread: str) -> Iterator[None]:
    """A recording that says something else than it did when it was read before is told as that."""
    try:
        yield
    except KeyConflict as error:
        told = f"{thread!r} was read before, and what stood there then has changed since. Read it anew with --as."
        raise BadMessage(told) from error


def _show(call: Invocation, imported: list[dict[str, object]]) -> None:
    for each in imported:
        if each["thread"] is None:
            call.out.line(call.say("import.empty", file=each["file"], format=each["format"]))
            continue
        said = each.get("messages", each.get("events"))
        facts = [call.say("import.new", many=each["new"])] if "new" in each else []
        facts += [
            call.say(f"import.{name}", many=each[name]) for name in ("folds", "skipped", "defects") if each.get(name)
        ]
        told = call.say("import.done", thread=each["thread"], many=said, format=each["format"])
        call.out.line("".join((told, *(f", {fact}" for fact in facts))))
        unplaced = each.get("unplaced", ())
        for place in unplaced if isinstance(unplaced, tuple) else ():
            call.out.line(Ink(call.say("import.unplaced", told=place), "warn"), indent=2)
    threads = {each["thread"] for each in imported if each["thread"]}
    if threads:
        call.note(call.say("look", thread=operand(min(map(str, threads))), store=quoted(call.store_path)))
