"""Attachments: whoever knows something for the model is asked once per turn, and what is new is written down.

Written where the model will see it, it stays there until a fold takes it, so earlier bytes never change. It repeats
nothing that the view still shows, and no attachment makes a request too large: what has no room is left out and told.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from contextfold.domain import (
    Attached,
    Attacher,
    Attachment,
    Detail,
    Folded,
    LiveBranch,
    Logged,
    Message,
    NewEvent,
    Projection,
    Sent,
    Shape,
    Text,
    Turn,
    ViewItem,
    ViewMessage,
    encode,
)
from contextfold.folding import Steps, record
from contextfold.folding import ask as ask_attacher

from .desk import Desk
from .telemetry import journal

MORE = 4  # one part in so many of the usable input is free for attachments while folding can still make room


class AskedAttachments(Struct, frozen=True):
    """What came of asking: the attachments that were written, and those that had no room."""

    made: tuple[Attachment, ...] = ()
    left_out: tuple[Attachment, ...] = ()

    def __add__(self, other: AskedAttachments) -> AskedAttachments:
        return AskedAttachments(self.made + other.made, self.left_out + other.left_out)


NOTHING = AskedAttachments()


class _Weighed(Struct, frozen=True):
    attachment: Attachment
    shape: Shape


class _Chosen(Struct):
    """What there is room for, the first come first."""

    room: int
    taken: list[_Weighed] = field(default_factory=list)
    left_out: list[Attachment] = field(default_factory=list)

    def offer(self, attachment: Attachment, shape: Shape, tokens: int) -> None:
        if tokens > self.room:
            self.left_out.append(attachment)
            return
        self.room -= tokens
        self.taken.append(_Weighed(attachment, shape))


def ask(desk: Desk, *, may_fold: bool) -> Steps[AskedAttachments]:
    """Ask everybody, unless they were asked at this place already; write what the view does not show yet.

    `may_fold` says that the request is decided on afterwards, so that folding can make room.
    """
    turn = _turn(desk, may_fold)
    if desk.attachers.asked == (turn.last, turn.folded):
        return NOTHING
    chosen = _Chosen(turn.room)
    for attacher in desk.attachers.all:
        for given in (yield from _asked(desk, attacher, turn)):
            if not _is_known(desk, turn, chosen, given):
                shape = desk.counter.shape(Message("user", (Text(given.text),)))
                chosen.offer(given, shape, desk.counter.tokens(shape))
    if chosen.taken:
        yield from record(lambda now: _drafts(desk, now, chosen.taken))
    desk.attachers.were_asked((turn.last, turn.folded))
    if chosen.left_out:
        journal(logging.WARNING, "not attached", thread=desk.thread.name, room=turn.room, many=len(chosen.left_out))
    return AskedAttachments(tuple(each.attachment for each in chosen.taken), tuple(chosen.left_out))


def _asked(desk: Desk, attacher: Attacher, turn: Turn) -> Steps[Sequence[Attachment]]:
    """One attacher's answer; one that fails adds nothing and ends nothing."""
    try:
        return tuple((yield from ask_attacher(attacher, turn)))
    except Exception as error:  # noqa: BLE001  # somebody else's code, which must not end the conversation
        name = getattr(attacher, "__qualname__", type(attacher).__name__)
        journal(logging.WARNING, "attacher failed", thread=desk.thread.name, attacher=name, error=type(error).__name__)
        return ()


def _is_known(desk: Desk, turn: Turn, chosen: _Chosen, given: Attachment) -> bool:
    """Whether the model sees these words already, or they say nothing."""
    if not given.text.strip():
        return True
    if given.key:
        return turn.shown(given.kind, given.key) == given.text
    if any(each.attachment == given for each in chosen.taken):
        return True
    projection = desk.thread.branch
    since = _entries(projection, projection.path_after(turn.last))
    alike = (each for each in since if isinstance(each.event, Attached) and each.event.kind == given.kind)
    return any(_text(desk, each) == given.text for each in alike)


def _drafts(desk: Desk, now: Projection, taken: Sequence[_Weighed]) -> list[NewEvent]:
    drafts: list[NewEvent] = []
    parent = now.head
    for each in taken:
        given = each.attachment
        details: dict[str, Detail] = {**given.details, **({"key": given.key} if given.key else {})}
        drafts.append(NewEvent(Attached(given.kind, each.shape, details), parent, desk.now(), encode(given.text)))
        parent = now.last + len(drafts)
    return drafts


# -- the turn -------------------------------------------------------------------------------------------------------


def _turn(desk: Desk, may_fold: bool) -> Turn:
    view, decision = desk.view(), desk.decide()
    projection = desk.thread.branch
    room = max(0, decision.usable - decision.used)
    if may_fold:
        room = max(room, decision.usable // MORE)
    since = _entries(projection, projection.path_after(_answered(projection)))
    folds = [entry for entry in since if isinstance(entry.event, Folded) and not entry.event.cover.blocks]
    folded = tuple(entry.seq for entry in folds if projection.folds[entry.seq].is_live)
    raw = int(room / desk.lens.calibration.factor)
    return Turn(
        view,
        _newest(projection),
        folded,
        raw,
        desk.count_text,
        lambda kind, key: _shown(desk, kind, key),
        _Branch(desk),
        desk.language(),
    )


def _answered(projection: LiveBranch) -> int:
    """How far the model has seen: up to where its newest answer's request was made, which is written before it."""
    answer = _newest(projection, "assistant")
    sent = projection.events[answer - 2].event if answer > 1 else None
    return sent.head if isinstance(sent, Sent) and sent.is_answered else answer


def _newest(projection: LiveBranch, role: str = "") -> int:
    """The seq of the newest message, of anybody or of one side."""
    said = (item for item in reversed(projection.items.items) if item.kind == "message")
    return next((item.seq for item in said if role in ("", item.shape.role)), 0)


def _entries(projection: LiveBranch, seqs: Iterable[int]) -> Iterable[Logged]:
    return (projection.events[seq - 1] for seq in seqs)


class _Branch:
    """The live branch of a desk's thread."""

    def __init__(self, desk: Desk) -> None:
        self._reading, self._projection = desk.lens, desk.thread.branch

    def has(self, seq: int) -> bool:
        return self._projection.is_on_path(seq)

    def said(self, after: int = 0) -> Iterator[ViewMessage]:
        items = self._projection.items
        start, _ = items.span(after + 1, after + 1)
        for item in items.items[start:]:
            if item.kind == "message":
                yield ViewMessage(item, self._reading)

    def shows(self, seq: int) -> bool:
        return self._projection.items.place(seq) is not None and not _is_hidden(self._projection, seq)


# -- what shows -----------------------------------------------------------------------------------------------------


def _shown(desk: Desk, kind: str, key: str) -> str | None:
    projection = desk.thread.branch
    known = desk.attachers.index.of(projection.events, kind, key)
    seq = next((seq for seq in reversed(known) if projection.is_on_path(seq)), None)
    if seq is None or _is_hidden(projection, seq):
        return None
    return _text(desk, projection.events[seq - 1])


def _is_hidden(projection: LiveBranch, seq: int) -> bool:
    """Whether a later fold has taken it, whole or some of its words; only later ones can."""
    place = projection.items.place(seq) or 0
    for fold in projection.folds.after(seq):
        parts = any(covered == seq for covered, _ in fold.event.cover.blocks)
        if fold.is_live and (parts or any(start <= place < stop for start, stop in fold.spans)):
            return True
    return False


def _text(desk: Desk, entry: Logged) -> str:
    event = entry.event
    if not isinstance(event, Attached):
        return ""
    return desk.lens.read(ViewItem(entry.seq, "attachment", event.shape)).text


def attach(desk: Desk, kind: str, text: str) -> Steps[None]:
    """Add something for the model at the end of the view."""
    event = Attached(kind, desk.counter.shape(Message("user", (Text(text),))))
    yield from record(lambda now: [NewEvent(event, now.head, desk.now(), encode(text))])
