"""What a list of a conversation shows, row by row: who spoke, the first words, the size, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from contextfold.domain import (
    Appended,
    Attached,
    Checkpointed,
    Detail,
    Event,
    Folded,
    Measured,
    Message,
    Noted,
    Pinned,
    Reasoning,
    Rewound,
    Sent,
    Text,
    ToolCall,
    ToolResult,
    ToolsProjected,
    Unfolded,
    Unpinned,
    ViewItem,
)
from contextfold.errors import BadMessage
from contextfold.thread import Thread
from contextfold.thread.timeline import RowState, TimelineRow

from .list_order import Listing, ListOrder

_WORDS = 240  # characters of a row's first words
NEAR = 400  # events in which the other half of a tool call is looked for
_GAP = 16  # rows this near to each other are read in one page
_MOST_KEPT = 20_000  # first words that are remembered


class ListedRow(Struct, frozen=True, omit_defaults=True):
    """One row: a message, an event, or the card of a fold, whose `seq` is the fold's id."""

    seq: int
    kind: str  # "message", "attachment", "fold", or the kind of the event
    at: float
    who: str = ""  # "user", "assistant", "system", "tool", "note"
    text: str = ""
    tokens: int = 0
    size: int = 0  # bytes
    state: RowState = "visible"
    fold: int | None = None  # the one that hides it
    is_pinned: bool = False
    calls: tuple[str, ...] = ()  # tools that are called
    results: tuple[str, ...] = ()  # tools that answer
    is_error: bool = False
    images: int = 0
    cleared: tuple[int, ...] = ()  # folds that hide parts of it
    reasoning: bool = False
    facts: dict[str, Detail] = {}  # of an event or a fold


class RowPage(Struct, frozen=True):
    """Some rows of a list, and how long it is now."""

    start: int
    total: int
    last: int  # the newest seq of the thread
    head: int
    rows: tuple[ListedRow, ...]


class NewestRows(Struct, frozen=True):
    """The end of a conversation, folds closed; `is_whole` where nothing stands before it."""

    is_whole: bool
    last: int
    rows: tuple[ListedRow, ...]


class RowPlace(Struct, frozen=True):
    """Where an event stands in a list; `fold` hides it, where its card has to be opened first."""

    index: int
    seq: int
    fold: int | None = None


class Rows:
    """The lists of one thread, in pages."""

    def __init__(self, thread: Thread, layout: ListOrder) -> None:
        self._thread, self._layout = thread, layout
        self._words: dict[int, str] = {}
        self._forgotten = 0
        self._hides: dict[int, tuple[int, int]] = {}  # messages and tokens behind a fold
        self._parts: dict[int, tuple[int, ...]] = {}  # messages of which folds hide parts
        self._version = 0

    def page(self, listing: Listing, open_folds: Sequence[int], start: int, limit: int) -> RowPage:
        """So many rows from a place on."""
        thread = self._thread
        thread.catch_up()
        entries = self._layout.entries(listing, open_folds)
        self._renew()
        chosen = entries[max(0, start) : max(0, start) + limit]
        seqs = [seq for seq in chosen if seq > 0]
        rows = {row.seq: row for row in self._read(seqs)}
        thread.lens.load(seq for seq in seqs if seq not in self._words)  # in one go
        listed = tuple(
            self._card(-entry) if entry < 0 else self._row(rows[entry], self._parts.get(entry, ())) for entry in chosen
        )
        return RowPage(max(0, start), len(entries), thread.branch.last, thread.branch.head, listed)

    def place(self, seq: int, listing: Listing, open_folds: Sequence[int]) -> RowPlace:
        """Where an event stands, or the nearest one that is listed."""
        self._thread.catch_up()
        entries, fold = self._layout.entries(listing, open_folds), self._layout.fold_over(seq)
        if fold is not None and fold not in open_folds and -fold in entries:
            return RowPlace(entries.index(-fold), seq, fold)
        for wanted in (seq, -seq):
            if wanted in entries:
                return RowPlace(entries.index(wanted), seq)
        before = sum(1 for entry in entries if 0 < entry < seq)
        return RowPlace(min(before, max(0, len(entries) - 1)), seq)

    def _renew(self) -> None:
        if self._forgotten != self._thread.lens.times_forgotten or len(self._words) > _MOST_KEPT:
            self._words, self._forgotten = {}, self._thread.lens.times_forgotten
        if self._version != self._layout.version:
            self._hides, self._parts, self._version = {}, self._cleared(), self._layout.version

    def _read(self, seqs: Sequence[int]) -> Iterator[TimelineRow]:
        """The rows of these events, neighbours read together."""
        wanted, at = sorted(set(seqs)), 0
        while at < len(wanted):
            end = at
            while end + 1 < len(wanted) and wanted[end + 1] - wanted[end] <= _GAP:
                end += 1
            asked = set(wanted[at : end + 1])
            page = self._thread.rows(after=wanted[at] - 1, limit=wanted[end] - wanted[at] + 1)
            yield from (row for row in page if row.seq in asked)
            at = end + 1

    def _cleared(self) -> dict[int, tuple[int, ...]]:
        """The folds that hide parts of messages that are in view, by message."""
        view = self._thread.branch.view(self._thread.lens)
        return {item.seq: tuple(sorted({part.fold for part in item.folded})) for item in view.items if item.folded}

    def _row(self, row: TimelineRow, cleared: tuple[int, ...]) -> ListedRow:
        event = self._thread.branch.events[row.seq - 1].event
        if not isinstance(event, Appended | Attached):
            text = event.name if isinstance(event, Checkpointed) else ""
            return ListedRow(row.seq, row.kind, row.at, text=text, state=row.state, fold=row.fold, facts=facts(event))
        results = [block.call for block in row.blocks if block.kind == "result"]
        return ListedRow(
            row.seq,
            "message" if isinstance(event, Appended) else "attachment",
            row.at,
            _who(event),
            self._first_words(row.seq, event),
            self.tokens(row.seq),
            row.size,
            row.state,
            row.fold,
            row.is_pinned,
            tuple(block.name for block in row.blocks if block.kind == "call"),
            tuple(self.tool(row.seq, call) for call in results),
            any(block.is_error for block in row.blocks),
            event.shape.images,
            cleared,
            event.shape.has_reasoning,
        )

    def _card(self, fold: int) -> ListedRow:
        logged = self._thread.branch.events[fold - 1]
        event = logged.event
        assert isinstance(event, Folded)  # noqa: S101  # the layout names folds
        messages, tokens = self.hidden(fold)
        told = {name: event.details.get(name) for name in ("trigger", "reason", "strategy", "price", "saves", "unit")}
        known: dict[str, Detail] = {name: value for name, value in told.items() if value is not None}
        known.setdefault("reason", told["trigger"])
        words = self._thread.lens.stand_in(fold)
        text = (words.text or "\n".join(words.blocks) or words.wire)[:_WORDS]
        weight = self._thread.lens.weigh(ViewItem(fold, "stand_in", event.shape))
        numbers = {"kind": event.kind, "messages": messages, "hidden": tokens}
        return ListedRow(
            fold, "fold", logged.at, text=text, tokens=self._scaled(weight), size=0, facts={**known, **numbers}
        )

    def hidden(self, fold: int) -> tuple[int, int]:
        """How many messages a fold hides, and their tokens."""
        if fold not in self._hides:
            branch, lens = self._thread.branch, self._thread.lens
            items = branch.items.items
            inside = [items[place] for span in branch.folds[fold].spans for place in range(*span)]
            inside = [item for item in inside if self._layout.fold_over(item.seq) == fold]  # pins stay in view
            messages = sum(item.kind == "message" for item in inside)
            self._hides[fold] = messages, self._scaled(sum(map(lens.weigh, inside)))
        return self._hides[fold]

    def tokens(self, seq: int) -> int:
        """What a message weighs by itself, as it was said."""
        event = self._thread.branch.events[seq - 1].event
        if not isinstance(event, Appended | Attached):
            return 0
        kind = "message" if isinstance(event, Appended) else "attachment"
        return self._scaled(self._thread.lens.weigh(ViewItem(seq, kind, event.shape)))  # type: ignore[arg-type]  # one of two

    def _scaled(self, tokens: int) -> int:
        return self._thread.lens.calibration.scaled(tokens)

    def tool(self, seq: int, call: str) -> str:
        """The tool behind a result, from the call before it."""
        events = self._thread.branch.events
        for logged in reversed(events[max(0, seq - NEAR) : seq]):
            if isinstance(logged.event, Appended):
                for block in logged.event.shape.blocks:
                    if block.kind == "call" and block.call == call:
                        return block.name
        return ""

    def answer_to(self, seq: int, call: str) -> int | None:
        """The message in which a call was answered."""
        for logged in self._thread.branch.events[seq : seq + NEAR]:
            if isinstance(logged.event, Appended) and call in logged.event.shape.results:
                return logged.seq
        return None

    def _first_words(self, seq: int, event: Appended | Attached) -> str:
        if seq not in self._words:
            kind = "message" if isinstance(event, Appended) else "attachment"
            item = ViewItem(seq, kind, event.shape)  # type: ignore[arg-type]  # one of two
            try:
                self._words[seq] = first_words(self._thread.lens.read(item))
            except BadMessage as error:
                self._words[seq] = str(error)[:_WORDS]
        return self._words[seq]


def newest_rows(thread: Thread, since: int, limit: int) -> NewestRows:
    """The end of the conversation, nothing listed before a seq."""
    order = ListOrder(thread, since)
    total = len(order.entries("said"))
    page = Rows(thread, order).page("said", (), max(0, total - limit), limit)
    return NewestRows(since == 1 and total <= limit, page.last, page.rows)


def _who(event: Appended | Attached) -> str:
    if isinstance(event, Attached):
        return "note"
    shape = event.shape
    return "tool" if shape.results and len(shape.results) == len(shape.blocks) else shape.role


def first_words(message: Message) -> str:
    """How a message begins, on one line."""
    said = next((words for block in message.blocks if (words := _words_of(block)).strip()), "")
    return " ".join(said[: 4 * _WORDS].split())[:_WORDS]


def _words_of(block: object) -> str:
    match block:
        case Text():
            return block.text
        case ToolCall():
            return block.arguments
        case ToolResult():
            return next((words for inner in block.blocks if (words := _words_of(inner)).strip()), "")
        case Reasoning():
            return ""
        case _:
            return ""


def facts(event: Event) -> dict[str, Detail]:
    """What an event says of itself, for a row."""
    match event:
        case Rewound():
            return {"to": event.to, "left": event.left, "intent": event.intent}
        case Sent():
            reason = event.details.get("reason")
            return {"model": event.model, "tokens": event.tokens, "reason": reason, "answered": event.is_answered}
        case Measured():
            read = None if event.bill is None else event.bill.read
            return {"sent": event.sent, "billed": event.billed, "counted": event.counted, "read": read}
        case Pinned() | Unpinned():
            return {"message": event.message}
        case Unfolded():
            return {"fold": event.fold}
        case Folded():
            return {"kind": event.kind, "reason": event.details.get("reason")}
        case Checkpointed():
            return {"head": event.head, "files": bool(event.snapshot)}
        case Noted():
            return {"layer": event.layer}
        case ToolsProjected():
            return {"visible": len(event.visible)}
        case _:
            return {}
