"""Writing a conversation for others: as JSON lines that come back bit for bit, or as a task of Roo Code.

Derived from the thread, never kept: folds become Roo's tags and markers, and what was left behind is not written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from contextfold import dialects
from contextfold.domain import (
    Appended,
    Detail,
    Folded,
    LiveBranch,
    Measured,
    Tags,
    ViewItem,
    encode,
    hidden_by,
    roo_tags,
)
from contextfold.errors import StoreError
from contextfold.store import Store
from contextfold.transcripts import BILLED, DIALECT, RooEvent, RooSaid, RooTask

from .desk import Desk


def export(store: Store, desk: Desk, path: str | os.PathLike[str], format: Literal["jsonl", "roo"]) -> None:
    """Write the thread to a file or a directory."""
    desk.look()
    try:
        if format == "roo":
            roo_task(desk).write(Path(path))
        else:
            store.export(desk.thread.name, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from error


def roo_task(desk: Desk) -> RooTask:
    """The live branch as Roo would have it: every message, tagged where a live fold hides it, stand-ins in between."""
    projection = desk.thread.branch
    tags = roo_tags(projection)
    by_seq = {tag.seq: tag for tag in tags}
    said = tuple(_said(desk, tag) for tag in _in_roos_order(projection, tags))
    events = tuple(_event(desk, fold.seq, by_seq[fold.seq]) for fold in projection.folds if fold.is_live and fold.spans)
    return RooTask(said, events)


def _in_roos_order(projection: LiveBranch, tags: list[Tags]) -> Iterator[Tags]:
    """A stand-in behind what it hides: Roo puts it in front of the first message that stays."""
    waiting: list[tuple[int, Tags]] = []
    for tag in tags:
        if tag.is_summary or tag.is_truncation_marker:
            waiting.append((projection.folds[tag.seq].spans[0][1], tag))
            continue
        place = projection.items.place(tag.seq) or 0
        shows = not tag.condense_parent and not tag.truncation_parent
        yield from _due(waiting, place, shows)
        yield tag
    yield from (tag for _, tag in sorted(waiting, key=lambda each: (each[0], each[1].seq)))


def _due(waiting: list[tuple[int, Tags]], place: int, shows: bool) -> Iterator[Tags]:
    """Those whose hidden messages are over, or that stand before something which shows (a pinned message)."""
    due = sorted((each for each in waiting if shows or each[0] <= place), key=lambda each: (each[0], each[1].seq))
    for each in due:
        waiting.remove(each)
        yield each[1]


def _said(desk: Desk, tag: Tags) -> RooSaid:
    projection, reading = desk.thread.branch, desk.lens
    if tag.is_summary or tag.is_truncation_marker:
        role = "assistant" if tag.is_summary else "user"  # as Roo writes them
        return RooSaid(encode({"role": role, "content": reading.stand_in(tag.seq).text}), tag)
    entry = projection.events[tag.seq - 1]
    place = projection.items.place(tag.seq)
    shape = projection.items.items[place or 0].shape
    item = ViewItem(tag.seq, "message" if isinstance(entry.event, Appended) else "attachment", shape)
    message = reading.read(item)
    role = "assistant" if message.role == "assistant" else "user"
    raw = dialects.find(DIALECT).chunk(item, message) or encode({"role": role, "content": ""})
    return RooSaid(raw, tag, entry.at, isinstance(entry.event, Appended), _usage(desk, tag.seq))


def _usage(desk: Desk, seq: int) -> dict[str, Detail]:
    """What an answer's request was billed: written right behind the answer."""
    events = desk.thread.branch.events
    event = events[seq].event if seq < len(events) else None
    if not isinstance(event, Measured):
        return {}
    return {BILLED[name]: value for name, value in event.usage.items() if name in BILLED}


def _event(desk: Desk, seq: int, tag: Tags) -> RooEvent:
    projection = desk.thread.branch
    event = projection.events[seq - 1].event
    if not isinstance(event, Folded):
        raise AssertionError(f"event {seq} is no fold")
    items = projection.items
    hidden = {item.seq for item in hidden_by(projection, seq)}
    _, end = items.span(seq, seq)
    last = next((item.seq for item in reversed(items.items[:end]) if item.kind == "message"), 0)
    text = desk.lens.stand_in(seq).text
    cost = event.details.get("writer_cost", 0.0)
    return RooEvent(
        tag,
        last,
        event.before,
        event.after,
        len(hidden),
        summary=text if tag.is_summary else "",
        cost=float(cost) if isinstance(cost, int | float) else 0.0,
    )
